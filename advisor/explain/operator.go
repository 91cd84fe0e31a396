package explain

import "strings"

// operatorKinds are the operators whose printed name does not end with "Operator".
var operatorKinds = map[string]bool{
	"TableScan": true, "ListSink": true, "Dummy Store": true, "Union": true, "Limit": true, "Forward": true,
	"Lateral View Forward": true, "Collect": true, "Demux": true, "Mux": true, "Collector": true,
}

// dataOperators are operators that stand only in the trees of vertices and fetch tasks.
var dataOperators = map[string]bool{
	"TableScan": true, "Filter Operator": true, "Select Operator": true, "Group By Operator": true,
	"Reduce Output Operator": true, "File Output Operator": true, "Join Operator": true, "Map Join Operator": true,
	"Merge Join Operator": true, "Sorted Merge Bucket Map Join Operator": true,
}

// operator reads an operator and, recursively, the operators that consume what it produces. Hive prints an operator's
// attributes and its children at the same indentation.
func (b *builder) operator(n *node, parent *Operator, v *Vertex) *Operator {
	o := &Operator{Kind: n.text, Parent: parent, Vertex: v, Line: n.no}
	if b.read != nil { // nil for JSON, which has no lines
		b.read[n.no] = true
	}
	if kind, id, ok := splitOperatorID(n.text); ok {
		o.Kind, o.ID = kind, id
	}
	o.Attrs = make([]Attr, 0, len(n.kids))
	for _, k := range n.kids {
		switch {
		case isOperatorLine(k):
			o.Children = append(o.Children, b.operator(k, o, v))
		case strings.HasPrefix(k.text, "Statistics:"):
			_, value := k.field()
			o.Stats = parseStatistics(value)
		case strings.HasPrefix(k.text, "OperatorId:"):
			_, o.ID = k.field()
		default:
			o.Attrs = append(o.Attrs, k.attr())
		}
	}
	return o
}

// isOperatorLine tells an operator from an attribute: it has no colon, and a name Hive gives operators or lines below.
func isOperatorLine(n *node) bool {
	if operatorKinds[n.text] {
		return true
	}
	if strings.IndexByte(n.text, ':') >= 0 {
		return false
	}
	return strings.HasSuffix(n.text, " Operator") ||
		len(n.kids) > 0 && n.text[0] >= 'A' && n.text[0] <= 'Z'
}

// splitOperatorID takes "Select Operator (SEL_2)" apart, as EXPLAIN LOGICAL prints it.
func splitOperatorID(text string) (kind, id string, ok bool) {
	kind, rest, ok := strings.Cut(text, " (")
	if !ok || !strings.HasSuffix(rest, ")") {
		return "", "", false
	}
	return kind, rest[:len(rest)-1], true
}
