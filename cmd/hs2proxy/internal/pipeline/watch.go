package pipeline

import (
	"context"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

// TableRecords is the part of the store that keeps what is known of tables.
type TableRecords interface {
	SaveTableStats(ctx context.Context, upstream string, stats []advisor.TableStats) error
	Writes(ctx context.Context, upstream, table string) (statscheck.Writes, error)
	Baseline(ctx context.Context, upstream, table string) (*statscheck.Baseline, error)
	Rebase(ctx context.Context, upstream, table string, b statscheck.Baseline) error
	UsageOf(ctx context.Context, upstream, table string) (statscheck.Usage, error)
	EndStaleness(ctx context.Context, upstream, table, why string) error
	SaveCheckFailure(ctx context.Context, upstream, table string, f store.CheckFailure) error
	SaveChecked(ctx context.Context, upstream, table string, c store.Checked) error
	Signals(ctx context.Context, upstream, table string) (store.Signals, error)
	Readings(ctx context.Context, upstream, table string, names []string) (map[string]statscheck.Reading, error)
	AddForeignWrites(ctx context.Context, upstream, table string, list []statscheck.ForeignWrite) error
	PartitionStates(ctx context.Context, upstream, table string, names []string) (map[string]store.PartitionState, error)
	RebasePartition(ctx context.Context, upstream, table, partition string, b statscheck.Baseline) error
}

// Watch keeps an eye on the tables that plans read and statements write: it reads their statistics, applies the rules and
// records what holds. Tables are checked one after another on one session of ours.
type Watch struct {
	upstream string
	tables   *Tables
	sys      *SysViews
	records  TableRecords
	log      zerolog.Logger
	counters *Counters
	now      func() time.Time

	wake   chan struct{}
	cancel context.CancelFunc
	wg     sync.WaitGroup
	mu     struct {
		sync.Mutex
		due    map[string]time.Time
		limits statscheck.Thresholds
		// young holds, by table, until when a query that reads it needs no new check.
		young *lru.Cache[string, time.Time]
		// listed holds, by table, when its partitions were last listed.
		listed *lru.Cache[string, time.Time]
	}
}

const (
	// settleDelay lets a burst of writes to a table pass before its statistics are read.
	settleDelay = 2 * time.Second
	// retryDelay is how long after a failed check the next query that reads the table may bring it back; a write always does.
	retryDelay = time.Minute
	// checkTimeout bounds a check of one table: describeTimeout for itself, partitionsTimeout for its partitions.
	checkTimeout = time.Minute
	// restFactor is how many times as long as its check took a table that queries read is left alone.
	restFactor = 20
	// maxDue bounds the tables that wait; further ones come again with the next query that reads them.
	maxDue = 4096
)

// NewWatch returns a Watch that has not started. limits without Tables are the same for every table. The cache forgets the
// plans of every table whose statistics changed.
func NewWatch(upstream string, tables *Tables, cache *Cache, records TableRecords, limits statscheck.Thresholds,
	log zerolog.Logger, counters *Counters, now func() time.Time,
) *Watch {
	w := &Watch{
		upstream: upstream, tables: tables, records: records, log: log, counters: counters, now: now,
		wake: make(chan struct{}, 1),
	}
	w.mu.due, w.mu.limits = map[string]time.Time{}, limits
	w.mu.young, _ = lru.New[string, time.Time](maxTables) // fails for a size below 1 only
	w.mu.listed, _ = lru.New[string, time.Time](maxTables)
	tables.onChange(cache.Invalidate)
	return w
}

// Start begins to check.
func (w *Watch) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	w.wg.Go(func() { w.run(ctx) })
}

// Stop ends a running check and waits for it.
func (w *Watch) Stop() {
	w.cancel()
	w.wg.Wait()
}

// Recorded takes note of an observation that is in the store: tables it wrote are checked soon, tables whose statistics it set or
// contradicted at once, and tables it read when their last check is older than the statistics are believed.
func (w *Watch) Recorded(o store.Observation) {
	for _, tw := range o.Writes {
		w.sys.forget(tw.Table)
		if tw.Op == hiveql.WriteDrop || tw.Op == hiveql.WriteRename {
			w.tables.gone(subject{table: tw.Table}) // what bears the name now, if anything, is another table
		}
		w.touch(tw.Table, settleDelay)
	}
	w.dropped(o.DroppedDatabase)
	if o.Analyzed != nil {
		w.tables.Forget(o.Analyzed.Table)
		w.sys.forget(o.Analyzed.Table)
		w.touch(o.Analyzed.Table, 0)
	}
	for _, c := range o.Contradictions {
		w.touch(c.Table, 0)
	}
	if o.Analysis != nil {
		for _, table := range o.Analysis.Tables {
			if !w.isYoung(table) {
				w.touch(table, 0)
			}
		}
	}
}

// dropped has the tables of a database looked for again that were looked at lately: their plans are forgotten where they are gone.
func (w *Watch) dropped(database string) {
	if database == "" {
		return
	}
	w.mu.Lock()
	tables := w.mu.young.Keys()
	w.mu.Unlock()
	for _, table := range tables {
		if strings.HasPrefix(table, database+".") {
			w.tables.gone(subject{table: table})
			w.touch(table, settleDelay)
		}
	}
}

func (w *Watch) isYoung(table string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	until, ok := w.mu.young.Get(table)
	return ok && w.now().Before(until)
}

func (w *Watch) setYoung(table string, d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.young.Add(table, w.now().Add(d))
}

func (w *Watch) touch(table string, delay time.Duration) {
	w.mu.Lock()
	at := w.now().Add(delay)
	if before, ok := w.mu.due[table]; ok && at.Before(before) || !ok && len(w.mu.due) < maxDue {
		w.mu.due[table] = at
	}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *Watch) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		table, wait := w.next()
		if table != "" {
			w.check(ctx, table)
			continue
		}
		timer.Reset(wait)
		select {
		case <-w.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// next takes the table that is due longest, or says how long there is nothing to do.
func (w *Watch) next() (table string, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wait = time.Hour
	var first time.Time
	for t, at := range w.mu.due {
		if table == "" || at.Before(first) {
			table, first = t, at
		}
	}
	if table == "" {
		return "", wait
	}
	if wait = first.Sub(w.now()); wait > 0 {
		return "", wait
	}
	delete(w.mu.due, table)
	return table, 0
}

// check reads one table and records what the rules say. Its failure is logged; the next write, or after a while the next
// query that names the table, brings it back.
func (w *Watch) check(ctx context.Context, table string) {
	w.setYoung(table, retryDelay)
	defer isolate(w.log, w.counters, "check of a table panicked")
	w.ahead(ctx, table)
	checking, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	started := w.now()
	err := w.checkTable(checking, table)
	switch {
	case err == nil:
		// Hive walks all partitions of a table to describe it: one that takes long is asked less often.
		w.setYoung(table, max(w.tables.maxAge, restFactor*w.now().Sub(started)))
	case ctx.Err() == nil:
		w.log.Warn().Str("table", table).Err(err).Msg("statistics of a table not checked")
		w.failed(ctx, table, err)
	}
}

// KnownRows implements KnownRows, as statscheck.RowsByWrites.
func (w *Watch) KnownRows(ctx context.Context, upstream, table string, partitioned bool) (int64, bool) {
	b, err := w.records.Baseline(ctx, upstream, table)
	if err != nil {
		return 0, false
	}
	writes, err := w.records.Writes(ctx, upstream, table)
	if err != nil {
		return 0, false
	}
	return statscheck.RowsByWrites(b, writes, partitioned)
}
