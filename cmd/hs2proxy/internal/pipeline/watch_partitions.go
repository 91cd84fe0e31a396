package pipeline

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

const (
	// maxPartitionsChecked bounds the partitions that one check reads, by a DESCRIBE and a listing each. Further ones come with the
	// next check.
	maxPartitionsChecked = 16
	// maxPartitionsListed bounds the names taken from one SHOW PARTITIONS.
	maxPartitionsListed = maxPartitionsChecked
	// maxCandidates bounds the partitions whose state is looked up.
	maxCandidates = 1024
)

// partitions checks those partitions of the table that statements touched or queries read, and returns what holds for them.
func (c *checking) partitions(ctx context.Context) ([]statscheck.Staleness, error) {
	if len(c.stats.PartitionColumns) == 0 || c.off {
		return nil, nil
	}
	reading, cancel := context.WithTimeout(ctx, partitionsTimeout)
	defer cancel()
	names := c.candidates(reading)
	states, err := c.w.records.PartitionStates(ctx, c.w.upstream, c.table, names)
	if err != nil {
		return nil, err
	}
	due := c.due(names, states)
	if len(due) == 0 {
		return nil, nil
	}
	before, err := c.w.records.Readings(ctx, c.w.upstream, c.table, due)
	if err != nil {
		return nil, err
	}
	read := c.readPartitions(reading, due)
	if len(read)+len(c.result.Gone) < len(due) {
		c.w.touch(c.table, retryDelay) // for the others
	}
	if err := c.w.records.SaveTableStats(ctx, c.w.upstream, read); err != nil {
		return nil, err
	}
	var found []statscheck.Staleness
	for _, p := range read {
		if err := c.judgeForeign(ctx, before[p.Partition], p, c.lastWrite(p.Partition)); err != nil {
			return nil, err
		}
	}
	// Once more: what others wrote is known now.
	if states, err = c.w.records.PartitionStates(ctx, c.w.upstream, c.table, due); err != nil {
		return nil, err
	}
	for _, p := range read {
		holds, err := c.partition(ctx, p, states[p.Partition])
		if err != nil {
			return nil, err
		}
		c.result.Partitions = append(c.result.Partitions, p.Partition)
		found = append(found, holds...)
	}
	return found, nil
}

// candidates names the partitions that matter, the most urgent first: written, found stale before, read by queries.
func (c *checking) candidates(ctx context.Context) []string {
	var names []string
	add := func(name string) {
		if len(names) < maxCandidates && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var unnamed string
	open := false
	for _, wr := range c.signals.Writes {
		for _, spec := range wr.Specs {
			if name, ok := statscheck.PartitionOf(spec, c.stats.PartitionColumns); ok {
				add(name)
			} else if !open && c.w.mayList(c.table, wr.At) {
				unnamed, open = spec, true
			}
		}
	}
	if open {
		for _, name := range c.list(ctx, unnamed) {
			add(name)
		}
	}
	for _, s := range c.signals.Stale {
		add(s.Partition)
	}
	for _, r := range c.signals.Reads {
		for _, name := range r.Partitions {
			add(name)
		}
	}
	return names
}

// list names the youngest partitions that a write with dynamic partitions may have made.
func (c *checking) list(ctx context.Context, spec string) []string {
	name, err := hiveql.ParseTableName(c.table)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	names, err := statscheck.ShowPartitions(ctx, c.w.tables.hive, name, spec, maxPartitionsListed)
	if err != nil {
		c.w.log.Debug().Str("table", c.table).Err(err).Msg("partitions not listed")
		return nil
	}
	c.w.setListed(c.table)
	slices.Reverse(names) // the youngest first
	return names
}

// due picks the partitions to read now: those written since they were read, in order, then those whose reading is old, the oldest
// first.
func (c *checking) due(names []string, states map[string]store.PartitionState) []string {
	touched := statscheck.Touched(names, c.signals.Writes, func(p string) time.Time { return states[p].ReadAt })
	for _, p := range names {
		if c.analyzedAt(p).After(states[p].ReadAt) && !slices.Contains(touched, p) {
			touched = append(touched, p)
		}
	}
	var old []string
	for _, p := range names {
		if at := states[p].ReadAt; !slices.Contains(touched, p) && (at.IsZero() || c.w.now().Sub(at) >= c.w.tables.maxAge) {
			old = append(old, p)
		}
	}
	slices.SortStableFunc(old, func(a, b string) int { return cmp.Compare(states[a].ReadAt.UnixNano(), states[b].ReadAt.UnixNano()) })
	due := append(touched, old...)
	return due[:min(len(due), maxPartitionsChecked)]
}

// readPartitions reads as many as there is time for, and lists their files.
func (c *checking) readPartitions(ctx context.Context, due []string) []advisor.TableStats {
	name, err := hiveql.ParseTableName(c.table)
	if err != nil {
		return nil
	}
	c.listed = make(map[string]*statscheck.Files, len(due))
	var out []advisor.TableStats
	for _, p := range due {
		stats, ok := c.sys.PartitionStats(p, c.stats)
		if !ok {
			stats, err = statscheck.ReadPartition(ctx, c.w.tables.hive, name, p, nil) // its parameters list the columns with statistics
			if errors.Is(err, statscheck.ErrTableGone) {
				c.result.Gone = append(c.result.Gone, p)
				continue
			}
			if err != nil {
				c.w.log.Warn().Str("table", c.table).Str("partition", p).Err(err).Msg("statistics of a partition not read")
				return out
			}
			stats.Table = c.stats.Table
		}
		files := c.files(ctx, c.likeTable(stats))
		if ctx.Err() != nil { // without its files R5 would seem to have ended
			return out
		}
		c.listed[p] = files
		out = append(out, stats)
	}
	return out
}

// likeTable is a partition with the table's kind and properties, of which Hive prints neither for it.
func (c *checking) likeTable(p advisor.TableStats) advisor.TableStats {
	p.Kind, p.Transactional, p.StorageHandler = c.stats.Kind, c.stats.Transactional, c.stats.StorageHandler
	return p
}

// partition judges one partition and moves its baseline.
func (c *checking) partition(ctx context.Context, p advisor.TableStats, state store.PartitionState) ([]statscheck.Staleness, error) {
	p = c.likeTable(p)
	s := statscheck.Subject{
		Stats: p, Baseline: state.Baseline, Now: c.w.now(), AnalyzedAt: c.analyzedAt(p.Partition), Files: c.listed[p.Partition],
		Usage: statscheck.Usage{JoinColumns: c.usage.JoinColumns, OtherColumns: c.usage.OtherColumns, Joins: c.usage.Joins},
	}
	var since time.Time
	if s.Baseline != nil {
		since = s.Baseline.At
	}
	s.Writes = statscheck.WritesTo(p.Partition, c.signals.Writes, since)
	s.Writes.Foreign = state.Foreign
	if moved := rebased(s); moved.Kept {
		if err := c.w.records.RebasePartition(ctx, c.w.upstream, c.table, p.Partition, *moved.Baseline); err != nil {
			return nil, err
		}
		s.Baseline, s.Writes = moved.Baseline, moved.Writes
	}
	if listed, ok := statscheck.ListedWrite(s, c.limits); ok {
		c.foreign = append(c.foreign, listed)
	}
	all := c.w.thresholds()
	return statscheck.Check(s, all), nil
}

// analyzedAt is the last ANALYZE seen of a partition that counts rows.
func (c *checking) analyzedAt(partition string) (last time.Time) {
	for _, a := range c.signals.Analyzes {
		if a.CountsRows && a.At.After(last) && statscheck.Covers(a.Spec, partition) {
			last = a.At
		}
	}
	return last
}

// stalePartitions are those found stale now, and those not looked at that were before.
func (c *checking) stalePartitions(found []statscheck.Staleness) []string {
	var out []string
	for _, s := range found {
		if statscheck.CountsForR7(s) && !slices.Contains(out, s.Partition) {
			out = append(out, s.Partition)
		}
	}
	for _, s := range c.signals.Stale {
		looked := slices.Contains(c.result.Partitions, s.Partition) || slices.Contains(c.result.Gone, s.Partition)
		if statscheck.CountsForR7(s) && !looked && !slices.Contains(out, s.Partition) {
			out = append(out, s.Partition)
		}
	}
	return out
}

// mayList: partitions were not listed since a write that did not name them all.
func (w *Watch) mayList(table string, written time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, ok := w.mu.listed.Get(table)
	return !ok || written.After(at)
}

func (w *Watch) setListed(table string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.listed.Add(table, w.now())
}
