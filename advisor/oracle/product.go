package oracle

import (
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// Joins are the case's joins as the product reads them: the plan's text, then what the metastore says. The error is the plan's.
func (c *Case) Joins() ([]advisor.Join, advisor.Settings, error) {
	s := advisor.NewSettings(c.Settings)
	joins, err := c.PlanJoins()
	if err == nil {
		advisor.EnrichFor(joins, c.Stats(joins), &s)
	}
	return joins, s, err
}

// PlanJoins are the joins as the plan's text alone tells them.
func (c *Case) PlanJoins() ([]advisor.Join, error) {
	p, err := explain.Parse(c.Extended)
	if err != nil {
		return nil, err
	}
	return advisor.Joins(p), nil
}

// Stats are what DESCRIBE FORMATTED gives for the tables and partitions of the joins, under the names that the plan uses.
func (c *Case) Stats(joins []advisor.Join) map[string]advisor.TableStats {
	out := map[string]advisor.TableStats{}
	for _, j := range joins {
		for _, in := range j.Inputs {
			for _, full := range in.Tables {
				if t, ok := c.Tables[full[strings.IndexByte(full, '.')+1:]]; ok {
					t.describe(full, out)
				}
			}
		}
	}
	return out
}

func (t *Table) describe(full string, out map[string]advisor.TableStats) {
	s := advisor.TableStats{
		Table: full, Kind: t.Kind, BucketColumns: t.BucketColumns, Buckets: t.Buckets, SortColumns: t.SortColumns,
		ColumnTypes: t.Columns, TotalSize: number(t.Params["totalSize"]), Rows: number(t.Params["numRows"]),
	}
	for _, p := range t.PartCols {
		s.PartitionColumns = append(s.PartitionColumns, p.Name)
	}
	for _, col := range t.Columns {
		s.ColumnsRead = append(s.ColumnsRead, col.Name)
	}
	s.Columns = columns(t.Stats)
	out[full] = s
	for value, p := range t.Partitions {
		ps := s
		ps.Partition = value
		if len(t.PartCols) == 1 {
			ps.Partition = t.PartCols[0].Name + "=" + value
		}
		ps.Columns = columns(p.Stats)
		ps.TotalSize, ps.Rows = number(p.Params["totalSize"]), number(p.Params["numRows"])
		out[full+"/"+ps.Partition] = ps
	}
}

func columns(from map[string]Column) map[string]advisor.ColumnStats {
	out := map[string]advisor.ColumnStats{}
	for name, c := range from {
		out[name] = advisor.ColumnStats{NDV: c.NDV, Nulls: c.Nulls, AvgLen: c.AvgLen, Trues: c.Trues, Falses: c.Falses, Low: bound(c.Low), High: bound(c.High)}
	}
	return out
}

// bound is the text of a column's lowest or highest value; empty for none.
func bound(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return ""
}

// number is a parameter's count, written as text or as a number; nil for none.
func number(v any) *int64 {
	switch v := v.(type) {
	case float64:
		return new(int64(v))
	case string:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil && n >= 0 {
			return &n
		}
	}
	return nil
}
