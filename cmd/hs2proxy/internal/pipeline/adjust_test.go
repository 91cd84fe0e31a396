package pipeline

import (
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/hs2proxy/hs2proxy/store"
)

// TestRecorderSilenced: what comes by meanwhile is recorded without a question to HiveServer2, and questions come again.
func TestRecorderSilenced(t *testing.T) {
	b := newBench(t, nil)
	b.Silence(true)
	b.begin(t)
	for i, silent := range []bool{true, false, true} {
		b.Silence(silent)
		st := statement(string(rune('a'+i)), joinSQL)
		st.Database = st.ID // a query of its own
		b.start(st)
		if !silent {
			if o := b.observation(t); o.Analysis == nil {
				t.Errorf("not explained: %+v", o)
			}
		}
		b.end(st)
		if o := b.observation(t); !o.Statement.State.Final() || (o.Analysis == nil) != silent {
			t.Errorf("silent %v: %+v", silent, o)
		}
	}
	if n := b.counters.Explained.Load(); n != 1 {
		t.Errorf("%d explained", n)
	}
	write := statement("w", "INSERT INTO t VALUES (7)")
	b.start(write)
	b.end(write)
	if o := b.observation(t); len(o.Writes) != 1 || o.Writes[0].Rows != nil {
		t.Errorf("writes %+v", o.Writes)
	}
	b.Stop(within(t))
	b.wantNoMore(t)
}

func TestCacheMaxAgeChanges(t *testing.T) {
	c := newClock()
	cache := newCache(t, c.now)
	st := statement("1", joinSQL)
	key := cacheKey(st)
	cache.Put(key, &store.Analysis{Fingerprint: st.Info.Fingerprint, Database: "shop", ExplainedAt: c.now()})
	c.pass(time.Minute)
	if _, cause := cache.Lookup(key, st); cause != "" {
		t.Errorf("too old at once: %s", cause)
	}
	cache.SetMaxAge(time.Minute)
	if _, cause := cache.Lookup(key, st); cause != store.CauseAge {
		t.Errorf("got %q", cause)
	}
}

func TestExplainerRateChanges(t *testing.T) {
	e := NewExplainer(ExplainConfig{Rate: 1, Concurrency: 1}, quiet())
	defer e.Close()
	e.SetRate(7)
	if got := e.limiter.Limit(); got != rate.Limit(7) {
		t.Errorf("%v a second", got)
	}
}
