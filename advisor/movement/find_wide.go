package movement

import (
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// wide tells of columns that make an exchange large: those nothing reads, or those without which the small side could be copied.
func (f *finder) wide(v *advisor.JoinVerdict, c *Cost) {
	if !f.deadWeight(v, c) {
		f.projected(v, c)
	}
}

// deadWeight tells of columns that cross the exchange and are not used above it.
func (f *finder) deadWeight(v *advisor.JoinVerdict, c *Cost) bool {
	j := &v.Join
	for pos := range j.Inputs {
		in := &j.Inputs[pos]
		copies := int64(1)
		if c.Planned == Broadcast {
			copies = max(c.Nodes, 1)
		}
		if c.Planned == CoLocated || (c.Planned == Broadcast || c.Planned == SingleSided) && pos == j.BigTable {
			continue // it does not move
		}
		if filteredAtRunTime(in) {
			continue
		}
		w := WidthOf(in, f.query.Tables)
		var names []string
		var bytes int64
		for _, column := range w.Columns {
			if column.Unused && !column.Computed {
				names = append(names, column.Name)
				bytes = add(bytes, times(times(column.Bytes, in.Rows), copies))
			}
		}
		if bytes < worthBytes {
			continue
		}
		f.add(advisor.Finding{
			Kind: WideRows, Severity: severity(bytes), Subject: j.Subject(),
			Summary:  j.InputName(pos) + " sends " + strings.Join(names, ", ") + " into the join, which nothing above it reads: " + advisor.Bytes(bytes) + " of what moves",
			Evidence: with(with(with(evidence(c), "bytes_per_row", w.PerRow), "without", names), "unused_bytes", bytes),
			Advice:   "-- leave " + strings.Join(names, ", ") + " out below the join",
		})
		return true
	}
	return false
}

// leastNarrowed is the size in bytes of a side worth leaving columns out of; a smaller one fits a budget that is raised a little.
const leastNarrowed = int64(1_000_000)

// projected tells of the columns without which the small side of a shuffle could be copied to every node.
func (f *finder) projected(v *advisor.JoinVerdict, c *Cost) {
	j := &v.Join
	if c.Planned != Redistribute || !keyed(j) || len(j.Inputs) != 2 || !j.MayStream(c.Streamed) || uncertain(j, -1) || c.Nodes < 1 || c.Ceiling <= 0 || c.Hashed <= c.Ceiling {
		return
	}
	small := 1 - c.Streamed
	in := &j.Inputs[small]
	if in.DataSize < leastNarrowed || in.ColumnStats != "" && !strings.EqualFold(in.ColumnStats, "COMPLETE") {
		return
	}
	w := WidthOf(in, f.query.Tables)
	p, fits := projection(in, &w, c.Ceiling-max(c.Hashed-in.DataSize, 0)) // the table's own slots do not shrink with the rows
	moved := add(c.Small, c.Large)
	then := times(p.Bytes, copies(c.Nodes, c.Readers))
	if !fits || p.Bytes > in.DataSize/2 || then > moved/worthRatio || moved-then < worthBytes {
		return
	}
	change, ok := f.afterProjection(v, c, small, p)
	if !ok {
		return
	}
	advice := "-- leave " + strings.Join(p.Columns, ", ") + " out below the join, or read them afterwards" + byKey(in, j.InputName(small))
	if len(change.statements) > 0 {
		advice += "\n" + change.text()
	}
	f.add(advisor.Finding{
		Kind: WideRows, Severity: advisor.Low, Subject: j.Subject(),
		Summary: j.InputName(small) + " brings " + advisor.Bytes(w.PerRow) + " a row into the join, " + advisor.Bytes(w.Keys) + " of them its keys; without " +
			strings.Join(p.Columns, ", ") + " it is " + advisor.Bytes(p.Bytes) + " in place of " + advisor.Bytes(in.DataSize) + ", within the " +
			advisor.Bytes(c.Ceiling) + " of a node, and could be copied in place of sending " + advisor.Bytes(moved) + " by the key",
		Evidence: with(with(with(with(evidence(c), "bytes_per_row", w.PerRow), "key_bytes", w.Keys), "without", p.Columns), "small_bytes_then", p.Bytes),
		Advice:   advice,
	})
}

// byKey says by what columns an input is joined once more: by the key of the join only where that finds one row of it.
func byKey(in *advisor.Input, name string) string {
	if len(in.Keys) == 1 && in.Keys[0].NDV != nil && *in.Keys[0].NDV >= in.Rows {
		return " by the key, of which it has one row each"
	}
	return ", by columns that are unique in " + name
}

// afterProjection asks the rules about the join without the columns, under the settings as they are and with a budget for what is left.
func (f *finder) afterProjection(v *advisor.JoinVerdict, c *Cost, pos int, p Projection) (change, bool) {
	narrow := v.Join
	narrow.Inputs = slices.Clone(narrow.Inputs)
	in := &narrow.Inputs[pos]
	in.DataSize, in.OnlineDataSize = p.Bytes, nil
	in.Columns = slices.DeleteFunc(slices.Clone(in.Columns), func(column advisor.Column) bool {
		return slices.Contains(p.Columns, columnName(&column)) && !isKey(in, &column)
	})
	mapJoin := func(s advisor.Strategy) bool { return s == advisor.MapJoin }
	if got, ok := f.try(&narrow, mapJoin); ok {
		return got, true
	}
	sizes := advisor.Explain(narrow, f.query.Settings).OnlineDataSizes
	if pos >= len(sizes) || sizes[pos] > c.Ceiling {
		return change{}, false
	}
	size := advisor.Headroom(sizes[pos])
	got, ok := f.try(&narrow, mapJoin, budget(size))
	got.note = f.backing(size)
	return got, ok
}
