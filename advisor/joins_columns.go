package advisor

import (
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// column is a column of an operator's output, with the base column it is, when it is one.
type column struct {
	name, typ     string
	table, column string
	// index is the column's place in the operator's schema before pruning; −1 when the text does not tell.
	index int
	// scanned is the number of columns of the table, where a join's input is a scan without a projection.
	scanned int
}

// maxTrace bounds how far a column is followed; no plan is that deep.
const maxTrace = 2000

// outputs are the columns an operator hands on, in the order of its schema. A scan's are those of its table where the
// plan prints its properties; nil means unknown.
func (f *flow) outputs(o *explain.Operator) []column {
	if o == nil {
		return nil
	}
	if cols, ok := f.columns[o]; ok {
		return cols
	}
	if f.busy[o] || len(f.busy) > maxTrace {
		return nil
	}
	f.busy[o] = true
	cols := f.readOutputs(o)
	delete(f.busy, o)
	f.columns[o] = cols
	return cols
}

func (f *flow) readOutputs(o *explain.Operator) []column {
	names := outputNames(o)
	switch {
	case o.Kind == kindTableScan:
		return scanColumns(o)
	case isJoin(o):
		cols, _ := f.joinOutputs(o, names)
		return cols
	case o.Kind == kindSelect:
		list, ok := o.Attr("expressions")
		if !ok && len(names) == 0 {
			return f.outputs(f.producer(o))
		}
		return f.computed(o, names, explain.Exprs(list))
	case o.Kind == kindGroupBy:
		keys, _ := o.Attr("keys")
		aggregations, _ := o.Attr("aggregations")
		exprs := append(explain.Exprs(keys), explain.Exprs(strings.Trim(aggregations, "[]"))...)
		return f.computed(o, names, exprs)
	case isReduceSink(o):
		return f.outputs(f.producer(o))
	case o.Kind == kindLateralJoin:
		return f.lateralOutputs(o, names)
	case len(names) > 0 && (strings.HasPrefix(o.Kind, "Lateral View") || strings.HasPrefix(o.Kind, "UDTF")):
		return f.computed(o, names, nil)
	}
	return f.outputs(f.producer(o)) // filters, limits, unions and the like hand on what they get
}

func isReduceSink(o *explain.Operator) bool {
	return o.Kind == kindReduceSink || o.Kind == kindHashSink || strings.HasPrefix(o.ID, "RS_")
}

func outputNames(o *explain.Operator) []string {
	if v, ok := o.Attr("outputColumnNames"); ok {
		return explain.Names(v)
	}
	v, _ := o.Attr("Output")
	return explain.Names(v)
}

// computed pairs output names with expressions; an expression that is a column is followed to its base column.
func (f *flow) computed(o *explain.Operator, names []string, exprs []explain.Expr) []column {
	cols := make([]column, 0, len(names))
	for i, name := range names {
		c := column{name: name, index: columnIndex(name, i)}
		if i < len(exprs) {
			from, _ := f.expr(o, exprs[i].Text)
			c.table, c.column = from.table, from.column
			c.typ = exprs[i].Type
			if c.typ == "" {
				c.typ = from.typ
			}
			if c.typ == "" {
				c.typ = f.aggregateType(o, exprs[i].Text)
			}
		}
		cols = append(cols, c)
	}
	return cols
}

// columnIndex is a column's place in its schema: N of "_colN", otherwise its place in the list.
func columnIndex(name string, place int) int {
	if number, ok := strings.CutPrefix(name, "_col"); ok {
		if n, err := strconv.Atoi(number); err == nil {
			return n
		}
	}
	return place
}

// aggregateType is the type of a function Hive prints without it, where it follows from its argument.
func (f *flow) aggregateType(o *explain.Operator, text string) string {
	name, argument, ok := strings.Cut(text, "(")
	if !ok {
		return ""
	}
	switch name {
	case "count":
		return "bigint"
	case "min", "max", "sum":
		c, _ := f.expr(o, strings.TrimSuffix(argument, ")"))
		if name != "sum" {
			return c.typ
		}
		switch c.typ {
		case "tinyint", "smallint", "int", "bigint":
			return "bigint"
		case "float", "double", "string":
			return "double"
		}
		return c.typ
	}
	return ""
}

// expr finds the column an expression names among an operator's inputs; false when it is no plain column.
func (f *flow) expr(o *explain.Operator, text string) (column, bool) {
	if !isColumnName(text) {
		return column{}, false
	}
	if strings.HasPrefix(text, "KEY.") || strings.HasPrefix(text, "VALUE.") {
		for _, in := range f.producers(o) {
			return f.shuffled(o, in, text)
		}
		return column{}, false
	}
	return f.lookup(f.producer(o), text)
}

func isColumnName(text string) bool {
	if text == "" {
		return false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c >= 0x80:
		case (c >= '0' && c <= '9' || c == '.' || c == '$' || c == ' ') && i > 0:
		default:
			return false
		}
	}
	switch text {
	case "null", "true", "false":
		return false
	}
	return !strings.Contains(text, " ")
}

// lookup finds a column by name in an operator's output. The columns of a scan whose table is not printed are taken by
// their word.
func (f *flow) lookup(o *explain.Operator, name string) (column, bool) {
	if o == nil || !isColumnName(name) {
		return column{}, false
	}
	for _, c := range f.outputs(o) {
		if strings.EqualFold(c.name, name) {
			return c, true
		}
	}
	for range maxTrace {
		if o == nil {
			break
		}
		if o.Kind == kindTableScan {
			if !strings.HasPrefix(name, "_col") {
				return column{name: name, table: tableOf(o), column: name, index: -1}, true
			}
			break
		}
		if isJoin(o) || o.Kind == kindSelect && len(outputNames(o)) > 0 || o.Kind == kindGroupBy {
			break
		}
		o = f.producer(o)
	}
	return column{}, false
}
