package faults

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// impatience is how long a client waits that meets a fault of its own way.
const impatience = 300 * time.Millisecond

// Faults between clients and the proxy, or between the proxy and HiveServer2: what only slows down changes nothing, what ends
// connections ends no other, leaves nothing open on either side, and loses no statement that HiveServer2 was sent.
func TestFaultsOfTraffic(t *testing.T) {
	for _, where := range []string{"client", "HiveServer2"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			dsn := storetest.DSN(t)
			seen := &seenStatements{}
			hive, direct := newHive(t, hs2test.Config{Execute: seen.execute}), newHive(t, hs2test.Config{})
			upstream := hive.Addr()
			var faulty side
			if where == "HiveServer2" {
				faulty = newSide(t, where, upstream)
				upstream = faulty.addr()
			}
			// The proxy's own connections go elsewhere, so that those at hive are clients'.
			cfg := settings(split(t, newHive(t, hs2test.Config{}).Addr(), upstream), dsn, spoolDir(t))
			a, _ := start(t, cfg)
			proxy, bystanders := a.Addr().String(), a.Addr().String()
			if where == "client" {
				faulty = newSide(t, where, proxy)
				proxy = faulty.addr()
			}
			over := func(what string) {
				t.Helper()
				eventually(t, "the end of all connections after "+what, func() bool {
					connections, sessions, operations := hive.Open()
					return connections+sessions+operations == 0
				})
			}
			for _, x := range toxics() {
				faulty.poison(t, x)
				switch {
				case x.gentle():
					undisturbed(t, proxy, direct.Addr(), x.name)
					over(x.name)
				default:
					if err := converse(t.Context(), proxy, x.name, impatience); err == nil {
						t.Errorf("%s: the conversation came to its end", x.name)
					}
				}
				if where == "client" {
					undisturbed(t, bystanders, direct.Addr(), x.name+" elsewhere")
				}
				faulty.cure(t, x)
				undisturbed(t, proxy, direct.Addr(), x.name+" over")
				over(x.name + " over")
			}
			shutdown(t, a)
			all := inPostgres(t, dsn)
			for user, got := range all {
				sent := statements(user)
				if len(got) > len(sent) || !slices.Equal(got, sent[:len(got)]) {
					t.Errorf("recorded for %s: %q, sent %q", user, got, sent)
				}
			}
			for _, sql := range seen.all() {
				user := strings.SplitN(sql, "'", 3)
				if len(user) == 3 && !slices.Contains(all[user[1]], sql) {
					t.Errorf("HiveServer2 was sent %s, which is not recorded", sql)
				}
			}
		})
	}
}

// seenStatements are what reached HiveServer2.
type seenStatements struct {
	mu  sync.Mutex
	sql []string
}

func (s *seenStatements) execute(sql string) hs2test.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sql = append(s.sql, sql)
	return execute(sql)
}

func (s *seenStatements) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sql)
}
