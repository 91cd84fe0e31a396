package faults

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/beltran/gohive/hiveserver"

	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
)

// Clients hold every worker thread of HiveServer2 (hive.server2.thrift.max.worker.threads). Their calls go on; the proxy's EXPLAIN
// gives up and asks no more while the breaker is open; and the thread of a client that leaves is the next client's.
func TestWorkerThreadsExhausted(t *testing.T) {
	for name, refuse := range map[string]bool{"further connections wait": false, "further connections are refused": true} {
		for when, cold := range map[string]bool{"before the first EXPLAIN": true, "later": false} {
			t.Run(name+", "+when, func(t *testing.T) {
				t.Parallel()
				workersExhausted(t, refuse, cold)
			})
		}
	}
}

func workersExhausted(t *testing.T, refuse, cold bool) {
	const workers = 3
	hive := newHive(t, hs2test.Config{Workers: workers, RefuseBusy: refuse})
	ours := newSide(t, "ours", hive.Addr())
	cfg := settings(split(t, ours.addr(), hive.Addr()), "", "")
	cfg.Explain.Concurrency, cfg.Explain.BreakerPause = 1, time.Hour
	cfg.Upstream.DialTimeout, cfg.Explain.Timeout = 200*time.Millisecond, 200*time.Millisecond
	a, out := start(t, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	clients := []*worker{newWorker(ctx, t, a.Addr().String(), "bi0")}
	if !cold {
		clients[0].query(ctx, t)
		eventually(t, "an EXPLAIN", func() bool { return a.Counters().Refused.Load() == 1 }) // the fake's answer is no plan
		ours.cut(t)
	}
	for i := 1; i < workers; i++ {
		clients = append(clients, newWorker(ctx, t, a.Addr().String(), fmt.Sprintf("bi%d", i)))
	}
	work := func() {
		for _, c := range clients {
			c.query(ctx, t)
		}
	}
	eventually(t, "the breaker's opening", func() bool {
		work()
		return strings.Contains(out.String(), `"to":"open"`)
	})
	accepted, failed := hive.Accepted(), a.Counters().Failed.Load()
	for range 20 {
		work()
	}
	eventually(t, "the end of the analyses", func() bool {
		c := a.Counters()
		return c.Skipped.Load()+c.Failed.Load()+c.Refused.Load() == int64(queries(clients))
	})
	if n := hive.Accepted(); n != accepted {
		t.Errorf("%d connections to HiveServer2 while the breaker was open", n-accepted)
	}
	if n := a.Counters().Failed.Load(); n != failed {
		t.Errorf("%d EXPLAINs tried while the breaker was open", n-failed)
	}
	_ = clients[0].Conn.Close()
	newWorker(ctx, t, a.Addr().String(), "next").query(ctx, t)
}

// worker is a client that holds a worker thread.
type worker struct {
	*hs2test.Client
	user    string
	session *hiveserver.TSessionHandle
	queries int
}

func newWorker(ctx context.Context, t *testing.T, addr, user string) *worker {
	t.Helper()
	w := &worker{user: user}
	// HiveServer2 refuses a connection until it has noticed that another has ended.
	eventually(t, "a worker thread for "+user, func() bool {
		c, err := hs2test.Dial(ctx, addr, user, "s3cret")
		if err != nil {
			return false
		}
		w.Client = c
		return true
	})
	t.Cleanup(func() { _ = w.Conn.Close() })
	if err := w.Conn.SetDeadline(time.Now().Add(hang)); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.session, err = w.Open(ctx, nil); err != nil {
		t.Fatal(err)
	}
	return w
}

// query runs a statement that the proxy wants to have explained.
func (w *worker) query(ctx context.Context, t *testing.T) {
	t.Helper()
	w.queries++
	resp, err := w.Execute(ctx, w.session, fmt.Sprintf("SELECT %d, '%s' FROM a JOIN b%d ON a.x = b.x", w.queries, w.user, w.queries), true)
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := w.Fetch(ctx, resp.OperationHandle); err != nil || rows != 3 {
		t.Fatalf("%d rows: %v", rows, err)
	}
}

func queries(all []*worker) (n int) {
	for _, w := range all {
		n += w.queries
	}
	return n
}
