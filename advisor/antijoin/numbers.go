package antijoin

import (
	"math"
	"strconv"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// numbers of a join that looks rows up. Rows and bytes are the planner's estimates; −1: not known.
type numbers struct {
	// rows of the side looked up, moved those of them that reach the join, keys the distinct ones.
	rows, moved, keys int64
	// hashed: the side is held in memory, in table bytes by an outer join, in set bytes by an anti join. One of the two is
	// the planner's formula over the plan, the other that one scaled by rows over distinct keys.
	hashed     bool
	table, set int64
	vectorized bool
	// uncounted: a table of the side has files and no rows by the metastore.
	uncounted bool
}

func (j *joined) numbers(q *advisor.Query) numbers {
	in := &j.verdict.Join.Inputs[j.right]
	n := numbers{rows: in.Rows, moved: in.Rows, keys: distinct(in), table: -1, set: -1}
	if all, ok := deduplicated(q, in.Vertex, len(in.Keys)); ok && all >= in.Rows {
		n.rows, n.keys = all, in.Rows
	}
	switch j.verdict.Join.Strategy {
	case advisor.MapJoin, advisor.BucketMapJoin, advisor.DPHJ:
		n.hashed = true
	case advisor.SMB, advisor.MergeJoin, advisor.Unknown:
	}
	if sizes := j.verdict.Decision.OnlineDataSizes; n.hashed && j.right < len(sizes) && sizes[j.right] > 0 && n.moved > 0 {
		if j.typ == advisor.Anti {
			n.set, n.table = sizes[j.right], scale(sizes[j.right], n.rows, n.moved)
		} else {
			n.table = sizes[j.right]
			if n.keys > 0 {
				n.set = scale(n.table, n.keys, n.moved)
			}
		}
	}
	if j.operator != nil && j.operator.Vertex != nil {
		n.vectorized = hasWord(j.operator.Vertex.ExecutionMode, "vectorized")
	}
	for _, table := range in.Tables {
		t := q.Tables[table]
		n.uncounted = n.uncounted || t.Uncounted()
	}
	if n.uncounted {
		n.rows, n.moved, n.keys, n.table, n.set = -1, -1, -1, -1, -1
	}
	return n
}

// distinct is the number of distinct keys of an input: the product of the columns' over its rows at most; −1 when a key's is
// not known.
func distinct(in *advisor.Input) int64 {
	if len(in.Keys) == 0 || in.Rows < 0 {
		return -1
	}
	product := 1.0
	for i := range in.Keys {
		if in.Keys[i].NDV == nil || *in.Keys[i].NDV <= 0 {
			return -1
		}
		product *= float64(*in.Keys[i].NDV)
	}
	if product >= float64(in.Rows) {
		return in.Rows
	}
	return int64(product)
}

func scale(n, by, over int64) int64 {
	f := float64(n) / float64(over) * float64(by)
	if f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(f)
}

// evidence has what is known of the numbers.
func (n *numbers) evidence(j *joined) map[string]any {
	e := map[string]any{"join_type": j.typ, "strategy": j.verdict.Join.Strategy, "vertex": j.verdict.Join.Vertex}
	if id := j.verdict.Join.OperatorID; id != "" {
		e["operator_id"] = id
	}
	put := func(name string, v int64) {
		if v >= 0 {
			e[name] = v
		}
	}
	put("right_rows", n.rows)
	put("rows_moved", n.moved)
	put("distinct_keys", n.keys)
	put("left_rows", j.verdict.Join.Inputs[j.left].Rows)
	put("hash_table_bytes", n.table)
	put("hash_set_bytes", n.set)
	return e
}

// grouped writes a number with thousands separated: 21,000,000.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// rows writes a number of rows.
func rows(n int64) string { return counted(n, "row") }

// counted writes a number with its noun: "1 row", "21,000,000 rows".
func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

// human writes bytes in decimal units: "2.4 GB".
func human(n int64) string {
	value, unit := float64(n), 0
	units := [...]string{"B", "KB", "MB", "GB", "TB", "PB", "EB"}
	for value >= 999.95 && unit < len(units)-1 {
		value /= 1000
		unit++
	}
	text := strconv.FormatFloat(value, 'f', 1, 64)
	if text[len(text)-2:] == ".0" {
		text = text[:len(text)-2]
	}
	return text + " " + units[unit]
}
