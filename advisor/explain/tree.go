package explain

import "strings"

// node is a line with the lines indented below it.
type node struct {
	no     int
	indent int
	text   string
	kids   []*node
}

// maxDepth bounds the nesting that is read; deeper lines count as siblings. Hive nests a few hundred operators at most.
const maxDepth = 10_000

// buildTree arranges lines by their indentation. A line that fits no open level, or that fits refuses below its parent
// (the root, at the left edge, has indent −1), is the rest of the line before it: a value with a line break, or a line
// that was wrapped.
func buildTree(lines []line, fits func(parent *node, l line) bool) []*node {
	root := &node{indent: -1}
	stack := make([]*node, 1, 64)
	stack[0] = root
	nodes := make([]node, len(lines)) // one allocation
	w := widthsOf(lines)
	var last *node
	var before line
	var more []string // what continues last, glue and text in turn
	flush := func() {
		if len(more) > 0 {
			last.text += strings.Join(more, "")
			more = more[:0]
		}
	}
	for i, l := range lines {
		top := len(stack) - 1
		for stack[top].indent > l.indent {
			top--
		}
		level := stack[top]
		misaligned := level.indent < l.indent && top < len(stack)-1 && !strings.HasPrefix(l.text, "<-")
		parent := top
		if level.indent == l.indent {
			parent--
		}
		if misaligned || !fits(stack[parent], l) {
			if last == nil || l.no > before.no+1 || parent == 0 && last.indent == 0 && !last.openEdges(more) || !last.hasValue() && !w.noRoom(before, l) {
				continue // nothing it could belong to: a foreign line
			}
			more = append(more, w.glue(before, l), l.text)
			before = l
			continue
		}
		flush()
		n := &nodes[i]
		*n = node{no: l.no, indent: l.indent, text: l.text}
		stack[parent].kids = append(stack[parent].kids, n)
		stack = stack[:parent+1]
		if len(stack) < maxDepth {
			stack = append(stack, n)
		}
		last, before = n, l
	}
	flush()
	return root.kids
}

// openEdges tells an incomplete list of edges at the left edge, "Map 1 <- Map 2 (SIMPLE_EDGE), Map", as user-level plans
// have them and wrapping breaks them.
func (n *node) openEdges(more []string) bool {
	end := n.text
	if len(more) > 0 {
		end = more[len(more)-1]
	}
	return strings.Contains(n.text, " <- ") && !strings.HasSuffix(end, ")")
}

// hasValue tells lines whose value can go on in the next line from headings, operators and vertices.
func (n *node) hasValue() bool {
	if strings.IndexByte(n.text, ':') == len(n.text)-1 || strings.HasSuffix(n.text, " Operator") || operatorKinds[n.text] {
		return false
	}
	_, _, vertex := splitVertexName(n.text)
	return !vertex
}

// field splits "name: value" or "name:value"; a line without a colon is a name alone.
func (n *node) field() (name, value string) {
	name, value, ok := strings.Cut(n.text, ":")
	if !ok {
		return n.text, ""
	}
	return name, strings.TrimPrefix(value, " ")
}

// kid returns the first line below with that text, nil when there is none.
func (n *node) kid(text string) *node {
	for _, k := range n.kids {
		if k.text == text {
			return k
		}
	}
	return nil
}

// value returns the value of the first "name: value" line below.
func (n *node) value(name string) string {
	for _, k := range n.kids {
		if got, v := k.field(); got == name {
			return v
		}
	}
	return ""
}

// attr keeps a line and those below it as attributes. Lines of a group ("0 _col0 (type: int)") have no name of their
// own: the text up to the first space is their name when the line is a pair, as in keys and input vertices.
func (n *node) attr() Attr {
	name, value := n.field()
	a := Attr{Name: name, Value: value}
	for _, k := range n.kids {
		a.Children = append(a.Children, k.groupAttr())
	}
	return a
}

// groupAttr is attr for the lines of a group, where "0 Map 1" and "bucket_count 8" are pairs parted by a space.
func (n *node) groupAttr() Attr {
	word, rest, spaced := strings.Cut(n.text, " ")
	if !strings.Contains(word, ":") && isPosition(word) {
		a := Attr{Name: word}
		if spaced {
			a.Value = rest
		}
		return a
	}
	return n.attr()
}

func isPosition(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// joinBraces makes one line of a value that spreads over several between braces, such as an Avro schema among a table's
// properties. Braces that do not close leave the lines as they are.
func joinBraces(lines []line) []line {
	out := make([]line, 0, len(lines))
	open := false // a brace that closes nowhere: no later one is looked for
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		if !open && strings.HasSuffix(l.text, " {") {
			end := closingBrace(lines, i)
			if open = end < 0; !open {
				var text strings.Builder
				for j := i; j <= end; j++ {
					text.WriteString(lines[j].text)
				}
				l.text = text.String()
				i = end
			}
		}
		out = append(out, l)
	}
	return out
}

// closingBrace is the index of the line that closes the braces opened on line i; −1 when none does.
func closingBrace(lines []line, i int) int {
	open := 0
	for j := i; j < len(lines) && j < i+maxDepth; j++ {
		open += strings.Count(lines[j].text, "{") - strings.Count(lines[j].text, "}")
		if open <= 0 {
			return j
		}
	}
	return -1
}
