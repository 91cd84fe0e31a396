package pipeline

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// Tables reads table statistics and believes them for maxAge, or until a write was seen. It is safe for concurrent use.
type Tables struct {
	hive   statscheck.Hive
	maxAge time.Duration
	now    func() time.Time

	mu struct {
		sync.Mutex
		known *lru.Cache[string, *reading]
		// changed is told of a table whose statistics turned out to be others than before.
		changed func(table string)
	}
}

// reading is what is known of one table.
type reading struct {
	stats advisor.TableStats
	read  bool // stats were read once
	fresh bool // and may be believed for maxAge
	// asked are the columns that the reading asked for; Hive may have no statistics for some of them.
	asked []string
	// wanted are the columns asked for so far, in the order of asking: a re-read brings them all.
	wanted []string
}

// maxTables bounds what is remembered; the table unused for longest is forgotten.
const maxTables = 8192

// NewTables returns a Tables that has read nothing yet.
func NewTables(hive statscheck.Hive, maxAge time.Duration, now func() time.Time) *Tables {
	t := &Tables{hive: hive, maxAge: maxAge, now: now}
	t.mu.known, _ = lru.New[string, *reading](maxTables) // fails for a size below 1 only
	t.mu.changed = func(string) {}
	return t
}

// onChange has f told of every table whose statistics changed between two readings, whoever asked for them.
func (t *Tables) onChange(f func(table string)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.changed = f
}

// Get returns a table's statistics with (at least) the columns, from memory where they are young enough.
// The error wraps statscheck.ErrTableGone when the table does not exist (any more).
func (t *Tables) Get(ctx context.Context, table string, columns []string) (advisor.TableStats, error) {
	stats, fresh := t.lookup(table, columns)
	if fresh {
		return stats, nil
	}
	return t.Read(ctx, table, columns)
}

func (t *Tables) lookup(table string, columns []string) (advisor.TableStats, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	got, ok := t.mu.known.Get(table)
	if !ok || !got.fresh || t.now().Sub(got.stats.ReadAt) >= t.maxAge {
		return advisor.TableStats{}, false
	}
	if len(got.asked) < statscheck.MaxColumnsRead {
		for _, c := range columns {
			if !slices.Contains(got.asked, c) {
				return advisor.TableStats{}, false
			}
		}
	}
	return got.stats, true
}

// Read asks Hive now.
func (t *Tables) Read(ctx context.Context, table string, columns []string) (advisor.TableStats, error) {
	name, err := hiveql.ParseTableName(table)
	if err != nil {
		return advisor.TableStats{}, err
	}
	asked := t.want(table, columns)
	stats, err := statscheck.ReadTable(ctx, t.hive, name, asked)
	if errors.Is(err, statscheck.ErrTableGone) {
		t.gone(table)
	}
	if err != nil {
		return advisor.TableStats{}, err
	}
	t.keep(table, stats, asked)
	return stats, nil
}

// want adds columns to those a reading asks for, up to statscheck.MaxColumnsRead.
func (t *Tables) want(table string, columns []string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	got := t.entry(table)
	for _, c := range columns {
		if len(got.wanted) < statscheck.MaxColumnsRead && !slices.Contains(got.wanted, c) {
			got.wanted = append(got.wanted, c)
		}
	}
	return slices.Clone(got.wanted)
}

// entry needs the lock.
func (t *Tables) entry(table string) *reading {
	got, ok := t.mu.known.Get(table)
	if !ok {
		got = &reading{}
		t.mu.known.Add(table, got)
	}
	return got
}

func (t *Tables) keep(table string, stats advisor.TableStats, asked []string) {
	t.mu.Lock()
	got := t.entry(table)
	if got.read && got.stats.ReadAt.After(stats.ReadAt) { // a younger reading came first
		t.mu.Unlock()
		return
	}
	differ := got.read && statsDiffer(got.stats, stats)
	got.stats, got.asked, got.read, got.fresh = stats, asked, true, true
	changed := t.mu.changed
	t.mu.Unlock()
	if differ {
		changed(table)
	}
}

func (t *Tables) gone(table string) {
	t.mu.Lock()
	got, ok := t.mu.known.Peek(table)
	was := ok && got.read
	t.mu.known.Remove(table)
	changed := t.mu.changed
	t.mu.Unlock()
	if was {
		changed(table)
	}
}

// Forget ceases to believe what is known of a table, so that the next Get asks Hive.
func (t *Tables) Forget(table string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if got, ok := t.mu.known.Peek(table); ok {
		got.fresh = false
	}
}

var _ statscheck.Hive = (*Service)(nil)

// refusal reports Hive's own refusal, as against a failure to reach it.
func refusal(err error) (*client.Error, bool) {
	var refused *client.Error
	ok := errors.As(err, &refused)
	return refused, ok
}
