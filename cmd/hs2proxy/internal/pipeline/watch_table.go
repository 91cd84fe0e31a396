package pipeline

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

// listTimeout bounds a listing of files or partitions: the check goes on without what does not come in time.
const listTimeout = 10 * time.Second

// Judges reports whether rules are applied to the table: it is not opted out.
func (w *Watch) Judges(table string) bool {
	_, off := w.thresholds().For(table)
	return !off
}

// Check reads the table's statistics from Hive now, moves its baseline where autogather kept up or an ANALYZE was seen, does the
// same for the partitions that were touched or are read, records what others wrote, and records the staleness that holds.
// Nothing holds for a table that is gone, or a temporary one.
func (w *Watch) Check(ctx context.Context, table string) error {
	w.sys.forget(table) // what was read for a round may be from before the refresh that asks for the check
	return w.checkTable(ctx, table)
}

func (w *Watch) checkTable(ctx context.Context, table string) error {
	limits, off := w.thresholds().For(table)
	usage, err := w.records.UsageOf(ctx, w.upstream, table)
	if err != nil {
		return err
	}
	stats, sys, err := w.read(ctx, table, slices.Concat(usage.JoinColumns, usage.OtherColumns))
	switch {
	case errors.Is(err, statscheck.ErrTableGone):
		// A table that comes back under the name is another one: it starts without rows known and writes counted.
		if err := w.records.Rebase(ctx, w.upstream, table, statscheck.Baseline{At: w.now()}); err != nil {
			return err
		}
		return w.records.EndStaleness(ctx, w.upstream, table, "the table is gone")
	case err == nil && stats.Temporary:
		return w.records.EndStaleness(ctx, w.upstream, table, "the table is temporary")
	case errors.As(err, new(*slowError)):
		return w.checkPartitions(ctx, table, usage, err)
	case err != nil:
		return err
	}
	c := checking{w: w, table: table, limits: limits, off: off, usage: usage, stats: stats, sys: sys}
	return c.run(ctx)
}

// checking is one check of a table.
type checking struct {
	w      *Watch
	table  string
	limits statscheck.Thresholds
	off    bool
	usage  statscheck.Usage
	stats  advisor.TableStats
	// sys is what Hive's sys database said just before; empty where it was not asked.
	sys statscheck.SysTable

	signals store.Signals
	// listed are the files of partitions that were read.
	listed  map[string]*statscheck.Files
	foreign []statscheck.ForeignWrite
	subject statscheck.Subject
	result  store.Checked
}

func (c *checking) run(ctx context.Context) error {
	w := c.w
	before, err := w.records.Readings(ctx, w.upstream, c.table, []string{""})
	if err != nil {
		return err
	}
	if c.signals, err = w.records.Signals(ctx, w.upstream, c.table); err != nil {
		return err
	}
	if err := w.records.SaveTableStats(ctx, w.upstream, []advisor.TableStats{c.stats}); err != nil {
		return err
	}
	if err := c.judgeForeign(ctx, before[""], c.stats, c.lastWrite("")); err != nil {
		return err
	}
	if err := c.readSubject(ctx); err != nil {
		return err
	}
	found, err := c.partitions(ctx)
	if err != nil {
		return err
	}
	c.subject.StalePartitions = c.stalePartitions(found)
	if !c.off {
		var since time.Time
		if c.subject.Baseline != nil {
			since = c.subject.Baseline.At
		}
		table := statscheck.Check(c.subject, c.limits)
		table = statscheck.ForTable(table, found, c.signals.Writes, since, c.stats.PartitionColumns, c.result.Partitions)
		c.result.Holds = append(table, found...)
	}
	if listed, ok := statscheck.ListedWrite(c.subject, c.limits); ok {
		c.foreign = append(c.foreign, listed)
	}
	if err := w.records.AddForeignWrites(ctx, w.upstream, c.table, c.foreign); err != nil {
		return err
	}
	for _, s := range c.result.Holds {
		w.log.Info().Str("table", c.table).Str("partition", s.Partition).Str("rule", string(s.Rule)).Str("severity", string(s.Level)).
			Str("reason", s.Reason).Msg("stale statistics")
	}
	c.result.Health, c.result.Known = statscheck.HealthOf(c.subject), statscheck.KnownOf(c.subject)
	c.result.Needed, c.result.Covered = statscheck.Coverage(c.subject)
	c.result.ReadAt, c.result.By = c.stats.ReadAt, statscheck.Shown(c.stats)
	return w.records.SaveChecked(ctx, w.upstream, c.table, c.result)
}

// judgeForeign records a change since the last reading that no write seen explains. It comes before the writes are read, which
// know of it then.
func (c *checking) judgeForeign(ctx context.Context, before statscheck.Reading, now advisor.TableStats, last time.Time) error {
	f, ok := statscheck.ForeignWriteOf(before, now, last)
	if !ok {
		return nil
	}
	c.w.log.Info().Str("table", c.table).Str("partition", now.Partition).Bool("followed", f.Followed).Msg("files changed by a writer that was not seen")
	return c.w.records.AddForeignWrites(ctx, c.w.upstream, c.table, []statscheck.ForeignWrite{f})
}

// lastWrite is the last write seen to a partition, or to the table.
func (c *checking) lastWrite(partition string) (last time.Time) {
	for _, wr := range c.signals.Writes {
		if wr.At.After(last) && (partition == "" || slices.ContainsFunc(wr.Specs, func(s string) bool { return statscheck.Covers(s, partition) })) {
			last = wr.At
		}
	}
	return last
}

// readSubject gathers what the rules look at, and moves the baseline.
func (c *checking) readSubject(ctx context.Context) error {
	w := c.w
	s := statscheck.Subject{
		Stats: c.stats, Usage: c.usage, Now: w.now(), AnalyzedAt: c.signals.AnalyzedAt,
		Contradictions: c.signals.Contradictions, Reads: c.signals.Reads, Files: c.files(ctx, c.stats),
	}
	var err error
	if s.Baseline, err = w.records.Baseline(ctx, w.upstream, c.table); err != nil {
		return err
	}
	if s.Writes, err = w.records.Writes(ctx, w.upstream, c.table); err != nil {
		return err
	}
	if moved := rebased(s); moved.Kept {
		if err := w.records.Rebase(ctx, w.upstream, c.table, *moved.Baseline); err != nil {
			return err
		}
		s.Baseline, s.Writes = moved.Baseline, moved.Writes
	}
	c.subject = s
	return nil
}

// rebased moves the baseline where an ANALYZE was seen, or autogather kept up.
func rebased(s statscheck.Subject) statscheck.Rebasing {
	if moved := statscheck.RebaseAnalyzed(s.Baseline, s.Writes, s.AnalyzedAt, s.Stats); moved.Kept {
		return moved
	}
	return statscheck.Rebase(s.Baseline, s.Writes, s.Stats)
}

// files lists the files where that is cheap; nil when they are not known.
func (c *checking) files(ctx context.Context, t advisor.TableStats) *statscheck.Files {
	name, err := hiveql.ParseTableName(c.table)
	if err != nil || !statscheck.FilesListable(t) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	f, err := statscheck.ReadFiles(ctx, c.w.tables.hive, name, t.Partition)
	if err != nil {
		c.w.log.Debug().Str("table", c.table).Str("partition", t.Partition).Err(err).Msg("files not listed")
		return nil
	}
	return &f
}
