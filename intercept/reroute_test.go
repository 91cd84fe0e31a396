package intercept

import (
	"testing"

	"github.com/beltran/gohive/hiveserver"

	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
	"github.com/hs2proxy/hs2proxy/intercept/upstream"
)

// TestRerouted: once there are two servers, an HTTP connection made for one of them ends: at once when nothing is under way, else
// with its reply, which the client gets.
func TestRerouted(t *testing.T) { forWays(t, testRerouted) }

func testRerouted(t *testing.T, w way) {
	one, two := fakeHTTP(t), fakeHTTP(t)
	set, err := upstream.NewStatic([]upstream.Server{{ID: "one", Binary: one.Addr(), HTTP: one.Addr()}}, upstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := w.rig(t, Config{Servers: set})
	clients := map[bool]*hs2test.Client{}
	sessions := map[bool]*hiveserver.TSessionHandle{}
	for _, busy := range []bool{false, true} {
		c, closeIdle, err := hs2test.DialHTTP(r.addr, "bi", "s3cret")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(closeIdle)
		if sessions[busy], err = c.Open(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		clients[busy] = c
	}
	answered := make(chan error, 1)
	go func() {
		_, err := clients[true].Execute(t.Context(), sessions[true], "slow", false)
		answered <- err
	}()
	eventually(t, "the statement", func() bool { _, _, operations := one.Open(); return operations == 1 })

	if err := set.Replace([]upstream.Server{{ID: "one", HTTP: one.Addr()}, {ID: "two", HTTP: two.Addr()}}); err != nil {
		t.Fatal(err)
	}
	r.server.Rerouted()
	eventually(t, "the idle connection's end", func() bool { return r.server.Stats().Open == 1 })
	one.Release()
	if err := <-answered; err != nil {
		t.Error(err)
	}
	eventually(t, "the other one's end", func() bool { return r.server.Stats().Open == 0 })
	for busy, c := range clients {
		if _, err := c.Execute(t.Context(), sessions[busy], "select 1", false); err != nil {
			t.Errorf("the session is lost: %v", err)
		}
	}
}

func fakeHTTP(t *testing.T) *hs2test.Server {
	t.Helper()
	s, err := hs2test.Start(hs2test.Config{HTTP: true, Execute: blockSlow})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}
