package pipeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/store"
)

func TestCacheCauses(t *testing.T) {
	c := newClock()
	cache := newCache(t, c.now)
	st := statement("1", joinSQL)
	key := cacheKey(st)
	want := func(name string, key string, cause store.Cause) {
		t.Helper()
		if a, got := cache.Lookup(key, st); got != cause || (a == nil) != (cause != "") {
			t.Errorf("%s: got %v for %q, want %q", name, a, got, cause)
		}
	}
	put := func(key string) {
		cache.Put(key, &store.Analysis{
			Fingerprint: st.Info.Fingerprint, Database: "shop", Tables: []string{"shop.t"}, PlanText: "long", ExplainedAt: c.now(), Cause: store.CauseFirst,
		})
	}
	want("never seen", key, store.CauseFirst)
	put(key)
	want("seen", key, "")
	a, _ := cache.Lookup(key, st)
	if !a.Reused || a.PlanText != "" || a.Cause != store.CauseFirst {
		t.Errorf("reused %+v", a)
	}

	st.Settings = map[string]string{"hive.auto.convert.join": "false"}
	other := cacheKey(st)
	want("another setting that matters", other, store.CauseSettings)
	st.Settings = map[string]string{"hive.cli.print.header": "true"}
	want("a setting that does not matter", cacheKey(st), "")
	st.Settings, st.ConfOverlay = nil, map[string]string{"hive.auto.convert.join": "false"}
	if cacheKey(st) != other {
		t.Error("the overlay does not count as a setting")
	}
	st.ConfOverlay, st.Database = nil, "elsewhere"
	want("another database", cacheKey(st), store.CauseFirst)
	st.Database = "shop"

	cache.Invalidate("shop.other")
	want("another table changed", key, "")
	cache.Invalidate("shop.t")
	want("its table changed", key, store.CauseStatistics)
	c.pass(time.Second)
	put(key)
	want("explained again", key, "")
	c.pass(time.Hour - time.Nanosecond)
	want("nearly too old", key, "")
	c.pass(time.Nanosecond)
	want("too old", key, store.CauseAge)
}

// An EXPLAIN under way when statistics change may have seen the old ones.
func TestCacheInvalidatedBeforePut(t *testing.T) {
	c := newClock()
	cache := newCache(t, c.now)
	st := statement("1", joinSQL)
	explained := c.now()
	c.pass(time.Second)
	cache.Invalidate("shop.t")
	cache.Put("k", &store.Analysis{Tables: []string{"shop.t"}, ExplainedAt: explained})
	if _, cause := cache.Lookup("k", st); cause != store.CauseStatistics {
		t.Errorf("got %q", cause)
	}
}

func TestCacheKeepsNoRefusal(t *testing.T) {
	cache := newCache(t, time.Now)
	cache.Put("k", &store.Analysis{Error: "Table not found", ExplainedAt: time.Now()})
	if _, cause := cache.Lookup("k", statement("1", joinSQL)); cause != store.CauseFirst {
		t.Errorf("got %q", cause)
	}
}

// A query forgotten for lack of room is neither new nor under other settings.
func TestCacheForgets(t *testing.T) {
	cache, err := NewCache(2, time.Hour, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	st := statement("1", joinSQL)
	analysis := &store.Analysis{Fingerprint: st.Info.Fingerprint, Database: "shop", ExplainedAt: time.Now()}
	for i := range 3 {
		cache.Put(fmt.Sprintf("other %d", i), &store.Analysis{Fingerprint: "same", ExplainedAt: time.Now()})
		if i == 0 {
			cache.Put("k", analysis)
		}
	}
	if _, cause := cache.Lookup("k", st); cause != store.CauseAge {
		t.Errorf("got %q", cause)
	}
	if _, err := NewCache(0, time.Hour, time.Now); err == nil {
		t.Error("a cache for nothing was made")
	}
	if _, err := NewSamples(0); err == nil {
		t.Error("samples for nothing were made")
	}
}
