package app

import (
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/intercept/limit"
	"github.com/hs2proxy/hs2proxy/intercept/upstream"
)

func TestReloadOfServers(t *testing.T) {
	cfg := valid()
	set, err := upstream.NewStatic(ServerList(cfg), upstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = set.Close() }()
	r := newReloader(cfg, servers(set))
	listed := func() (ids []string) {
		for _, s := range set.Candidates(upstream.HTTP) {
			ids = append(ids, s.ID+"="+s.HTTP)
		}
		return ids
	}
	if got := listed(); !reflect.DeepEqual(got, []string{"hive:10000=hive:10000"}) {
		t.Errorf("at the start: %q", got)
	}
	next := cfg
	next.Upstream.Address, next.Upstream.Servers = "", []config.Server{{Address: "hive:10000", HTTPAddress: "hive:10001"}, {Address: "new:10000"}}
	applied, restart, err := r.reload(next)
	if err != nil || restart != nil || !reflect.DeepEqual(applied, []string{"upstream.address", "upstream.servers"}) || len(listed()) != 2 {
		t.Errorf("applied %q, restart %q, %v: %q", applied, restart, err, listed())
	}
	if s, ok := set.ByID("hive:10000"); !ok || s.HTTP != "hive:10001" {
		t.Errorf("the server that stayed: %+v", s)
	}
	next.Upstream = config.Upstream{Name: "x", DialTimeout: 1, ZooKeeper: config.ZooKeeper{Ensemble: "zk:2181", Namespace: "n"}}
	if _, _, err := r.reload(next); !errors.Is(err, errDiscovery) || len(listed()) != 2 {
		t.Errorf("to ZooKeeper: %v, %q", err, listed())
	}
}

func TestReloadOfLimits(t *testing.T) {
	cfg := valid()
	l := limit.New(LimitConfig(cfg))
	r := newReloader(cfg, limits(l))
	addr := netip.MustParseAddr("192.0.2.1")
	if _, err := l.Connect(addr); err != nil {
		t.Fatal(err)
	}
	next := cfg
	next.Clients.MaxConnectionsPerAddress = 1
	if _, restart, err := r.reload(next); err != nil || restart != nil {
		t.Errorf("%q, %v", restart, err)
	}
	if _, err := l.Connect(addr); err == nil {
		t.Error("the new limit does not hold")
	}
	next.Clients.FailedLogins.Limit, next.Clients.MaxConnectionsPerUser, next.Clients.MaxConnections = 3, 2, 9
	if got, want := LimitConfig(next), (limit.Config{
		Max: 9, MaxPerAddress: 1, MaxPerUser: 2,
		FailedLogins: limit.FailedLogins{Limit: 3, Window: next.Clients.FailedLogins.Window, Pause: next.Clients.FailedLogins.Pause},
	}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

// TestReloadOfCertificates: every reload reads them, and one that cannot be read keeps everything as it was.
func TestReloadOfCertificates(t *testing.T) {
	var (
		bad     error
		reloads int
		failed  error
	)
	r := newReloader(valid(), certificates("clients.tls",
		func() error { return bad }, func() error { reloads++; return bad }, func(err error) { failed = err }))
	if _, _, err := r.reload(valid()); err != nil || reloads != 1 {
		t.Errorf("%v, %d reloads", err, reloads)
	}
	bad = errors.New("certificate file x: it is empty")
	if _, _, err := r.reload(valid()); err == nil || !strings.HasPrefix(err.Error(), "clients.tls: certificate file x") || reloads != 1 || failed != nil {
		t.Errorf("%v, %d reloads, %v", err, reloads, failed)
	}
}
