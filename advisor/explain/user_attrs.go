package explain

import "strings"

// parseUserStatistics reads "(rows=500/37 width=178)".
func parseUserStatistics(s string) *Statistics {
	body, ok := strings.CutPrefix(s, "(rows=")
	if !ok {
		return nil
	}
	rows, width, _ := strings.Cut(strings.TrimSuffix(body, ")"), " width=")
	st := &Statistics{DataSize: -1, Width: parseCount(width)}
	st.Rows, st.ActualRows = parseRows(rows)
	return st
}

// scanLine reads a scan's "db@table,alias,Tbl:COMPLETE,Col:NONE,Output:[…]" into attributes named as other forms print
// them, and the states into its statistics.
func (o *Operator) scanLine(n *node) {
	for i, a := range splitUserAttrs(n) {
		switch {
		case i == 0 && a.Value == "":
			o.Attrs = append(o.Attrs, Attr{Name: "table", Value: strings.Replace(a.Name, "@", ".", 1)})
		case i == 1 && a.Value == "":
			o.Attrs = append(o.Attrs, Attr{Name: "alias", Value: a.Name})
		case a.Name == "Tbl" && o.Stats != nil:
			o.Stats.Basic = a.Value
		case a.Name == "Col" && o.Stats != nil:
			o.Stats.Column = a.Value
		default:
			o.Attrs = append(o.Attrs, a)
		}
	}
}

// splitUserAttrs splits "Conds:RS_6._col0=SEL_2._col0(Inner),Output:["_col0","_col1"]" at the commas between attributes:
// outside brackets and quotes, with a name and a colon behind. A scan's first parts have no name.
func splitUserAttrs(n *node) []Attr {
	var attrs []Attr
	depth, start := 0, 0
	var quote byte
	text := n.text
	add := func(part string) {
		name, value, _ := strings.Cut(part, ":")
		attrs = append(attrs, Attr{Name: name, Value: value})
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			switch c {
			case '\\':
				i++
			case quote:
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case c == ',' && depth <= 0 && attrStarts(text[i+1:], len(attrs) < 2):
			add(text[start:i])
			start = i + 1
		}
	}
	add(text[start:])
	for _, k := range n.kids {
		a := &attrs[len(attrs)-1]
		a.Children = append(a.Children, k.groupAttr())
	}
	return attrs
}

// attrStarts tells whether an attribute's name and colon stand at the start of s, or, in a scan's line, its alias.
func attrStarts(s string, scan bool) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c == ':':
			return i > 0
		case c == ',' && scan:
			return i > 0
		case i == 0 && c == ' ':
			return false
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == ' ', c == '_':
		default:
			return scan && (c == '$' || c == '-')
		}
	}
	return false
}
