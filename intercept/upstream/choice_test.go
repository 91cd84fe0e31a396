package upstream

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

var errRefused = errors.New("connection refused")

// clock is a time that a test sets.
type clock struct{ t time.Time }

func newClock() *clock { return &clock{time.Unix(1_700_000_000, 0)} }

func (c *clock) now() time.Time { return c.t }

func (c *clock) add(d time.Duration) time.Time {
	c.t = c.t.Add(d)
	return c.t
}

// static makes a Set of servers named a, b, … with a binary port.
func static(t testing.TB, opts Options, names ...string) *Set {
	t.Helper()
	var servers []Server
	for _, name := range names {
		servers = append(servers, Server{ID: name, Binary: name + ":10000"})
	}
	set, err := NewStatic(servers, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	return set
}

func server(t testing.TB, set *Set, id string) *Server {
	t.Helper()
	v, ok := set.ByID(id)
	if !ok {
		t.Fatalf("no server %s", id)
	}
	return v
}

func order(set *Set, transport Transport) string {
	var ids []string
	for _, v := range set.Candidates(transport) {
		ids = append(ids, v.ID)
	}
	return strings.Join(ids, " ")
}

func TestFewestConnectionsFirst(t *testing.T) {
	set := static(t, Options{}, "a", "b", "c")
	server(t, set, "a").Opened()
	server(t, set, "a").Opened()
	server(t, set, "b").Opened()
	if got := order(set, Binary); got != "c b a" {
		t.Errorf("order %q, want the idle server first", got)
	}
	server(t, set, "a").Closed()
	server(t, set, "a").Closed()
	server(t, set, "c").Opened()
	server(t, set, "c").Opened()
	if got := order(set, Binary); got != "a b c" {
		t.Errorf("order %q, want the idle server first", got)
	}
}

func TestEqualsTakeTurns(t *testing.T) {
	set := static(t, Options{}, "a", "b", "c")
	first := map[string]int{}
	for range 9 {
		first[set.Candidates(Binary)[0].ID]++
	}
	if fmt.Sprint(first) != "map[a:3 b:3 c:3]" {
		t.Errorf("first of nine connects: %v, want each three times", first)
	}
}

func TestCandidatesSpeakTheTransport(t *testing.T) {
	set, err := NewStatic([]Server{{ID: "binary", Binary: "x:1"}, {ID: "http", HTTP: "x:2"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = set.Close() }()
	if got := order(set, Binary) + ", " + order(set, HTTP); got != "binary, http" {
		t.Errorf("candidates %q", got)
	}
	if err := set.Replace([]Server{{Binary: "x:1"}}); err != nil {
		t.Fatal(err)
	}
	if got := set.Candidates(HTTP); len(got) != 0 {
		t.Errorf("HTTP candidates %v, want none", got)
	}
}

func TestFailedGoLastByRetry(t *testing.T) {
	c := newClock()
	set := static(t, Options{Now: c.now}, "a", "b", "c", "d")
	for range 5 {
		server(t, set, "c").Opened()
		server(t, set, "d").Opened()
	}
	server(t, set, "d").Opened()
	set.Dialed(server(t, set, "b"), c.now(), errRefused)
	set.Dialed(server(t, set, "a"), c.add(time.Millisecond), errRefused)
	if got := order(set, Binary); got != "c d b a" {
		t.Errorf("order %q, want the busy but healthy servers before the failed, and of those the earliest retry first", got)
	}
	set.Dialed(server(t, set, "a"), c.now(), nil)
	if got := order(set, Binary); got != "a c d b" {
		t.Errorf("order %q after a success, want a first again", got)
	}
}

// After its back-off a server gets the connect of one client; the others are not kept waiting by it.
func TestOneTryAfterBackoff(t *testing.T) {
	c := newClock()
	set := static(t, Options{Now: c.now}, "a", "b")
	a, b := server(t, set, "a"), server(t, set, "b")
	b.Opened()
	set.Dialed(a, c.now(), errRefused)
	c.add(DefaultMinBackoff - 1)
	if got := order(set, Binary); got != "b a" {
		t.Errorf("order %q within the back-off", got)
	}
	c.add(1)
	if got := order(set, Binary); got != "a b" {
		t.Errorf("order %q at the end of the back-off, want a tried", got)
	}
	if got := order(set, Binary); got != "b a" {
		t.Errorf("order %q while that try is on", got)
	}
	set.Dialed(a, c.add(time.Millisecond), errRefused)
	c.add(2*DefaultMinBackoff - 1)
	if got := order(set, Binary); got != "b a" {
		t.Errorf("order %q within the doubled back-off", got)
	}
	c.add(1)
	if got := order(set, Binary); got != "a b" {
		t.Errorf("order %q at the end of the doubled back-off", got)
	}
	set.Dialed(a, c.now(), nil)
	for range 2 {
		if got := order(set, Binary); got != "a b" {
			t.Errorf("order %q after a success", got)
		}
	}
}

// A client that goes away before the try has ended leaves it to the next.
func TestTryGivenUp(t *testing.T) {
	c := newClock()
	set := static(t, Options{Now: c.now}, "a", "b")
	a := server(t, set, "a")
	server(t, set, "b").Opened()
	set.Dialed(a, c.now(), errRefused)
	c.add(DefaultMinBackoff)
	if got := order(set, Binary); got != "a b" {
		t.Fatalf("order %q at the end of the back-off", got)
	}
	set.Dialed(a, c.now(), fmt.Errorf("dial: %w", errCanceled))
	if got := order(set, Binary); got != "a b" {
		t.Errorf("order %q, want the next client to try", got)
	}
	if d := a.LastDial(); !errors.Is(d.Err, errRefused) {
		t.Errorf("last dial %v, want the one that HiveServer2 answered", d)
	}
}

func TestOneServerAllocatesNothing(t *testing.T) {
	set := static(t, Options{}, "a")
	set.Dialed(server(t, set, "a"), time.Now(), errRefused)
	if n := testing.AllocsPerRun(100, func() {
		if len(set.Candidates(Binary)) != 1 {
			t.Error("a single server that failed is no candidate")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkCandidates(b *testing.B) {
	for _, names := range [][]string{{"a"}, {"a", "b", "c", "d"}} {
		b.Run(fmt.Sprint(len(names)), func(b *testing.B) {
			set := static(b, Options{}, names...)
			b.ReportAllocs()
			for b.Loop() {
				set.Candidates(Binary)
			}
		})
	}
}
