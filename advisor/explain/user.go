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
		if l := &lines[at+i]; l.indent > 0 && strings.HasPrefix(l.text, refer) {
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
	if err := u.complete(lines[at:end]); err != nil {
		return nil, err
	}
	u.link()
	u.placeEdges(edges)
	p.Engine = u.engine()
	return p, nil
}

// complete finds an operator that stands where none can, and that therefore was not read: half a plan is none.
func (u *userReader) complete(lines []line) error {
	for _, l := range lines {
		if !strings.Contains(l.text, " [") {
			continue
		}
		kind, id, _, ok := splitUserOperator(strings.TrimPrefix(l.text, "<-"))
		if ok && u.byID[id] == nil && !strings.HasPrefix(kind, refer) && dataOperators[kind] {
			return syntaxErrorf(l.no, "%s stands where no operator can: the indentation or the lines around are not those of a plan", clip(l.text))
		}
	}
	return nil
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
		case strings.HasPrefix(k.text, "<-") && v != nil: // beside Spark's local work, above the operators that take it
			local := &Operator{Kind: localWork, Vertex: v, Line: k.no}
			u.sinks = append(u.sinks, local)
			u.edge(local, k)
		case k.text == localWork:
			u.spark = true // Hive prints no user-level plans of MR
			u.stageLines(s, k.kids)
		case v == nil && isOperatorText(k.text) && !strings.Contains(k.text, " ["):
			// The stage's task: "Fetch Operator", "Move Operator", "Dependency Collection{}", "Create Table{"name:":"db.t"}".
			if s.Kind == "" {
				s.Kind, _, _ = strings.Cut(k.text, "{")
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
	return operatorKinds[text] || strings.HasSuffix(text, " Operator") || isTaskText(text)
}

// isTaskText tells a stage's task with its properties: "Stats Work{}", "Create Table{"name:":"db.t"}".
func isTaskText(text string) bool {
	name, _, ok := strings.Cut(text, "{")
	return ok && strings.HasSuffix(text, "}") && !strings.ContainsAny(name, ":,(['\"") && name != "" && name[0] >= 'A' && name[0] <= 'Z'
}

// splitUserOperator takes "Filter Operator [FIL_17] (rows=1/2 width=368)" apart.
func splitUserOperator(text string) (kind, id, stats string, ok bool) {
	i := strings.Index(text, " [")
	if i < 0 || strings.IndexByte(text[:i], ':') >= 0 && text[:i] != sparkHashTable {
		return "", "", "", false
	}
	id, stats, ok = strings.Cut(text[i+2:], "]")
	if !ok || !isOperatorID(id) {
		return "", "", "", false
	}
	return text[:i], id, strings.TrimSpace(stats), true
}

// sparkHashTable stands where Spark's plans have the name of the operator that writes a hash table:
// "keys: [HASHTABLESINK_23]".
const sparkHashTable = "keys:"

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
		case u.stageBelow(o, k):
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

// stageBelow reads a stage that the stage of o depends on, which Hive prints below its last vertex.
func (u *userReader) stageBelow(o *Operator, k *node) bool {
	if o.Vertex == nil {
		return false
	}
	name, before := strings.CutPrefix(k.text, refer)
	id, ok := userStage(name)
	if !ok {
		return false
	}
	o.Vertex.Stage.dependOn(id)
	if !before {
		u.stage(id, k)
	}
	return true
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
