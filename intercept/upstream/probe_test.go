package upstream

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// line is a network whose servers can be reached or not; it notes who was dialed when.
type line struct {
	mu     sync.Mutex
	up     map[string]bool
	dialed map[string][]time.Duration // since start
	closed int
	start  time.Time
}

type end struct {
	net.Conn
	l *line
}

func (e end) Close() error {
	e.l.mu.Lock()
	defer e.l.mu.Unlock()
	e.l.closed++
	return nil
}

func newLine() *line {
	return &line{up: map[string]bool{}, dialed: map[string][]time.Duration{}, start: time.Now()}
}

func (l *line) dial(_ context.Context, _, address string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dialed[address] = append(l.dialed[address], time.Since(l.start))
	if !l.up[address] {
		return nil, errRefused
	}
	return end{l: l}, nil
}

func (l *line) set(address string, up bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.up[address] = up
}

func TestOnlyServersThatAreDownAreProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine()
		up := make(chan Change, 10)
		set, err := NewStatic([]Server{{ID: "a", Binary: "a:1"}, {ID: "b", HTTP: "b:1"}}, Options{
			Probe: 5 * time.Second, Dial: l.dial, OnChange: func(c Change) {
				if c.Kind == Up {
					up <- c
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if len(l.dialed) != 0 {
			t.Errorf("healthy servers were probed: %v", l.dialed)
		}
		b := server(t, set, "b")
		l.start = time.Now()
		set.Dialed(b, time.Now(), errRefused)
		<-time.After(7 * time.Second)
		l.set("b:1", true)
		if got := <-up; got.Server != b {
			t.Errorf("up: %v", got)
		}
		if since := time.Since(l.start); since != 10*time.Second {
			t.Errorf("up after %s, want the second check, at 10 s", since)
		}
		<-time.After(time.Minute)
		if got := l.dialed["b:1"]; len(got) != 2 || len(l.dialed) != 1 || l.closed != 1 {
			t.Errorf("probes %v, %d closed; want two of b alone, the one that connected closed", l.dialed, l.closed)
		}
		if err := set.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// With an active check no client's connect is spent on a server that is down.
func TestProbesSpareClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := static(t, Options{Probe: time.Minute, Dial: newLine().dial}, "a", "b")
		server(t, set, "b").Opened()
		set.Dialed(server(t, set, "a"), time.Now(), errRefused)
		<-time.After(59 * time.Second) // the back-off is long over
		if got := order(set, Binary); got != "b a" {
			t.Errorf("order %q, want the server that is down last", got)
		}
		if err := set.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestCloseEndsAProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dialing := make(chan struct{})
		set := static(t, Options{Probe: time.Second, ProbeTimeout: time.Hour, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			close(dialing)
			<-ctx.Done()
			return nil, ctx.Err()
		}}, "a")
		set.Dialed(server(t, set, "a"), time.Now(), errRefused)
		<-dialing
		at := time.Now()
		if err := set.Close(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(at); took != 0 {
			t.Errorf("Close waited %s for the probe", took)
		}
	})
}

func TestAServerThatLeftIsNotProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine()
		set := static(t, Options{Probe: time.Second, Dial: l.dial}, "a", "b")
		a := server(t, set, "a")
		set.Dialed(a, time.Now(), errRefused)
		if err := set.Replace([]Server{{ID: "b", Binary: "b:10000"}}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if len(l.dialed) != 0 {
			t.Errorf("probes %v, want none of a server that takes no connections", l.dialed)
		}
		if err := set.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
