package dynamicfilter

import (
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// marks are the dynamic filters a plan shows.
type marks struct {
	// values are the DynamicValue conditions, by scan; events the partition pruning events.
	values map[*explain.Operator][]value
	events []event
	// silent: user-level plans print no events.
	silent bool
}

// value is one condition that waits for a value of run time.
type value struct {
	// columns are the words the condition compares; id is DynamicValue's name, "RS_7_b_k_min".
	columns []string
	id      string
	bloom   bool
}

// event is one Dynamic Partitioning Event Operator.
type event struct {
	vertex, input, column string
	operator              *explain.Operator
}

func read(p *explain.Plan) marks {
	m := marks{values: map[*explain.Operator][]value{}, silent: p.Form == explain.FormUser}
	for _, s := range p.Stages {
		for _, v := range s.Vertices {
			for o := range v.Operators() {
				switch {
				case o.Kind == "TableScan":
					m.scan(o, o, 0)
				case strings.HasPrefix(o.Kind, "Dynamic Partitioning Event"):
					m.events = append(m.events, event{
						vertex: attr(o, "Target Vertex"), input: attr(o, "Target Input"), column: firstWord(attr(o, "Target column")), operator: o,
					})
				}
			}
		}
	}
	return m
}

// attr is an attribute's value; JSON prints names with a colon.
func attr(o *explain.Operator, name string) string {
	if v, ok := o.Attr(name); ok {
		return v
	}
	v, _ := o.Attr(name + ":")
	return v
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}

// scan collects the conditions of a scan and of the filters above it in its vertex.
func (m *marks) scan(scan, o *explain.Operator, depth int) {
	for _, name := range [...]string{"filterExpr", "predicate"} {
		for _, v := range values(attr(o, name)) {
			if !slices.ContainsFunc(m.values[scan], func(known value) bool { return known.id == v.id }) {
				m.values[scan] = append(m.values[scan], v)
			}
		}
	}
	if depth > 200 {
		return
	}
	for _, c := range o.Children {
		if c.Kind == "Filter Operator" || c.Kind == "Select Operator" {
			m.scan(scan, c, depth+1)
		}
	}
}

const dynamicValue = "DynamicValue("

// values reads "k BETWEEN DynamicValue(RS_7_b_k_min) AND DynamicValue(RS_7_b_k_max) and in_bloom_filter(k, DynamicValue(RS_7_b_k_bloom_filter))".
func values(predicate string) []value {
	var list []value
	var between string
	for rest, before := predicate, ""; ; {
		at := strings.Index(rest, dynamicValue)
		if at < 0 {
			return list
		}
		before = rest[:at]
		rest = rest[at+len(dynamicValue):]
		id, after, ok := strings.Cut(rest, ")")
		if !ok {
			return list
		}
		rest = after
		v := value{id: id}
		switch {
		case strings.HasSuffix(before, " BETWEEN "):
			between = operand(strings.TrimSuffix(before, " BETWEEN "))
			v.columns = words(between)
		case strings.TrimSpace(before) == "AND":
			v.columns = words(between)
		case strings.HasSuffix(before, ", "):
			open := strings.LastIndex(before, "in_bloom_filter(")
			if open >= 0 {
				v.bloom = true
				v.columns = words(before[open+len("in_bloom_filter("):])
			}
		default: // a comparison, as non-equi joins have
			v.columns = words(operand(strings.TrimRight(before, "<>= ")))
		}
		list = append(list, v)
	}
}

// operand is the last operand of a text: back to the bracket or the AND it begins after.
func operand(text string) string {
	depth := 0
	for i := len(text) - 1; i >= 0; i-- {
		switch text[i] {
		case ')':
			depth++
		case '(':
			if depth == 0 {
				return text[i+1:]
			}
			depth--
		case ' ':
			if depth == 0 {
				return text[i+1:]
			}
		}
	}
	return text
}

// words are the names in an expression.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return r != '_' && r != '$' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && r < 0x80
	})
}

// find sets whether the plan holds the filter.
func (f *Filter) find(m *marks, all []Filter) {
	if probe := attr(f.scan.Operator, "probeDecodeDetails"); probe != "" && strings.Contains(strings.ToLower(probe), "bigkeycolname:"+strings.ToLower(f.Columns[0])+",") {
		f.State, f.By = Present, append(f.By, "probe decode")
	}
	if f.Kind == Pruning {
		f.findEvent(m, all)
		return
	}
	unknown := false
	for _, v := range m.values[f.scan.Operator] {
		if !slices.ContainsFunc(f.Columns, func(c string) bool { return slices.Contains(v.columns, strings.ToLower(c)) }) {
			continue
		}
		switch {
		case f.produces(v.id) || f.onlyComposite(v.id, all):
			by := "minimum and maximum"
			if v.bloom {
				by = "Bloom filter"
			}
			f.State = Present
			if !slices.Contains(f.By, by) {
				f.By = append(f.By, by)
			}
		case !slices.ContainsFunc(all, func(other Filter) bool {
			return other.Kind == Semijoin && other.scan.Operator == f.scan.Operator && other.produces(v.id)
		}):
			unknown = true // named after something that is not among the candidates, or after none
		}
	}
	if unknown && f.State != Present {
		f.State = Unclear
	}
}

// onlyComposite: the value belongs to a filter over several columns, whose values are named "RS[30]_col0", and no other of the scan has several.
func (f *Filter) onlyComposite(id string, all []Filter) bool {
	if !strings.HasPrefix(id, "RS[") || len(f.Keys) < 2 {
		return false
	}
	n := 0
	for i := range all {
		if o := &all[i]; o.Kind == Semijoin && o.scan.Operator == f.scan.Operator && len(o.Keys) > 1 {
			n++
		}
	}
	return n == 1
}

// produces tells whether a value's name is made of the producer's alias and key column: "RS_7_b_k_min".
func (f *Filter) produces(id string) bool {
	rest, ok := strings.CutPrefix(strings.ToLower(id), "rs_")
	if !ok {
		return false
	}
	_, rest, ok = strings.Cut(rest, "_")
	if !ok {
		return false
	}
	for _, suffix := range [...]string{"_min", "_max", "_bloom_filter"} {
		name, ok := strings.CutSuffix(rest, suffix)
		if !ok {
			continue
		}
		for _, k := range f.Keys {
			key := &f.producer.Keys[k]
			for _, scan := range f.producer.Scans() {
				if key.Column != "" && (key.Table == "" || scan.Table == key.Table) && name == strings.ToLower(scan.Alias+"_"+key.Column) {
					return true
				}
			}
		}
	}
	return false
}

// findEvent looks for an event at the consumer's scan. Events do not say whose keys they carry, but they start below the producer.
func (f *Filter) findEvent(m *marks, all []Filter) {
	if m.silent {
		f.State = Unclear
		return
	}
	_, below := f.producer.Operators()
	for _, e := range m.events {
		if !f.targets(&e) {
			continue
		}
		switch {
		case startsAt(&e, below):
			f.State = Present
			if !slices.Contains(f.By, "partition event") {
				f.By = append(f.By, "partition event")
			}
		case f.State != Present && !slices.ContainsFunc(all, func(other Filter) bool {
			_, below := other.producer.Operators()
			return other.Kind == Pruning && other.targets(&e) && startsAt(&e, below)
		}):
			f.State = Unclear
		}
	}
}

func (f *Filter) targets(e *event) bool {
	scan := f.scan.Operator
	return scan.Vertex != nil && e.vertex == scan.Vertex.Name && (e.input == "" || e.input == f.Alias) && strings.EqualFold(e.column, f.Columns[0])
}

// startsAt: one of the operators the event's branch hangs from feeds the producer.
func startsAt(e *event, below []*explain.Operator) bool {
	for o := e.operator.Parent; o != nil; o = o.Parent {
		if slices.Contains(below, o) {
			return true
		}
	}
	return false
}
