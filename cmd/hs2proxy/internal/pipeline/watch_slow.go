package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

const (
	// describeTimeout bounds the reading of one table. For DESCRIBE FORMATTED of a partitioned one Hive fetches every partition with its
	// storage, 300 at a time (DescTableOperation.getColumnsNoColumnPath): 10,000 take it minutes where the metastore is busy, and no
	// cancellation stops it.
	describeTimeout = 30 * time.Second
	// partitionsTimeout bounds what one check reads of single partitions.
	partitionsTimeout = 20 * time.Second
	// slowReading is how long a reading must have lasted to be the table's fault when time was over: many wait for one session.
	slowReading = 10 * time.Second
	// longestRest bounds the pause after a reading that took too long; the first is retryDelay, and each doubles it.
	longestRest = 2 * time.Hour
)

// slowError: a table, or partition, cannot be read in time, and is not asked for before Until.
type slowError struct {
	failures int
	until    time.Time
	// resting: it was not asked for.
	resting bool
	cause   error
}

func (e *slowError) Error() string {
	if e.resting {
		return fmt.Sprintf("took too long %d times in a row: not read again before %s", e.failures, e.until.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("took too long, %d times in a row: %v", e.failures, e.cause)
}

func (e *slowError) Unwrap() error { return e.cause }

// rests returns an error as long as a table or partition is not to be read.
func (t *Tables) rests(s subject) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if got, ok := t.mu.known.Peek(s); ok && t.now().Before(got.restUntil) {
		return &slowError{failures: got.slow, until: got.restUntil, resting: true}
	}
	return nil
}

func (t *Tables) tooSlow(s subject, cause error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	got := t.entry(s)
	got.slow++
	got.restUntil = t.now().Add(min(retryDelay<<min(got.slow-1, 10), longestRest))
	return &slowError{failures: got.slow, until: got.restUntil, cause: cause}
}

// failed puts a failed check on record.
func (w *Watch) failed(ctx context.Context, table string, cause error) {
	f := store.CheckFailure{Error: cause.Error(), At: w.now()}
	if slow := (*slowError)(nil); errors.As(cause, &slow) {
		f.Again = slow.until
		w.touch(table, slow.until.Sub(w.now()))
		if slow.resting {
			return
		}
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if err := w.records.SaveCheckFailure(ctx, w.upstream, table, f); err != nil {
		w.log.Warn().Str("table", table).Err(err).Msg("the failed check of a table is not on record")
	}
}

// checkPartitions is the check of a table that cannot be read in time: its partitions are judged all the same, and what holds for the
// table itself stays. A table without partitions is left alone with the cause.
func (w *Watch) checkPartitions(ctx context.Context, table string, usage statscheck.Usage, cause error) error {
	stats, err := w.shape(ctx, table)
	if err != nil || len(stats.PartitionColumns) == 0 {
		return errors.Join(cause, err)
	}
	w.failed(ctx, table, cause)
	limits, off := w.thresholds().For(table)
	c := checking{w: w, table: table, limits: limits, off: off, usage: usage, stats: stats}
	if c.signals, err = w.records.Signals(ctx, w.upstream, table); err != nil {
		return err
	}
	found, err := c.partitions(ctx)
	if err != nil {
		return err
	}
	// Of the table itself only R7 can be told, which is about its partitions.
	whole := statscheck.Subject{Stats: advisor.TableStats{Table: stats.Table}, Now: w.now(), Reads: c.signals.Reads, StalePartitions: c.stalePartitions(found)}
	if off {
		return w.records.EndStaleness(ctx, w.upstream, table, "the table is opted out")
	}
	c.result.Holds = append(slices.DeleteFunc(statscheck.Check(whole, limits), func(s statscheck.Staleness) bool { return s.Partition == "" }), found...)
	if err := w.records.AddForeignWrites(ctx, w.upstream, table, c.foreign); err != nil {
		return err
	}
	c.result.Unread, c.result.By = true, "a reading of the partition"
	return w.records.SaveChecked(ctx, w.upstream, table, c.result)
}

// shape is what is known of a table's columns and kind: from the last reading, or else by two statements that fetch no partition.
func (w *Watch) shape(ctx context.Context, table string) (advisor.TableStats, error) {
	if known, ok := w.tables.last(table); ok {
		return known, nil
	}
	name, err := hiveql.ParseTableName(table)
	if err != nil {
		return advisor.TableStats{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	return statscheck.ReadShape(ctx, w.tables.hive, name)
}

// last is the last reading of a table, however old.
func (t *Tables) last(table string) (advisor.TableStats, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	got, ok := t.mu.known.Peek(subject{table: table})
	if !ok || !got.read {
		return advisor.TableStats{}, false
	}
	return got.stats, true
}
