package explain

import (
	"strings"
)

// parseStages reads the text of EXPLAIN and EXPLAIN EXTENDED: STAGE DEPENDENCIES and STAGE PLANS.
func parseStages(form Form, lines []line, at int) (*Plan, error) {
	p := &Plan{Form: form}
	readPreamble(p, lines[:at])
	end := planEnd(lines, at)
	tree := buildTree(joinBraces(lines[at:end]), stageLine)
	b := &builder{plan: p, read: make(map[int]bool, (end-at)/8)}
	var dependencies, plans *node
	for _, n := range tree {
		switch n.text {
		case headDependencies:
			dependencies = n
		case headPlans:
			if plans != nil {
				return nil, syntaxErrorf(n.no, "a second plan starts here: one can be read at a time")
			}
			plans = n
		}
	}
	last := lines[end-1].no
	if plans == nil {
		return nil, syntaxErrorf(last, "plan cut off: %q is missing", headPlans)
	}
	if dependencies == nil && len(plans.kids) == 0 {
		return nil, syntaxErrorf(last, "plan cut off: no stage below %q", headPlans)
	}
	stages := map[string]*Stage{}
	for _, n := range plans.kids {
		s := &Stage{ID: strings.TrimPrefix(n.text, "Stage: ")}
		if err := b.stage(s, n); err != nil {
			return nil, err
		}
		p.Stages = append(p.Stages, s)
		stages[s.ID] = s
	}
	if dependencies != nil {
		for _, n := range dependencies.kids {
			id := readDependency(n.text, stages)
			if id != "" && stages[id] == nil {
				return nil, syntaxErrorf(last, "plan cut off: %s has no plan", id)
			}
		}
	}
	if err := b.complete(lines[at:end]); err != nil {
		return nil, err
	}
	p.Engine = engineOf(p.Stages)
	nameUnread(p)
	return p, nil
}

// complete finds an operator that stands where none can, and that therefore was not read: half a plan is none.
func (b *builder) complete(lines []line) error {
	for _, l := range lines {
		if dataOperators[l.text] && !b.read[l.no] {
			return syntaxErrorf(l.no, "%s stands where no operator can: the indentation or the lines around are not those of a plan", l.text)
		}
	}
	return nil
}

// stageLine tells whether a line can stand below parent: what cannot is the rest of a value that holds line breaks.
func stageLine(parent *node, l line) bool {
	switch {
	case parent.indent < 0:
		return l.text == headDependencies || l.text == headPlans || l.text == headVectorization
	case parent.text == headPlans:
		return strings.HasPrefix(l.text, "Stage: ")
	case parent.text == headDependencies:
		return strings.HasPrefix(l.text, "Stage-")
	}
	return true
}

// readDependency reads a line such as "Stage-4 depends on stages: Stage-1 , consists of Stage-2, Stage-3" and returns
// the stage it is about.
func readDependency(text string, stages map[string]*Stage) string {
	id, rest, _ := strings.Cut(text, " ")
	if !isStageName(id) {
		return ""
	}
	s := stages[id]
	if s == nil {
		return id
	}
	s.Root = strings.HasPrefix(rest, "is a root stage")
	if list, ok := strings.CutPrefix(rest, "depends on stages: "); ok {
		for part := range strings.SplitSeq(list, ",") {
			part = strings.TrimSpace(part)
			if !isStageName(part) {
				break // ", consists of …", ", has a backup stage: …"
			}
			s.DependsOn = append(s.DependsOn, part)
		}
	}
	return id
}

func engineOf(stages []*Stage) Engine {
	engine := EngineNone
	for _, s := range stages {
		switch s.Kind {
		case "Tez":
			return EngineTez
		case "Spark":
			return EngineSpark
		case "Map Reduce", localWork:
			engine = EngineMR
		}
	}
	return engine
}

// clip shortens a line for an error message.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	for i := range s {
		if i >= most {
			return s[:i] + "…"
		}
	}
	return s
}

// localWork builds the hash tables of map joins on MR and Spark.
const localWork = "Map Reduce Local Work"

// builder turns lines into the parts of a plan.
type builder struct {
	plan *Plan
	// read tells the lines that were read as operators.
	read map[int]bool
}

// stage reads the lines below "Stage: Stage-1".
func (b *builder) stage(s *Stage, n *node) error {
	for _, k := range n.kids {
		name, value := k.field()
		if s.Kind == "" {
			s.Kind = name
			if value != "" {
				s.Kind, s.Attrs = "", append(s.Attrs, k.attr())
				continue
			}
		}
		switch name {
		case "Tez", "Spark":
			if err := b.dag(s, k); err != nil {
				return err
			}
		case "Map Reduce":
			b.mapReduce(s, k)
		case localWork:
			b.localWork(s, k)
		case "Fetch Operator":
			b.fetch(s, k)
		default:
			if k != n.kids[0] {
				s.Attrs = append(s.Attrs, k.attr())
				continue
			}
			for _, kk := range k.kids {
				s.Attrs = append(s.Attrs, kk.attr())
			}
		}
	}
	return nil
}

// dag reads a Tez or Spark stage: its edges and vertices.
func (b *builder) dag(s *Stage, n *node) error {
	for _, k := range n.kids {
		switch k.text {
		case "Edges:":
			for _, e := range k.kids {
				edges, ok := parseEdges(e.text)
				if !ok {
					return syntaxErrorf(e.no, "expected edges of a vertex, found %q", clip(e.text))
				}
				s.Edges = append(s.Edges, edges...)
			}
		case "Vertices:":
			for _, v := range k.kids {
				s.Vertices = append(s.Vertices, b.vertex(s, v))
			}
		default:
			s.Attrs = append(s.Attrs, k.attr())
		}
	}
	if len(s.Vertices) == 0 {
		return syntaxErrorf(n.no, "plan cut off: %s has no vertices", s.ID)
	}
	return nil
}

// vertex reads one vertex of a DAG.
func (b *builder) vertex(s *Stage, n *node) *Vertex {
	v := &Vertex{Name: n.text, Kind: vertexKind(n.text), Stage: s}
	for _, k := range n.kids {
		b.vertexLine(v, k)
	}
	return v
}

func vertexKind(name string) VertexKind {
	switch word, _, _ := strings.Cut(name, " "); word {
	case "Map":
		return VertexMap
	case "Reducer":
		return VertexReduce
	case "Union":
		return VertexUnion
	}
	return VertexOther
}

// vertexLine reads a line directly below a vertex. A vertex can hold several operator trees (a sort-merge join's sides).
func (b *builder) vertexLine(v *Vertex, k *node) {
	name, value := k.field()
	switch name {
	case "Map Operator Tree", "Reduce Operator Tree", "Processor Tree":
		for _, o := range k.kids {
			v.Roots = append(v.Roots, b.operator(o, nil, v))
		}
	case "Execution mode":
		v.ExecutionMode = value
	case "Path -> Alias":
		v.Sources = mergeAliases(v.Sources, k)
	case "Path -> Partition":
		v.Sources = mergePartitions(v.Sources, k)
	case "Truncated Path -> Alias":
		v.Sources = mergeTruncated(v.Sources, k)
	default:
		v.Attrs = append(v.Attrs, k.attr())
	}
}

// localWork reads the operators that build hash tables before an MR map join runs.
func (b *builder) localWork(s *Stage, n *node) {
	v := &Vertex{Name: s.ID + " Local", Kind: VertexLocal, Stage: s}
	for _, k := range n.kids {
		switch k.text {
		case "Alias -> Map Local Operator Tree:":
			for _, alias := range k.kids {
				for _, o := range alias.kids {
					v.Roots = append(v.Roots, b.operator(o, nil, v))
				}
			}
		case "Alias -> Map Local Tables:":
			v.Sources = append(v.Sources, localTables(k)...)
		default:
			v.Attrs = append(v.Attrs, k.attr())
		}
	}
	s.Vertices = append(s.Vertices, v)
}

// fetch reads a fetch task: its operators belong to the stage, as no vertex runs them.
func (b *builder) fetch(s *Stage, n *node) {
	for _, k := range n.kids {
		if k.text != "Processor Tree:" {
			s.Attrs = append(s.Attrs, k.attr())
			continue
		}
		for _, o := range k.kids {
			s.Roots = append(s.Roots, b.operator(o, nil, nil))
		}
	}
}
