package movement

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// Width is how wide the rows of one input are.
type Width struct {
	// PerRow is the planner's bytes per row; Keys are those of the join's keys.
	PerRow int64
	Keys   int64
	// Columns are what crosses the exchange besides the keys, widest first.
	Columns []ColumnWidth
}

// ColumnWidth is one carried column.
type ColumnWidth struct {
	Name string
	// Computed: it is an expression, which has no name that the query's reader knows.
	Computed bool
	Bytes    int64
	// Unused: nothing above the join reads it.
	Unused bool
}

// WidthOf measures an input's rows by the planner's sizes of values; tables give the average length of texts. The zero Width: unknown.
func WidthOf(in *advisor.Input, tables map[string]advisor.TableStats) Width {
	if in.Rows <= 0 || in.DataSize <= 0 {
		return Width{}
	}
	w := Width{PerRow: in.DataSize / in.Rows}
	unused := in.Unused()
	for _, c := range in.Columns {
		bytes, known := advisor.ValueSize(c.Type, averageLength(tables, c.Table, c.Column))
		switch {
		case c.NotCarried || !known:
		case isKey(in, &c):
			w.Keys += bytes
		default:
			w.Columns = append(w.Columns, ColumnWidth{Name: columnName(&c), Computed: c.Column == "", Bytes: bytes, Unused: slices.Contains(unused, c.Name)})
		}
	}
	if total := w.Keys + w.carried(); total > w.PerRow+w.PerRow/2 || total < w.PerRow/2 {
		return Width{PerRow: w.PerRow, Keys: w.Keys} // these columns are not what the planner has measured
	}
	slices.SortStableFunc(w.Columns, func(a, b ColumnWidth) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return w
}

func (w *Width) carried() int64 {
	var sum int64
	for _, c := range w.Columns {
		sum += c.Bytes
	}
	return sum
}

// averageLength is a column's average length; −1 unknown.
func averageLength(tables map[string]advisor.TableStats, table, column string) float64 {
	if st, ok := tables[table].Columns[strings.ToLower(column)]; ok && st.AvgLen != nil {
		return *st.AvgLen
	}
	return -1
}

func isKey(in *advisor.Input, c *advisor.Column) bool {
	return slices.ContainsFunc(in.Keys, func(k advisor.Key) bool {
		return k.Expr == c.Name || k.Column != "" && k.Column == c.Column && k.Table == c.Table
	})
}

func columnName(c *advisor.Column) string {
	if c.Column != "" {
		return c.Column
	}
	return c.Name
}

// Projection is the fewest columns, widest first, without which an input would be small enough.
type Projection struct {
	Columns []string
	// Bytes is the input's size without them.
	Bytes int64
}

// projection drops the widest columns of an input until it is at most limit bytes; false when even the keys alone are more. The columns
// have the share of the rows' measured width that they have of the width by their types: nulls make the rows narrower than that.
func projection(in *advisor.Input, w *Width, limit int64) (Projection, bool) {
	p := Projection{Bytes: in.DataSize}
	whole := w.Keys + w.carried()
	if whole <= 0 {
		return p, false
	}
	left := whole
	for _, c := range w.Columns {
		if p.Bytes <= limit {
			break
		}
		if c.Computed {
			continue
		}
		p.Columns = append(p.Columns, c.Name)
		left -= c.Bytes
		p.Bytes = int64(float64(in.DataSize) * float64(left) / float64(whole))
	}
	return p, p.Bytes <= limit && p.Bytes > 0
}
