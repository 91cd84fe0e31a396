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

// Tables reads statistics of tables and partitions and believes them for maxAge, or until a write was seen. It is safe for concurrent use.
type Tables struct {
	hive   statscheck.Hive
	maxAge time.Duration
	now    func() time.Time

	mu struct {
		sync.Mutex
		known *lru.Cache[subject, *reading]
		// changed is told of a table whose statistics turned out to be others than before.
		changed func(table string)
	}
}

// subject is a table ("database.table"), or with a name ("ds=2024-01-01") one of its partitions.
type subject struct{ table, partition string }

// reading is what is known of one table or partition.
type reading struct {
	stats advisor.TableStats
	read  bool // stats were read once
	fresh bool // and may be believed for maxAge
	// asked are the columns that the reading asked for; Hive may have no statistics for some of them.
	asked []string
	// wanted are the columns asked for so far, in the order of asking: a re-read brings them all.
	wanted []string
	// slow is the number of readings in a row that took too long; before restUntil there is no other.
	slow      int
	restUntil time.Time
	// sys is what Hive's sys database said before stats were read; nil where it was not asked.
	sys *statscheck.SysTable
}

// maxTables bounds what is remembered; the table or partition unused for longest is forgotten.
const maxTables = 8192

// NewTables returns a Tables that has read nothing yet.
func NewTables(hive statscheck.Hive, maxAge time.Duration, now func() time.Time) *Tables {
	t := &Tables{hive: hive, maxAge: maxAge, now: now}
	t.mu.known, _ = lru.New[subject, *reading](maxTables) // fails for a size below 1 only
	t.mu.changed = func(string) {}
	return t
}

// onChange has f told of every table whose statistics, or a partition's, changed between two readings, whoever asked for them.
func (t *Tables) onChange(f func(table string)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.changed = f
}

// Get returns a table's statistics with (at least) the columns, from memory where they are young enough.
// The error wraps statscheck.ErrTableGone when the table does not exist (any more).
func (t *Tables) Get(ctx context.Context, table string, columns []string) (advisor.TableStats, error) {
	stats, fresh := t.lookup(subject{table: table}, columns)
	if fresh {
		return stats, nil
	}
	return t.Read(ctx, table, columns)
}

// Partition is Get for one partition, named as SHOW PARTITIONS prints it. Partition columns are not to be among the columns.
func (t *Tables) Partition(ctx context.Context, table, partition string, columns []string) (advisor.TableStats, error) {
	s := subject{table, partition}
	if stats, fresh := t.lookup(s, columns); fresh {
		return stats, nil
	}
	return t.read(s, columns, func(name hiveql.TableName, asked []string) (advisor.TableStats, error) {
		return statscheck.ReadPartition(ctx, t.hive, name, partition, asked)
	})
}

// statements is how many statements Partition would take now, at most: none where memory serves.
func (t *Tables) statements(table, partition string, columns []string) int {
	s := subject{table, partition}
	if _, fresh := t.lookup(s, columns); fresh {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var wanted []string
	if got, ok := t.mu.known.Peek(s); ok {
		wanted = got.wanted
	}
	return 1 + len(added(wanted, columns))
}

func (t *Tables) lookup(s subject, columns []string) (advisor.TableStats, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	got, ok := t.mu.known.Get(s)
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

// Read asks Hive now, for describeTimeout at most. The error is a *slowError when that is not enough, or was not lately.
func (t *Tables) Read(ctx context.Context, table string, columns []string) (advisor.TableStats, error) {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	return t.read(subject{table: table}, columns, func(name hiveql.TableName, asked []string) (advisor.TableStats, error) {
		return statscheck.ReadTable(ctx, t.hive, name, asked)
	})
}

func (t *Tables) read(s subject, columns []string, ask func(hiveql.TableName, []string) (advisor.TableStats, error)) (advisor.TableStats, error) {
	name, err := hiveql.ParseTableName(s.table)
	if err != nil {
		return advisor.TableStats{}, err
	}
	if err := t.rests(s); err != nil {
		return advisor.TableStats{}, err
	}
	asked, began := t.want(s, columns), t.now()
	stats, err := ask(name, asked)
	if errors.Is(err, context.DeadlineExceeded) && t.now().Sub(began) >= slowReading {
		err = t.tooSlow(s, err)
	}
	if errors.Is(err, statscheck.ErrTableGone) {
		t.gone(s)
	}
	if err != nil {
		return advisor.TableStats{}, err
	}
	t.keep(s, stats, asked)
	return stats, nil
}

// want adds columns to those a reading asks for, up to statscheck.MaxColumnsRead.
func (t *Tables) want(s subject, columns []string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	got := t.entry(s)
	got.wanted = added(got.wanted, columns)
	return slices.Clone(got.wanted)
}

// added is wanted with further columns behind it, up to statscheck.MaxColumnsRead.
func added(wanted, columns []string) []string {
	wanted = slices.Clone(wanted)
	for _, c := range columns {
		if len(wanted) < statscheck.MaxColumnsRead && !slices.Contains(wanted, c) {
			wanted = append(wanted, c)
		}
	}
	return wanted
}

// entry needs the lock.
func (t *Tables) entry(s subject) *reading {
	got, ok := t.mu.known.Get(s)
	if !ok {
		got = &reading{}
		t.mu.known.Add(s, got)
	}
	return got
}

func (t *Tables) keep(s subject, stats advisor.TableStats, asked []string) {
	t.mu.Lock()
	got := t.entry(s)
	if got.read && got.stats.ReadAt.After(stats.ReadAt) { // a younger reading came first
		t.mu.Unlock()
		return
	}
	differ := got.read && statsDiffer(got.stats, stats)
	got.stats, got.asked, got.read, got.fresh = stats, asked, true, true
	got.slow, got.restUntil = 0, time.Time{}
	if differ && s.partition == "" {
		t.doubtPartitions(s.table)
	}
	changed := t.mu.changed
	t.mu.Unlock()
	if differ {
		changed(s.table)
	}
}

func (t *Tables) gone(s subject) {
	t.mu.Lock()
	got, ok := t.mu.known.Peek(s)
	was := ok && got.read
	t.mu.known.Remove(s)
	if s.partition == "" {
		t.doubtPartitions(s.table)
	}
	changed := t.mu.changed
	t.mu.Unlock()
	if was {
		changed(s.table)
	}
}

// Forget ceases to believe what is known of a table and its partitions, so that the next Get asks Hive.
func (t *Tables) Forget(table string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if got, ok := t.mu.known.Peek(subject{table: table}); ok {
		got.fresh, got.sys = false, nil
	}
	t.doubtPartitions(table)
}

// doubtPartitions ceases to believe what is known of a table's partitions. It needs the lock.
func (t *Tables) doubtPartitions(table string) {
	for _, s := range t.mu.known.Keys() {
		if s.table != table || s.partition == "" {
			continue
		}
		if got, ok := t.mu.known.Peek(s); ok {
			got.fresh = false
		}
	}
}

var _ statscheck.Hive = (*Service)(nil)

// refusal reports Hive's own refusal, as against a failure to reach it.
func refusal(err error) (*client.Error, bool) {
	var refused *client.Error
	ok := errors.As(err, &refused)
	return refused, ok
}
