package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var errDNS = errors.New("server misbehaving")

// names is a resolver whose answers a test sets.
type names struct {
	asked   int
	answers map[string][]netip.Addr
}

func (n *names) lookup(_ context.Context, host string) ([]netip.Addr, error) {
	n.asked++
	if a, ok := n.answers[host]; ok {
		return a, nil
	}
	return nil, errDNS
}

func addrs(texts ...string) []netip.Addr {
	var out []netip.Addr
	for _, text := range texts {
		out = append(out, netip.MustParseAddr(text))
	}
	return out
}

func TestLiteralsNeedNoResolver(t *testing.T) {
	var n names
	r := NewResolver(ResolverOptions{Lookup: n.lookup})
	for text, want := range map[string]string{"10.0.0.1:10000": "10.0.0.1:10000", "[fe80::1]:2": "[fe80::1]:2", "[::ffff:10.0.0.1]:3": "10.0.0.1:3"} {
		for range 2 {
			if got, ok := r.Cached(text); !ok || fmt.Sprint(got) != "["+want+"]" {
				t.Errorf("%s: %v, %v", text, got, ok)
			}
		}
		if got, err := r.Resolve(t.Context(), text); err != nil || fmt.Sprint(got) != "["+want+"]" {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if n.asked != 0 {
		t.Errorf("the resolver was asked %d times", n.asked)
	}
	if a := testing.AllocsPerRun(100, func() { r.Cached("10.0.0.1:10000") }); a != 0 {
		t.Errorf("%v allocations for a known address", a)
	}
}

func TestNamesAreCachedAndServedStale(t *testing.T) {
	c := newClock()
	n := names{answers: map[string][]netip.Addr{"hive": addrs("10.0.0.1", "::ffff:10.0.0.2")}}
	r := NewResolver(ResolverOptions{Lookup: n.lookup, Now: c.now})
	step := func(name, want string, asked int) {
		t.Helper()
		got, err := r.Resolve(t.Context(), "hive:10000")
		if err != nil || fmt.Sprint(got) != want || n.asked != asked {
			t.Errorf("%s: %v, %v after %d lookups; want %s after %d", name, got, err, n.asked, want, asked)
		}
	}
	if _, ok := r.Cached("hive:10000"); ok {
		t.Error("known before the first lookup")
	}
	step("first", "[10.0.0.1:10000 10.0.0.2:10000]", 1)
	c.add(DefaultResolveTTL - 1)
	step("fresh", "[10.0.0.1:10000 10.0.0.2:10000]", 1)
	c.add(1)
	if _, ok := r.Cached("hive:10000"); ok {
		t.Error("an answer is served without lookup after its time")
	}
	n.answers["hive"] = addrs("10.0.0.3")
	step("moved", "[10.0.0.3:10000]", 2)
	delete(n.answers, "hive")
	c.add(DefaultResolveTTL)
	step("the resolver fails", "[10.0.0.3:10000]", 3)
	step("within the pause", "[10.0.0.3:10000]", 3)
	c.add(DefaultResolveTTL)
	step("it fails on", "[10.0.0.3:10000]", 4)
	n.answers["hive"] = nil
	c.add(DefaultResolveTTL)
	step("no address is a failure", "[10.0.0.3:10000]", 5)
	n.answers["hive"] = addrs("10.0.0.4")
	c.add(DefaultResolveTTL)
	step("it answers again", "[10.0.0.4:10000]", 6)
}

func TestNamesUnknown(t *testing.T) {
	var n names
	r := NewResolver(ResolverOptions{Lookup: n.lookup})
	if _, err := r.Resolve(t.Context(), "hive:10000"); !errors.Is(err, errDNS) {
		t.Errorf("error %v", err)
	}
	for _, text := range []string{"hive", "hive:http", "hive:65536", "::1:2"} {
		if got, err := r.Resolve(t.Context(), text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
		if got, ok := r.Cached(text); ok {
			t.Errorf("%q: cached %v", text, got)
		}
	}
}

func TestCallersShareALookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		r := NewResolver(ResolverOptions{Lookup: func(ctx context.Context, _ string) ([]netip.Addr, error) {
			asked++
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(2 * time.Second):
				return addrs("10.0.0.1"), nil
			}
		}})
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var callers sync.WaitGroup
		callers.Go(func() {
			if _, err := r.Resolve(impatient, "hive:1"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the caller who gave up got %v", err)
			}
		})
		synctest.Wait()
		for range 10 {
			callers.Go(func() {
				if got, err := r.Resolve(t.Context(), "hive:1"); err != nil || len(got) != 1 {
					t.Errorf("%v, %v", got, err)
				}
			})
		}
		callers.Wait()
		if asked != 1 {
			t.Errorf("%d lookups, want one for all", asked)
		}
	})
}

func TestALookupEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewResolver(ResolverOptions{Lookup: func(ctx context.Context, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		begin := time.Now()
		if _, err := r.Resolve(t.Context(), "hive:1"); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != DefaultResolveTimeout {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
	})
}
