package pipeline

import (
	"context"
	"errors"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/statscheck"
)

// partitions adds the statistics of the partitions that joins read, keyed as advisor.EnrichFor expects them: of a table all or
// none. Tables come in the order of their names; one that goes beyond the bounds is passed over.
func (a *Analyzer) partitions(ctx context.Context, needs []advisor.TableNeed, stats map[string]advisor.TableStats) {
	left, statements := maxPartitions, maxPartitionStatements
	for _, n := range needs {
		if _, ok := stats[n.Table]; !ok || len(n.Partitions) == 0 || len(n.Partitions) > left {
			continue
		}
		cost := 0
		for _, name := range n.Partitions {
			cost += a.Tables.statements(n.Table, name, n.Columns)
		}
		if cost > statements {
			a.Log.Debug().Str("table", n.Table).Int("partitions", len(n.Partitions)).Int("statements", cost).
				Msg("reading the partitions costs too much; the table's own statistics are taken")
			continue
		}
		left, statements = left-len(n.Partitions), statements-cost
		read, err := a.partitionsOf(ctx, &n)
		switch {
		case err == nil:
			for name, p := range read {
				stats[n.Table+"/"+name] = p
			}
		case errors.Is(err, statscheck.ErrTableGone): // dropped since the plan was made
		default:
			a.Log.Warn().Str("table", n.Table).Err(err).Msg("partition statistics not read; the table's own are taken")
		}
	}
}

// partitionsOf reads all the partitions of a table that are needed.
func (a *Analyzer) partitionsOf(ctx context.Context, n *advisor.TableNeed) (map[string]advisor.TableStats, error) {
	read := make(map[string]advisor.TableStats, len(n.Partitions))
	for _, name := range n.Partitions {
		p, err := a.Tables.Partition(ctx, n.Table, name, n.Columns)
		if err != nil {
			return nil, err
		}
		read[name] = p
	}
	return read, nil
}
