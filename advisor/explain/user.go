package explain

import (
	"strings"
)

// parseUser reads a user-level plan. It is printed upside down, from the sinks to the scans: what is indented below an
// operator produces its input, and "<-" leads to an input from another vertex or to one of several in the same vertex.
func parseUser(lines []line, at int) (*Plan, error) {
	p := &Plan{Form: FormUser}
	readPreamble(p, lines[:at])
	end := planEnd(lines, at)
	last := lines[end-1].no
	u := &userReader{plan: p, vertices: map[string]*Vertex{}, byID: map[string]*Operator{}, stages: map[string]*Stage{}}
	edgeLines := false
	for i := range lines[at:end] {
		if l := &lines[at+i]; strings.HasPrefix(l.text, refer) {
			l.indent-- // printed one column to the right of the attributes it stands among
		}
	}
	tree := buildTree(lines[at:end], func(parent *node, l line) bool {
		if parent.indent >= 0 {
			return true
		}
		if isUserHead(l) || isCBOLine(l.text) {
			edgeLines = strings.HasPrefix(l.text, headVertexDependency)
			return true
		}
		return edgeLines && strings.Contains(l.text, " <- ")
	})
	var edges []Edge
	for _, n := range tree {
		switch {
		case strings.HasPrefix(n.text, headVertexDependency):
		case isStageName(n.text):
			u.stage(n.text, n)
		case isCBOLine(n.text):
			p.CBO = n.text
		default:
			more, ok := parseEdges(n.text)
			if !ok {
				return nil, syntaxErrorf(n.no, "expected edges of a vertex, found %q", clip(n.text))
			}
			edges = append(edges, more...)
		}
	}
	if len(p.Stages) == 0 {
		return nil, syntaxErrorf(last, "plan cut off: no stage")
	}
	u.link()
	u.placeEdges(edges)
	p.Engine = u.engine()
	return p, nil
}

// userReader holds what a user-level plan has named so far.
type userReader struct {
	plan     *Plan
	stages   map[string]*Stage
	vertices map[string]*Vertex
	byID     map[string]*Operator
	sinks    []*Operator
	pending  []reference
	spark    bool
}

// reference is an input printed as "Please refer to the previous Select Operator [SEL_4]".
type reference struct {
	consumer *Operator
	id       string
	at       int // place among the consumer's inputs
}

const refer = "Please refer to the previous "

// userStage takes the stage's name off "Stage-4(CONDITIONAL CHILD TASKS: Stage-5, Stage-0)".
func userStage(text string) (string, bool) {
	id, _, _ := strings.Cut(text, "(")
	return id, isStageName(id)
}

// stage reads a stage and the stages it depends on, which are printed below it.
func (u *userReader) stage(id string, n *node) *Stage {
	s := u.stages[id]
	if s == nil {
		s = &Stage{ID: id, Root: true}
		u.stages[id] = s
		u.plan.Stages = append(u.plan.Stages, s)
	}
	u.stageLines(s, n.kids)
	return s
}

func (u *userReader) stageLines(s *Stage, kids []*node) {
	var v *Vertex
	for i := 0; i < len(kids); i++ {
		k := kids[i]
		switch {
		case strings.HasPrefix(k.text, refer):
			if id, ok := userStage(k.text[len(refer):]); ok {
				s.dependOn(id)
			}
		case strings.HasPrefix(k.text, "Stage-"):
			if id, ok := userStage(k.text); ok {
				s.dependOn(id)
				u.stage(id, k)
			}
		case isVertexLine(k) && i+1 < len(kids):
			v = u.vertex(s, k.text)
			if v.Kind == VertexUnion {
				u.sinks = append(u.sinks, u.newUnion(v, k))
				i += u.inputsBeside(u.sinks[len(u.sinks)-1], kids[i+1:])
			}
		case k.text == localWork:
			u.spark = true // Hive prints no user-level plans of MR
			u.stageLines(s, k.kids)
		case v == nil && isOperatorText(k.text) && !strings.Contains(k.text, " ["):
			// The stage's task: "Fetch Operator", "Move Operator", "Dependency Collection{}".
			if s.Kind == "" {
				s.Kind = strings.TrimSuffix(k.text, "{}")
			}
			u.stageLines(s, k.kids)
		case isOperatorText(k.text):
			o := u.operator(k, v, nil)
			i += u.inputsBeside(o, kids[i+1:])
			if v == nil {
				s.Roots = append(s.Roots, o)
			} else if s.Kind == "" || isStageName(s.Kind) {
				s.Kind = "Tez"
			}
		default:
			s.Attrs = append(s.Attrs, k.attr())
		}
	}
}

func (s *Stage) dependOn(id string) {
	s.Root = false
	s.DependsOn = append(s.DependsOn, id)
}

// isVertexLine tells "Reducer 4 llap" or "Map 1 vectorized, llap", which has nothing indented below.
func isVertexLine(n *node) bool {
	if len(n.kids) > 0 {
		return false
	}
	_, _, ok := splitVertexName(n.text)
	return ok
}

// splitVertexName takes the vertex off the front: "Map 1 [CUSTOM_EDGE] vectorized" is "Map 1" and the rest.
func splitVertexName(text string) (name, rest string, ok bool) {
	word, after, _ := strings.Cut(text, " ")
	if vertexKind(word) == VertexOther && word != "File" {
		return "", "", false
	}
	number, rest, _ := strings.Cut(after, " ")
	if !isPosition(number) {
		return "", "", false
	}
	return word + " " + number, rest, true
}

// vertex finds or adds the vertex named at the start of text; the rest is its execution mode.
func (u *userReader) vertex(s *Stage, text string) *Vertex {
	name, mode, _ := splitVertexName(text)
	v := u.vertices[name]
	if v == nil {
		v = &Vertex{Name: name, Kind: vertexKind(name), Stage: s, ExecutionMode: mode}
		u.vertices[name] = v
		s.Vertices = append(s.Vertices, v)
	}
	return v
}

// isOperatorText tells an operator's line from an attribute's. Reduce sinks carry the name of their edge: "SHUFFLE [RS_12]".
func isOperatorText(text string) bool {
	if kind, _, _, ok := splitUserOperator(text); ok {
		return kind != ""
	}
	return operatorKinds[text] || strings.HasSuffix(text, " Operator") || strings.HasSuffix(text, "{}")
}

// splitUserOperator takes "Filter Operator [FIL_17] (rows=1/2 width=368)" apart.
func splitUserOperator(text string) (kind, id, stats string, ok bool) {
	i := strings.Index(text, " [")
	if i < 0 || strings.IndexByte(text[:i], ':') >= 0 {
		return "", "", "", false
	}
	id, stats, ok = strings.Cut(text[i+2:], "]")
	if !ok || !isOperatorID(id) {
		return "", "", "", false
	}
	return text[:i], id, strings.TrimSpace(stats), true
}

// isOperatorID tells "MAPJOIN_25" and the like.
func isOperatorID(s string) bool {
	i := strings.LastIndexByte(s, '_')
	return i > 0 && isPosition(s[i+1:]) && s[0] >= 'A' && s[0] <= 'Z'
}

// operator reads an operator and all that feeds it; consumer is what it feeds, nil for a sink.
func (u *userReader) operator(n *node, v *Vertex, consumer *Operator) *Operator {
	o := &Operator{Kind: strings.TrimPrefix(n.text, "<-"), Vertex: v, Line: n.no}
	if kind, id, stats, ok := splitUserOperator(o.Kind); ok {
		o.Kind, o.ID = kind, id
		o.Stats = parseUserStatistics(stats)
		u.spark = u.spark || kind == "Sorted Merge Bucket Map Join Operator" // Tez has none
	}
	if old := u.byID[o.ID]; old != nil && o.ID != "" && len(n.kids) == 0 {
		o = old // printed before with all that feeds it
	} else if o.ID != "" {
		u.byID[o.ID] = o
	}
	if consumer == nil {
		u.sinks = append(u.sinks, o)
	} else {
		consumer.Inputs = append(consumer.Inputs, o)
		o.Children = append(o.Children, consumer)
	}
	u.inputs(o, n.kids)
	return o
}

// inputs reads the lines below an operator, which tell its attributes and what feeds it.
func (u *userReader) inputs(o *Operator, kids []*node) {
	for i := 0; i < len(kids); i++ {
		k := kids[i]
		switch {
		case strings.HasPrefix(k.text, "<-"):
			u.edge(o, k)
		case strings.HasPrefix(k.text, refer):
			u.referTo(o, k.text[len(refer):])
		case isOperatorText(k.text):
			in := u.operator(k, o.Vertex, o)
			i += u.inputsBeside(in, kids[i+1:])
		case o.Kind == "TableScan" && strings.Contains(k.text, "@"):
			o.scanLine(k)
		default:
			o.Attrs = append(o.Attrs, splitUserAttrs(k)...)
		}
	}
}

// inputsBeside takes the "<-" lines right after an operator, at its own indentation.
func (u *userReader) inputsBeside(o *Operator, kids []*node) int {
	n := 0
	for n < len(kids) && strings.HasPrefix(kids[n].text, "<-") {
		u.edge(o, kids[n])
		n++
	}
	return n
}

// edge reads "<-Map 1 [SIMPLE_EDGE] vectorized" with the producer below, or "<-Select Operator [SEL_2]" of the same vertex.
func (u *userReader) edge(o *Operator, n *node) {
	text := strings.TrimSpace(n.text[len("<-"):])
	if what, ok := strings.CutPrefix(text, refer); ok {
		u.referTo(o, what)
		return
	}
	name, rest, ok := splitVertexName(text)
	if !ok {
		u.operator(n, o.Vertex, o)
		return
	}
	var stage *Stage
	if o.Vertex != nil {
		stage = o.Vertex.Stage
	}
	if stage == nil {
		stage = u.plan.Stages[len(u.plan.Stages)-1]
	}
	kind, mode, _ := strings.Cut(strings.TrimPrefix(rest, "["), "]")
	v := u.vertex(stage, name+" "+strings.TrimSpace(mode))
	if o.Vertex != nil {
		stage.addEdge(Edge{From: name, To: o.Vertex.Name, Type: EdgeType(kind)})
	}
	if v.Kind == VertexUnion {
		u.union(o, v, n)
		return
	}
	feeding := feedingOperator(n.kids)
	for i := 0; i < len(n.kids); i++ {
		k := n.kids[i]
		switch {
		case strings.HasPrefix(k.text, refer):
			u.referTo(o, k.text[len(refer):])
		case isOperatorText(k.text):
			consumer := o
			if i != feeding {
				consumer = nil // what else the vertex writes: files, pruning events
			}
			in := u.operator(k, v, consumer)
			i += u.inputsBeside(in, n.kids[i+1:])
		default:
			v.Attrs = append(v.Attrs, k.attr())
		}
	}
}

// feedingOperator is the index of the operator that writes to the edge it is printed below: the first reduce sink, or
// the first operator.
func feedingOperator(kids []*node) int {
	first := -1
	for i, k := range kids {
		if _, id, _, ok := splitUserOperator(k.text); ok {
			if strings.HasPrefix(id, "RS_") {
				return i
			}
			if first < 0 {
				first = i
			}
		}
	}
	return max(first, 0)
}

// newUnion makes the operator that stands for a union vertex. Join conditions name it by its vertex ("Union 18._col0").
func (u *userReader) newUnion(v *Vertex, n *node) *Operator {
	o := &Operator{Kind: "Union", ID: v.Name, Vertex: v, Line: n.no}
	u.byID[o.ID] = o
	v.Roots = append(v.Roots, o)
	return o
}

// union reads the members of a union vertex, which feeds o.
func (u *userReader) union(o *Operator, v *Vertex, n *node) {
	in := u.newUnion(v, n)
	o.Inputs = append(o.Inputs, in)
	in.Children = append(in.Children, o)
	for _, k := range n.kids {
		switch {
		case strings.HasPrefix(k.text, "<-"):
			u.edge(in, k)
		case strings.HasPrefix(k.text, refer):
			u.referTo(in, k.text[len(refer):])
		}
	}
}

// referTo notes an input that is printed elsewhere, before or after. What is named can be an operator or a vertex.
func (u *userReader) referTo(o *Operator, what string) {
	id := what
	if _, got, _, ok := splitUserOperator(what); ok {
		id = got
	} else if name, _, ok := splitVertexName(what); ok {
		id = name
	}
	u.pending = append(u.pending, reference{consumer: o, id: id, at: len(o.Inputs)})
	o.Inputs = append(o.Inputs, nil)
}

// link resolves the references and the parents inside each vertex, and finds the vertices' roots.
func (u *userReader) link() {
	for _, r := range u.pending {
		in := u.byID[r.id]
		if in == nil || in == r.consumer {
			continue
		}
		r.consumer.Inputs[r.at] = in
		in.Children = append(in.Children, r.consumer)
	}
	seen := map[*Operator]bool{}
	var visit func(o *Operator)
	visit = func(o *Operator) {
		if seen[o] {
			return
		}
		seen[o] = true
		inputs := o.Inputs[:0]
		for _, in := range o.Inputs {
			if in != nil {
				inputs = append(inputs, in)
			}
		}
		o.Inputs = inputs
		for _, in := range inputs {
			if in.Vertex == o.Vertex && o.Parent == nil {
				o.Parent = in
			}
			visit(in)
		}
		if o.Vertex != nil && o.Parent == nil && o.Kind != "Union" {
			o.Vertex.Roots = append(o.Vertex.Roots, o)
		}
	}
	for _, o := range u.sinks {
		visit(o)
	}
	// Children lead to other vertices only in Inputs: inside a vertex they are the tree below its roots.
	for o := range seen {
		children := o.Children[:0]
		for _, c := range o.Children {
			if c.Vertex == o.Vertex {
				children = append(children, c)
			}
		}
		o.Children = children
	}
}

// placeEdges adds the edges printed above the stages that no "<-" line has told.
func (u *userReader) placeEdges(edges []Edge) {
	for _, e := range edges {
		for _, name := range [...]string{e.To, e.From} {
			if v := u.vertices[name]; v != nil {
				v.Stage.addEdge(e)
				break
			}
		}
	}
}

func (s *Stage) addEdge(e Edge) {
	for _, old := range s.Edges {
		if old == e {
			return
		}
	}
	s.Edges = append(s.Edges, e)
}

// engine tells Spark from Tez by the edges; Hive prints no other engine's plan at user level.
func (u *userReader) engine() Engine {
	if u.spark {
		return EngineSpark
	}
	engine := EngineNone
	for _, s := range u.plan.Stages {
		if len(s.Vertices) > 0 {
			engine = EngineTez
		}
		for _, e := range s.Edges {
			if isSparkEdge(e.Type) {
				return EngineSpark
			}
		}
	}
	return engine
}

// isSparkEdge tells Spark's shuffles: GROUP, SORT, PARTITION-LEVEL SORT and their combinations.
func isSparkEdge(t EdgeType) bool {
	s, _, _ := strings.Cut(string(t), ",")
	return s == "GROUP" || strings.HasSuffix(s, "SORT")
}

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
			if c == '\\' {
				i++
			} else if c == quote {
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
