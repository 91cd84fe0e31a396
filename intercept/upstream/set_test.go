package upstream

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestReplaceKeepsWhatStays(t *testing.T) {
	c := newClock()
	var changes []string
	set := static(t, Options{Now: c.now, OnChange: func(change Change) {
		changes = append(changes, change.Server.ID+" "+change.Kind.String())
	}}, "a", "b")
	a, b := server(t, set, "a"), server(t, set, "b")
	a.Opened()
	b.Opened()
	set.Dialed(a, c.now(), errRefused)
	changes = nil
	if err := set.Replace([]Server{{ID: "a", Binary: "a:10000"}, {ID: "c", Binary: "c:10000"}}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(changes, ", "); got != "c joined, b left" {
		t.Errorf("changes %q", got)
	}
	if server(t, set, "a") != a || a.Healthy() {
		t.Error("a server that stays has lost what was known of it")
	}
	if b.Listed() || order(set, Binary) != "c a" {
		t.Errorf("candidates %q after b has left", order(set, Binary))
	}
	if got := server(t, set, "b"); got != b {
		t.Error("the server that left is not found for its sessions")
	}
	st := set.Snapshot()
	if len(st) != 3 || st[2].ID != "b" || st[2].Listed || st[2].Open != 1 {
		t.Errorf("snapshot %+v, want b last with its connection", st)
	}

	// It comes back at another address, as healthy as a new one; its connections still count.
	set.Dialed(b, c.now(), errRefused)
	if err := set.Replace([]Server{{ID: "b", Binary: "b:2"}}); err != nil {
		t.Fatal(err)
	}
	back := server(t, set, "b")
	if back == b || back.Binary != "b:2" || b.Binary != "b:10000" || !back.Healthy() || back.Open() != 1 {
		t.Errorf("back: %+v open %d", back, back.Open())
	}
	b.Closed() // by a connection that knows the Server of old
	if back.Open() != 0 {
		t.Errorf("%d open after the last was closed", back.Open())
	}
}

func TestAServerThatMovedStartsHealthy(t *testing.T) {
	var moved *Server
	set := static(t, Options{OnChange: func(change Change) {
		if change.Kind == Moved {
			moved = change.Server
		}
	}}, "a")
	set.Dialed(server(t, set, "a"), time.Now(), errRefused)
	if err := set.Replace([]Server{{ID: "a", Binary: "elsewhere:10000"}}); err != nil {
		t.Fatal(err)
	}
	if got := set.Candidates(Binary)[0]; got != moved || got.Binary != "elsewhere:10000" || !got.Healthy() {
		t.Errorf("candidate %+v, healthy %v; reported %v", got, got.Healthy(), moved)
	}
}

func TestForgottenAfterADay(t *testing.T) {
	c := newClock()
	set := static(t, Options{Now: c.now}, "a", "b", "c")
	b := server(t, set, "b")
	b.Opened()
	stay := []Server{{ID: "a", Binary: "a:10000"}}
	for _, step := range []struct {
		after time.Duration
		known int
	}{{0, 3}, {keepUnlisted, 3}, {1, 2}} {
		c.add(step.after)
		if err := set.Replace(stay); err != nil {
			t.Fatal(err)
		}
		if got := len(set.Snapshot()); got != step.known {
			t.Errorf("%d servers known %s later, want %d", got, step.after, step.known)
		}
	}
	b.Closed()
	if err := set.Replace(stay); err != nil {
		t.Fatal(err)
	}
	if _, ok := set.ByID("b"); ok {
		t.Error("a server without connections is kept for ever")
	}
}

func TestByAddress(t *testing.T) {
	set, err := NewStatic([]Server{{ID: "old", Binary: "x:1", HTTP: "x:2"}, {ID: "other", Binary: "y:1"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = set.Close() }()
	if err := set.Replace([]Server{{ID: "new", Binary: "x:1"}, {ID: "other", Binary: "y:1"}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		transport Transport
		address   string
		want      string
	}{{Binary, "x:1", "new"}, {HTTP, "x:2", "old"}, {HTTP, "x:1", ""}, {HTTP, "", ""}, {Binary, "y:1", "other"}} {
		for range 20 { // the order in which servers are looked at is random
			got, ok := set.ByAddress(c.transport, c.address)
			if ok != (c.want != "") || ok && got.ID != c.want {
				t.Fatalf("%s %q: %v, want %q", c.transport, c.address, got, c.want)
			}
		}
	}
}

func TestServersRefused(t *testing.T) {
	set := static(t, Options{}, "a")
	for want, servers := range map[string][]Server{
		"server 2: has no address":    {{Binary: "x:1"}, {}},
		"server x: has no address":    {{ID: "x"}},
		"server x:1: is listed twice": {{Binary: "x:1"}, {Binary: "x:1"}},
		`address "x" must be host:po`: {{Binary: "x"}},
		`address "y" must be host:po`: {{Binary: "x:1", HTTP: "y"}},
	} {
		if err := set.Replace(servers); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if got := order(set, Binary); got != "a" {
		t.Errorf("candidates %q after refused lists, want the old ones", got)
	}
	if _, ok := set.Discovery(); ok {
		t.Error("a static set claims to know ZooKeeper")
	}
}

// Connects, failures, checks and a changing list at the same time; in the end nothing is open and all is counted.
func TestChurn(t *testing.T) {
	l := newLine()
	names := []string{"a", "b", "c", "d"}
	for _, name := range names[:2] {
		l.set(name+":10000", true)
	}
	set := static(t, Options{MinBackoff: time.Microsecond, Probe: time.Microsecond, Dial: l.dial}, names...)
	var work sync.WaitGroup
	for i := range 4 {
		work.Go(func() {
			dice := rand.New(rand.NewPCG(uint64(i), 1))
			for range 500 {
				for _, v := range set.Candidates(Binary) {
					v.Opened()
					conn, err := l.dial(t.Context(), "tcp", v.Binary)
					set.Dialed(v, time.Now(), err)
					v.Closed()
					if err == nil {
						_ = conn.Close()
						break
					}
				}
				if dice.IntN(10) == 0 {
					set.Snapshot()
					set.ByAddress(Binary, "a:10000")
				}
			}
		})
	}
	work.Go(func() {
		for i := range 200 {
			var servers []Server
			for j, name := range names {
				if (i>>j)&1 == 0 {
					servers = append(servers, Server{ID: name, Binary: fmt.Sprintf("%s:%d", name, 10000+i%2)})
				}
			}
			if err := set.Replace(servers); err != nil {
				t.Error(err)
			}
		}
	})
	work.Wait()
	for _, st := range set.Snapshot() {
		if st.Open != 0 {
			t.Errorf("%s: %d open, want none", st.ID, st.Open)
		}
	}
}
