package movement

import (
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// actual tells of a broadcast side with many times the rows the planner believed in: the profile's sign of an estimate gone wrong.
func (f *finder) actual(v *advisor.JoinVerdict) {
	j := &v.Join
	if j.Strategy != advisor.MapJoin || j.BigTable < 0 {
		return
	}
	for pos := range j.Inputs {
		in := &j.Inputs[pos]
		rows := f.rows(j, pos)
		if pos == j.BigTable || rows < 0 || in.Rows < 0 || rows <= in.Rows || advisor.QError(in.Rows, rows) < dwarfs {
			continue
		}
		q := advisor.QError(in.Rows, rows)
		size := int64(min(q*float64(max(in.DataSize, 0)), 9e18))
		grade := advisor.Medium
		if size > f.ceiling {
			grade = advisor.High
		}
		e := map[string]any{"estimated_rows": in.Rows, "actual_rows": rows, "q_error": q, "estimated_bytes": in.DataSize, "actual_bytes": size, "ceiling": f.ceiling}
		summary := j.InputName(pos) + " was copied to every node as " + advisor.CountOf(in.Rows, "row") + " and had " + advisor.Grouped(rows) + ", " + ratio(q) +
			" times as many: about " + advisor.Bytes(size) + " on each node in place of " + advisor.Bytes(max(in.DataSize, 0))
		if n := f.query.Settings.Nodes; n > 0 {
			e["nodes"] = n
			summary += ", " + advisor.Bytes(times(size, n)) + " on all"
		}
		f.add(advisor.Finding{
			Kind: BroadcastActualDwarfsEstimate, Severity: grade, Subject: j.Subject(), Summary: summary, Evidence: e, Advice: analyzeTables(j, pos),
		})
	}
}

// analyzeTables is the ANALYZE of the tables an input comes from, of the columns it hands on.
func analyzeTables(j *advisor.Join, pos int) string {
	in := &j.Inputs[pos]
	var list []string
	for _, table := range in.Tables {
		var columns []string
		take := func(t, c string) {
			if t == table && c != "" && !slices.Contains(columns, c) {
				columns = append(columns, c)
			}
		}
		for _, k := range in.Keys {
			take(k.Table, k.Column)
		}
		for _, c := range in.Columns {
			take(c.Table, c.Column)
		}
		if text := advisor.AnalyzeTable(table, columns); text != "" {
			list = append(list, text)
		}
	}
	if len(list) == 0 { // EXPLAIN ANALYZE prints no tables
		return "-- ANALYZE TABLE … COMPUTE STATISTICS of the tables below " + j.InputName(pos) + ", then FOR COLUMNS"
	}
	return strings.Join(list, "\n")
}

// skew tells of a redistributed side of which one node gets far more than its share.
func (f *finder) skew(v *advisor.JoinVerdict, c *Cost) {
	if c.Planned != Redistribute || !keyed(&v.Join) {
		return
	}
	j := &v.Join
	var worst *Skew
	for _, s := range Skews(j, f.measured) {
		if s.heavy(c.Nodes) && !filteredAtRunTime(&j.Inputs[s.Input]) && (worst == nil || s.Bytes > worst.Bytes) {
			worst = &s
		}
	}
	if worst == nil {
		return
	}
	in := &j.Inputs[worst.Input]
	name := j.InputName(worst.Input)
	summary := ""
	advice := "-- the join type or the memory of a node lets no side be copied: join the heavy key apart from the others, and UNION ALL the results"
	switch worst.Cause {
	case CauseMeasured:
		summary = percent(worst.Share) + " of the rows of " + name + " have one key"
	case CauseNulls:
		summary = percent(worst.Share) + " of the rows of " + name + " have no key (" + advisor.Grouped(worst.Count) + " nulls), which the outer join keeps"
		advice = "-- they match nothing: join the rows WHERE " + keyName(in) + " IS NOT NULL, and UNION ALL those without"
	case CauseFewKeys:
		summary = name + " has " + advisor.CountOf(worst.Count, "distinct key") + ", so that one of them has at least " + percent(worst.Share) + " of its rows"
	}
	summary += ": " + advisor.Bytes(worst.Bytes) + " of the shuffle go to one node"
	if c.Nodes > 0 {
		summary += " of " + advisor.Grouped(c.Nodes) + ", where an even share is " + advisor.Bytes(in.DataSize/c.Nodes)
	}
	if b := c.Option(Broadcast); b.Allowed && worst.Input == c.Streamed && worst.Cause != CauseNulls {
		if change, ok := f.towards(v, c, Broadcast); ok {
			advice = change.text()
			summary += "; with " + f.smallNames(v, c) + " copied to every node " + name + " need not move"
		}
	}
	e := with(with(with(evidence(c), "share", worst.Share), "heavy_bytes", worst.Bytes), "cause", worst.Cause)
	grade := advisor.Low
	if worst.Cause != CauseFewKeys && worst.Bytes >= 100*worthBytes {
		grade = advisor.Medium
	}
	f.add(advisor.Finding{Kind: SkewRisk, Severity: grade, Subject: j.Subject(), Summary: summary, Evidence: e, Advice: advice})
}

func keyName(in *advisor.Input) string {
	if len(in.Keys) > 0 && in.Keys[0].Column != "" {
		return in.Keys[0].Column
	}
	return "the key"
}
