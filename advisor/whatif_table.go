package advisor

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// TableChange is a change to one table. What is nil or zero stays.
type TableChange struct {
	// Rows and Bytes are the table's, as the planner is to see them. Bytes are its data size (rawDataSize), not what the files take; a
	// change of one alone leaves the other: rows alone keep the width of a row, bytes alone the number of rows.
	Rows, Bytes *Amount
	// NDV and Nulls are by column, in lower case.
	NDV, Nulls map[string]int64
	// Buckets is another bucketing.
	Buckets *Bucketing
}

// Amount is a number, or the factor of what is there: then Factor is above 0 and Number is not looked at.
type Amount struct {
	Number int64
	Factor float64
}

// Bucketing is CLUSTERED BY Columns SORTED BY Sort INTO Count BUCKETS, names in lower case. A Count of 0 takes the buckets away.
type Bucketing struct {
	Columns, Sort []string
	Count         int
}

// TableSize is what the planner believes of a table; −1 unknown.
type TableSize struct {
	Rows, Bytes int64
}

// factor is the new amount over the old one.
func (a *Amount) factor(was int64) (float64, bool) {
	switch {
	case a.Factor > 0:
		return a.Factor, true
	case was <= 0:
		return 0, false
	}
	// Nothing is left of an emptied table but the one row the planner keeps.
	f := float64(max(a.Number, 0)) / float64(was)
	return max(f, 1/float64(was)), true
}

// Sizes are the factors of a change for given tables. The error names a table whose numbers are not known and no factor was given for.
func (w *WhatIf) Sizes(tables map[string]TableSize) (Growth, error) {
	g := Growth{rows: map[string]float64{}, bytes: map[string]float64{}, base: tables}
	names := make([]string, 0, len(w.Tables))
	for name := range w.Tables {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		change := w.Tables[name]
		was, ok := tables[name]
		if !ok {
			was = TableSize{Rows: -1, Bytes: -1}
		}
		if change.Rows != nil {
			f, ok := change.Rows.factor(was.Rows)
			if !ok {
				return Growth{}, fmt.Errorf("the rows of %s are not known: give a factor, such as rows=2x", name)
			}
			g.rows[name], g.bytes[name] = f, f
		}
		if change.Bytes != nil {
			f, ok := change.Bytes.factor(was.Bytes)
			if !ok {
				return Growth{}, fmt.Errorf("the bytes of %s are not known: give a factor, such as bytes=2x", name)
			}
			g.bytes[name], g.apart = f, true
		}
	}
	return g, nil
}

// Growth holds what Sizes found: by how much each table grows.
type Growth struct {
	rows, bytes map[string]float64
	base        map[string]TableSize
	// apart: bytes do not simply grow with the rows.
	apart bool
}

// Join is the join after the changes to tables, and whether they touch it. The join given is not changed.
func (w *WhatIf) Join(j *Join, g *Growth) (*Join, bool) {
	if !w.Reads(j) {
		return j, false
	}
	after, changed := Resize(*j, g.rows)
	sized, wider := after, changed
	if g.apart {
		sized, wider = Resize(*j, g.bytes)
	}
	if !changed {
		after.Inputs = slices.Clone(j.Inputs)
	}
	for pos := range after.Inputs {
		in := &after.Inputs[pos]
		if changed || wider {
			in.DataSize = sized.Inputs[pos].DataSize
			in.OnlineDataSize = nil
		}
		if len(in.Tables) == 1 {
			w.oneTable(in, in.Tables[0], g)
		}
		w.columns(in, g)
	}
	return &after, true
}

// Reads tells whether a join reads a table that the change is about.
func (w *WhatIf) Reads(j *Join) bool {
	if len(w.Tables) == 0 {
		return false
	}
	for i := range j.Inputs {
		for _, table := range j.Inputs[i].Tables {
			if _, ok := w.Tables[table]; ok {
				return true
			}
		}
	}
	return false
}

// oneTable changes what only an input over one table has: the bytes on disk, which grow with the data, and the buckets.
func (w *WhatIf) oneTable(in *Input, table string, g *Growth) {
	change, ok := w.Tables[table]
	if !ok {
		return
	}
	if f, ok := g.bytes[table]; ok && in.Layout.TotalSize > 0 {
		in.Layout.TotalSize = toInt(math.Round(float64(in.Layout.TotalSize) * f))
	}
	if change.Buckets != nil {
		change.Buckets.lay(in, table)
	}
}

// lay gives the input the layout that survives of the table's buckets (OpTraitsRulesProcFactory): a shuffle or a GROUP BY below ends it, a
// projection when it drops a bucket column.
func (b *Bucketing) lay(in *Input, table string) {
	l := &in.Layout
	if l.Shuffled || in.GroupBys > 0 || in.OverJoin || l.Buckets < 0 {
		return
	}
	l.BucketColumns, l.SortColumns, l.Buckets = nil, nil, 0
	if b.Count <= 0 {
		return
	}
	for _, column := range b.Columns {
		if !carries(in, table, column) {
			return
		}
	}
	l.BucketColumns, l.SortColumns, l.Buckets, l.BucketingVersion = b.Columns, b.Sort, b.Count, 2
}

// carries: the input brings a table's column to the join as it is.
func carries(in *Input, table, column string) bool {
	for i := range in.Keys {
		if in.Keys[i].Table == table && strings.EqualFold(in.Keys[i].Column, column) {
			return true
		}
	}
	for i := range in.Columns {
		c := &in.Columns[i]
		if c.Table == table && strings.EqualFold(c.Column, column) && !c.NotCarried {
			return true
		}
	}
	return false
}

// columns puts the new column statistics in: distinct values up to the rows left, nulls by the share of rows left.
func (w *WhatIf) columns(in *Input, g *Growth) {
	keys, columns := false, false
	for i := range in.Keys {
		k := &in.Keys[i]
		ndv, ok := w.Tables[k.Table].NDV[strings.ToLower(k.Column)]
		if !ok || k.Column == "" {
			continue
		}
		if !keys {
			in.Keys, keys = slices.Clone(in.Keys), true
			k = &in.Keys[i]
		}
		if in.Rows >= 0 {
			ndv = min(ndv, max(in.Rows, 1))
		}
		k.NDV = &ndv
	}
	for i := range in.Columns {
		c := &in.Columns[i]
		change := w.Tables[c.Table]
		name := strings.ToLower(c.Column)
		_, known := change.NDV[name]
		nulls, counted := change.Nulls[name]
		if c.Column == "" || !known && !counted {
			continue
		}
		if !columns {
			in.Columns, columns = slices.Clone(in.Columns), true
			c = &in.Columns[i]
		}
		c.HasStats, c.Estimated = true, false
		if counted {
			c.Nulls = scaledNulls(&nulls, g.rowsOf(c.Table), in.Rows)
		}
	}
}

// rowsOf are a table's rows after the change; nil unknown.
func (g *Growth) rowsOf(table string) *int64 {
	was, ok := g.base[table]
	if !ok || was.Rows < 0 {
		return nil
	}
	n := was.Rows
	if f, ok := g.rows[table]; ok {
		n = toInt(math.Round(float64(n) * f))
	}
	return &n
}
