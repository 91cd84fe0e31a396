package advisor

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// counterOfRows begins the name of the counter that an operator keeps of the rows it puts out; its identifier follows
// (Operator.Counter.RECORDS_OUT_OPERATOR).
const counterOfRows = "RECORDS_OUT_OPERATOR_"

// OperatorRows are rows that operators put out, by Hive's operator identifier ("MAPJOIN_25").
type OperatorRows map[string]int64

// ParseOperatorRows reads the counters in a text: an operation log, or lines of one, such as
// "INFO  :    RECORDS_OUT_OPERATOR_TS_0: 25". TezTask writes them when a DAG has ended. Of an operator that is told twice the last
// number counts: a log read again, or a query that was run again. Nil without any.
//
// The figures that each task logs by itself ("RECORDS_OUT_OPERATOR_TS_0:1, ", Operator.logStats) are none of them: they are parts.
func ParseOperatorRows(log string) OperatorRows {
	var rows OperatorRows
	for line := range strings.Lines(log) {
		_, counter, ok := strings.Cut(line, counterOfRows)
		if !ok {
			continue
		}
		id, number, ok := strings.Cut(counter, ": ")
		n, err := strconv.ParseInt(strings.TrimRight(number, "\r\n"), 10, 64)
		if !ok || !operatorID(id) || err != nil || n < 0 {
			continue
		}
		if rows == nil {
			rows = OperatorRows{}
		}
		rows[id] = n
	}
	return rows
}

// operatorID tells an identifier such as "MAPJOIN_25": a name, "_" and a number.
func operatorID(s string) bool {
	i := strings.LastIndexByte(s, '_')
	if i <= 0 || i+1 == len(s) || strings.ContainsAny(s, " ,:") {
		return false
	}
	_, err := strconv.ParseUint(s[i+1:], 10, 31)
	return err == nil
}

// Annotate notes the counted rows in the plan's statistics, as EXPLAIN ANALYZE prints them, and reports how many operators were
// counted. Only plans that print operators' identifiers have any: user-level ones and FORMATTED.
func (r OperatorRows) Annotate(p *explain.Plan) int {
	n := 0
	eachOperator(p, func(o *explain.Operator) {
		rows, ok := r[o.ID]
		if ok && o.ID != "" && o.Stats != nil {
			o.Stats.ActualRows = rows
			n++
		}
	})
	return n
}

// OperatorActual is one operator's estimate beside the rows it really put out.
type OperatorActual struct {
	// ID is Hive's identifier; "#1" and so on, by place, where the plan prints none.
	ID string `json:"id"`
	// Kind as plans print it ("Map Join Operator"); Vertex is its name, "Map 1".
	Kind   string `json:"kind"`
	Vertex string `json:"vertex"`
	// Estimated and Actual are rows.
	Estimated int64 `json:"estimated"`
	Actual    int64 `json:"actual"`
}

// QError is how far the estimate is off.
func (a *OperatorActual) QError() float64 { return QError(a.Estimated, a.Actual) }

// QError is how far an estimate is off, as a factor of at least 1: the larger of estimate over truth and truth over estimate, with
// none taken for one (the planner never estimates less).
func QError(estimated, actual int64) float64 {
	e, a := float64(max(estimated, 1)), float64(max(actual, 1))
	return max(e/a, a/e)
}

// OperatorActuals lists the operators of a plan with both numbers, by identifier: of one by EXPLAIN ANALYZE, or annotated.
func OperatorActuals(p *explain.Plan) []OperatorActual {
	var list []OperatorActual
	place := 0
	eachOperator(p, func(o *explain.Operator) {
		place++
		if o.Stats == nil || o.Stats.Rows < 0 || o.Stats.ActualRows < 0 {
			return
		}
		a := OperatorActual{ID: o.ID, Kind: o.Kind, Estimated: o.Stats.Rows, Actual: o.Stats.ActualRows}
		if a.ID == "" {
			a.ID = "#" + strconv.Itoa(place)
		}
		if o.Vertex != nil {
			a.Vertex = o.Vertex.Name
		}
		list = append(list, a)
	})
	slices.SortStableFunc(list, func(a, b OperatorActual) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(list, func(a, b OperatorActual) bool { return a.ID == b.ID })
}

// eachOperator visits each operator of a plan once.
func eachOperator(p *explain.Plan, visit func(*explain.Operator)) {
	seen := map[*explain.Operator]bool{}
	var walk func(o *explain.Operator)
	walk = func(o *explain.Operator) {
		if seen[o] {
			return
		}
		seen[o] = true
		visit(o)
		for _, c := range o.Children {
			walk(c)
		}
		for _, in := range o.Inputs {
			walk(in)
		}
	}
	for _, s := range p.Stages {
		for _, v := range s.Vertices {
			for _, o := range v.Roots {
				walk(o)
			}
		}
	}
}

// WrittenRows is the planner's estimate of the rows that the statement writes into its table, −1 where the plan does not tell or there
// are several writers. EXPLAIN EXTENDED marks them: only the File Output Operators of a table's rows gather its statistics.
func WrittenRows(p *explain.Plan) int64 {
	rows, writers := int64(-1), 0
	eachOperator(p, func(o *explain.Operator) {
		if o.Kind != "File Output Operator" || o.Stats == nil {
			return
		}
		if gathers, _ := o.Attr("GatherStats"); gathers == "true" {
			rows, writers = o.Stats.Rows, writers+1
		}
	})
	if writers != 1 {
		return -1
	}
	return rows
}

// OperatorIDs are the identifiers that a plan prints.
func OperatorIDs(p *explain.Plan) map[string]bool {
	ids := map[string]bool{}
	eachOperator(p, func(o *explain.Operator) {
		if o.ID != "" {
			ids[o.ID] = true
		}
	})
	return ids
}
