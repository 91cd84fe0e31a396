package pipeline

import (
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/store"
)

// Cache remembers what was explained, so that a query seen again costs HiveServer2 nothing until its plan may have
// changed: a new setting or database is another key; age and changed statistics are told by Lookup's cause.
type Cache struct {
	now func() time.Time

	mu struct {
		sync.Mutex
		maxAge  time.Duration
		entries *lru.Cache[string, *entry]
		// lastSettings is the settings a fingerprint was last explained under, to tell FIRST from SETTINGS.
		lastSettings *lru.Cache[string, string]
		// changed is when statistics of a table were last seen to differ: an EXPLAIN under way then may have seen the old ones.
		changed *lru.Cache[string, time.Time]
	}
}

type entry struct {
	analysis *store.Analysis // marked as reused; never changed, for every run of the query shares it
	settings string          // settingsKey of the analysis's
	stale    bool            // a statistic of its tables changed since
}

// NewCache holds size queries.
func NewCache(size int, maxAge time.Duration, now func() time.Time) (*Cache, error) {
	c := &Cache{now: now}
	c.mu.maxAge = maxAge
	var err error
	if c.mu.entries, err = lru.New[string, *entry](size); err != nil {
		return nil, err
	}
	if c.mu.lastSettings, err = lru.New[string, string](size); err != nil {
		return nil, err
	}
	c.mu.changed, err = lru.New[string, time.Time](size)
	return c, err
}

// cacheKey names a query with everything of its session that can change its plan.
func cacheKey(st *intercept.Statement) string {
	var own map[string]string // few sessions set what matters
	for _, settings := range []map[string]string{st.Settings, st.ConfOverlay} {
		for name, value := range settings {
			if _, ok := catalogued()[name]; !ok {
				continue
			}
			if own == nil {
				own = map[string]string{}
			}
			own[name] = value
		}
	}
	return st.Info.Fingerprint + "\n" + st.Database + "\n" + settingsKey(own)
}

// catalogued are the names that thatMatter keeps.
var catalogued = sync.OnceValue(func() map[string]struct{} {
	names := map[string]struct{}{}
	for _, s := range advisor.Catalogue() {
		names[s.Name] = struct{}{}
	}
	return names
})

// Lookup returns the analysis to reuse, which must not be changed, or nil and why the query has to be explained now.
func (c *Cache) Lookup(key string, st *intercept.Statement) (*store.Analysis, store.Cause) {
	e, cause := c.lookup(key, st)
	if e == nil {
		return nil, cause
	}
	return e.analysis, ""
}

// lookup is Lookup, with what else is known of the analysis. Only its stale is guarded by the lock.
func (c *Cache) lookup(key string, st *intercept.Statement) (*entry, store.Cause) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.mu.entries.Get(key)
	switch {
	case !ok:
		last, seen := c.mu.lastSettings.Get(st.Info.Fingerprint + "\n" + st.Database)
		switch {
		case !seen:
			return nil, store.CauseFirst
		case last == key: // forgotten for lack of room
			return nil, store.CauseAge
		}
		return nil, store.CauseSettings
	case e.stale:
		return nil, store.CauseStatistics
	case age(e.analysis, c.now()) >= c.mu.maxAge:
		return nil, store.CauseAge
	}
	return e, ""
}

// Put remembers an analysis, without the text of the plan, which may be large and is stored once. A refusal of Hive's is not
// worth remembering: the table may exist next time.
func (c *Cache) Put(key string, a *store.Analysis) {
	if a.Error != "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := *a
	kept.PlanText, kept.Reused = "", true
	e := &entry{analysis: &kept, settings: settingsKey(kept.Settings)}
	for _, table := range a.Tables {
		if at, ok := c.mu.changed.Peek(table); ok && !a.ExplainedAt.After(at) {
			e.stale = true
		}
	}
	c.mu.entries.Add(key, e)
	c.mu.lastSettings.Add(a.Fingerprint+"\n"+a.Database, key)
}

// Invalidate marks every plan that reads the table: its next run is explained again.
func (c *Cache) Invalidate(table string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.changed.Add(table, c.now())
	for _, e := range c.mu.entries.Values() {
		if slices.Contains(e.analysis.Tables, table) {
			e.stale = true
		}
	}
}
