package movement

import (
	"slices"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// Rules about moving the rows of a join.
const (
	// BroadcastCostsMore: copying the small side to every node moves more than another way.
	BroadcastCostsMore advisor.FindingKind = "broadcast_costs_more"
	// RedistributionCostsMore: sending both sides by the key moves more than another way.
	RedistributionCostsMore advisor.FindingKind = "redistribution_costs_more"
	// BroadcastOverMemory: the copied side is more than a node should hash.
	BroadcastOverMemory advisor.FindingKind = "broadcast_over_memory"
	// WideRows: columns make the exchange large; without some of them the join could be broadcast.
	WideRows advisor.FindingKind = "wide_rows"
	// SkewRisk: one key brings much of a redistributed side to one node.
	SkewRisk advisor.FindingKind = "skew_risk"
	// BroadcastActualDwarfsEstimate: the copied side had ten times the rows the planner believed in.
	BroadcastActualDwarfsEstimate advisor.FindingKind = "broadcast_actual_dwarfs_estimate"
)

const (
	// worthBytes is the least that has to be saved, or be on one node, before a person is told.
	worthBytes = int64(1_000_000_000)
	// worthRatio is how many times the cheapest way the planned one has to move.
	worthRatio = 2
	// dwarfs is the q-error of a broadcast's estimate that is told.
	dwarfs = 10
)

// Find lists what is worth telling a person about how the joins of a query move their rows. The nodes are those of the settings, the
// ceiling is a third of a container's memory, in LLAP and where no container size is set the planner's budget.
func Find(q advisor.Query) []advisor.Finding { return FindMeasured(q, Measured{}) }

// FindMeasured is Find with counts from elsewhere.
func FindMeasured(q advisor.Query, m Measured) []advisor.Finding {
	f := finder{query: &q, measured: m, ceiling: ceiling(&q.Settings)}
	for i := range q.Verdicts {
		v := &q.Verdicts[i]
		if v.Join.Strategy == advisor.Unknown || v.Decision.Refused {
			continue
		}
		cost := Of(*v, q.Settings.Nodes, f.ceiling)
		if !cost.Known() {
			continue
		}
		f.actual(v)
		if f.uncounted(&v.Join) {
			continue // its sizes are made up
		}
		f.memory(v, &cost)
		f.broadcast(v, &cost)
		f.redistribution(v, &cost)
		f.wide(v, &cost)
		f.skew(v, &cost)
	}
	return f.list
}

// FindSkew lists the shuffles of which one node gets far more than its share, alone.
func FindSkew(q advisor.Query, m Measured) []advisor.Finding {
	return slices.DeleteFunc(FindMeasured(q, m), func(f advisor.Finding) bool { return f.Kind != SkewRisk })
}

type finder struct {
	query    *advisor.Query
	measured Measured
	ceiling  int64
	list     []advisor.Finding
}

func (f *finder) add(found advisor.Finding) { f.list = append(f.list, found) }

// ceiling is what a node should hash for one join, in bytes.
func ceiling(s *advisor.Settings) int64 {
	if !s.LLAP && s.ContainerMB > 0 {
		return s.ContainerMB << 20 / 3
	}
	return advisor.Budget(s)
}

// uncounted: nobody has counted the rows of a table below the join.
func (f *finder) uncounted(j *advisor.Join) bool {
	for pos := range j.Inputs {
		for _, table := range j.Inputs[pos].Tables {
			if t := f.query.Tables[table]; t.Uncounted() {
				return true
			}
		}
	}
	return false
}

// rows are the rows that really came into an input; −1 unknown.
func (f *finder) rows(j *advisor.Join, pos int) int64 {
	if rows, ok := f.measured.ActualRows[Place{Join: j.Ordinal, Input: pos}]; ok && rows >= 0 {
		return rows
	}
	return j.Inputs[pos].ActualRows()
}

// severity by what is saved.
func severity(bytes int64) advisor.Severity {
	switch {
	case bytes >= 1000*worthBytes:
		return advisor.High
	case bytes >= 100*worthBytes:
		return advisor.Medium
	}
	return advisor.Low
}

// evidence is what every finding about a cost holds.
func evidence(c *Cost) map[string]any {
	e := map[string]any{
		"small_bytes": c.Small, "large_bytes": c.Large, "hashed_bytes": c.Hashed, "break_even_nodes": c.BreakEven,
		"planned": c.Planned, "planned_bytes": c.PlannedBytes,
	}
	if c.Nodes > 0 {
		e["nodes"] = c.Nodes
	}
	if c.Ceiling > 0 {
		e["ceiling"] = c.Ceiling
	}
	if c.Cheapest != "" {
		e["cheapest"], e["cheapest_bytes"], e["ratio"] = c.Cheapest, c.Option(c.Cheapest).Bytes, c.Ratio
	}
	return e
}
