package dynamicfilter

import (
	"math"
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// expect fills the rows of the scan and those expected to be removed.
func (f *Filter) expect(q *advisor.Query) {
	scan := f.scan.Operator
	f.ScanRows = rowsOf(scan)
	f.Rows = f.ScanRows
	if filter := f.filter(); filter != nil {
		f.Rows = rowsOf(filter)
	}
	least := 1.0
	for i, k := range f.Keys {
		p, c := f.producerNDV(q, k), f.consumerNDV(q, i)
		if madeUp(q, f.Table, f.Columns[i]) || madeUp(q, f.producer.Keys[k].Table, f.producer.Keys[k].Column) || uncounted(q, f.producer) {
			continue
		}
		if f.Kind == Pruning {
			if n := f.partitions(q, f.Columns[i]); n > 0 {
				f.Partitions, c = n, n
			}
		}
		if p < 0 || c <= 0 {
			continue
		}
		if kept := math.Min(1, float64(p)/float64(c)); f.ProducerNDV < 0 || kept < least {
			least, f.ProducerNDV, f.ConsumerNDV = kept, p, c
		}
	}
	if f.ProducerNDV < 0 {
		return
	}
	if f.Rows >= 0 {
		f.Removed = int64(math.Round(float64(f.Rows) * (1 - least)))
	}
	if f.Partitions > 0 {
		f.PartitionsLeft = int64(math.Ceil(float64(f.Partitions) * least))
	}
}

// madeUp: the column was asked for and has no statistics, so that the planner takes a share of the rows for its distinct values
// (hive.stats.ndv.estimate.percent), or all of them.
func madeUp(q *advisor.Query, table, column string) bool {
	t, read := q.Tables[table]
	if !read || column == "" || !slices.Contains(t.ColumnsRead, strings.ToLower(column)) || len(t.PartitionColumns) > 0 {
		return false
	}
	return t.Columns[strings.ToLower(column)].NDV == nil
}

// uncounted: nobody has counted the rows of a table below the input.
func uncounted(q *advisor.Query, in *advisor.Input) bool {
	return slices.ContainsFunc(in.Tables, func(table string) bool { t := q.Tables[table]; return t.Uncounted() })
}

// filter is the operator whose rows Hive weighs a semijoin with: the one right above the scan.
func (f *Filter) filter() *explain.Operator {
	for _, c := range f.scan.Operator.Children {
		if c.Kind == "Filter Operator" {
			return c
		}
	}
	return nil
}

func rowsOf(o *explain.Operator) int64 {
	if o.Stats == nil {
		return -1
	}
	return o.Stats.Rows
}

func known(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

// consumerNDV are the distinct values of a consumer's column behind its own filters: those of the join's input where nothing but the scan
// lies below it, else the table's in proportion to the rows left.
func (f *Filter) consumerNDV(q *advisor.Query, i int) int64 {
	if key := &f.consumer.Keys[f.Keys[i]]; !f.consumer.OverJoin && len(f.consumer.Tables) == 1 && !notCounted(key.Type) {
		if n := known(key.NDV); n >= 0 {
			return n
		}
	}
	n := known(q.Tables[f.Table].Columns[strings.ToLower(f.Columns[i])].NDV)
	if n > 0 && f.ScanRows > 0 && f.Rows >= 0 && f.Rows < f.ScanRows {
		n = max(int64(math.Ceil(float64(n)*float64(f.Rows)/float64(f.ScanRows))), 1)
	}
	return n
}

// producerNDV are the distinct keys of the producer as the planner has them; for types it does not count, the table's, at most one a row.
func (f *Filter) producerNDV(q *advisor.Query, k int) int64 {
	key := &f.producer.Keys[k]
	if !notCounted(key.Type) {
		return known(key.NDV)
	}
	n := known(q.Tables[key.Table].Columns[strings.ToLower(key.Column)].NDV)
	if n > 0 && f.producer.Rows >= 0 {
		n = min(n, f.producer.Rows)
	}
	return n
}

// partitions counts the values of a partition column that the scan reads: from the partitions the plan lists, else the metastore's number
// of partitions where there is one partition column. 0 unknown.
func (f *Filter) partitions(q *advisor.Query, column string) int64 {
	var seen []string
	if v := f.scan.Operator.Vertex; v != nil {
		for i := range v.Sources {
			s := &v.Sources[i]
			if !strings.EqualFold(s.Table, f.Table) || !slices.Contains(s.Aliases, f.Alias) && len(s.Aliases) > 0 {
				continue
			}
			if value, ok := partitionValue(s.Partition, column); ok && !slices.Contains(seen, value) {
				seen = append(seen, value)
			}
		}
	}
	if len(seen) > 0 {
		return int64(len(seen))
	}
	if t := q.Tables[f.Table]; len(t.PartitionColumns) == 1 && t.PartitionsNum != nil {
		return *t.PartitionsNum
	}
	return 0
}

// partitionValue reads a column's value of "ds=2024-01-01/hr=3".
func partitionValue(partition, column string) (string, bool) {
	for part := range strings.SplitSeq(partition, "/") {
		if name, value, ok := strings.Cut(part, "="); ok && strings.EqualFold(name, column) {
			return value, true
		}
	}
	return "", false
}
