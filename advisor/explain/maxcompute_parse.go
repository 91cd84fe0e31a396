package explain

import "strings"

// IsMaxCompute tells MaxCompute's plans from Hive's by their form: "job0 is root job", "In Task M1:", or an operator of
// a dynamic filter.
func IsMaxCompute(text string) bool {
	_, ok := maxComputeStart(cleanLines(text))
	return ok
}

// maxComputeStart is the index of the line that shows the text to be MaxCompute's.
func maxComputeStart(lines []line) (int, bool) {
	for i, l := range lines {
		if _, _, ok := cutMaxComputeJob(l.text); ok {
			return i, true
		}
		if _, ok := cutInTask(l.text); ok {
			return i, true
		}
		if name, _, _ := splitMaxComputeOperator(l.text); maxComputeRoles[strings.ToLower(trimNumber(name))] != "" && len(name) > len("DFP1") {
			return i, true
		}
	}
	return 0, false
}

// ParseMaxCompute reads a plan of MaxCompute. The error, if any, is a *SyntaxError; it says so where the text is none
// of MaxCompute's, or where it ends before the plan of a task it has named.
func ParseMaxCompute(text string) (*MaxComputePlan, error) {
	lines := cleanLines(text)
	if len(lines) == 0 {
		return nil, syntaxErrorf(1, "no plan: the text is empty")
	}
	start, ok := maxComputeStart(lines)
	if !ok {
		return nil, syntaxErrorf(lines[0].no, "no plan of MaxCompute: neither a job, nor a task, nor a dynamic filter")
	}
	if _, named := cutInTask(lines[start].text); !named {
		if _, _, job := cutMaxComputeJob(lines[start].text); !job {
			start = 0 // operators of LogView: what stands above may be their task
		}
	}
	r := &maxComputeReader{plan: &MaxComputePlan{}}
	for _, l := range lines[start:] {
		if isTrailer(l.text) {
			break
		}
		r.line(l)
	}
	if err := r.complete(lines[len(lines)-1].no); err != nil {
		return nil, err
	}
	for _, o := range r.plan.DynamicFilters() {
		o.readDynamic()
	}
	return r.plan, nil
}

// maxComputeReader holds where in the plan the next line belongs.
type maxComputeReader struct {
	plan *MaxComputePlan
	job  *MaxComputeJob
	task *MaxComputeTask
	// open are the lines a deeper one can stand below.
	open []maxComputeLevel
	// tree tells that the lines of "In Task" are read, not those of a job's dependencies.
	tree bool
}

type maxComputeLevel struct {
	indent int
	op     *MaxComputeOperator
	attr   *Attr // of op; nil for the operator itself
}

func (r *maxComputeReader) line(l line) {
	if name, rest, ok := cutMaxComputeJob(l.text); ok {
		r.task, r.tree = nil, false
		r.job = r.jobNamed(name)
		switch {
		case rest == "is root job":
			r.job.Root = true
		case rest != "":
			r.job.DependsOn = nameList(rest)
		}
		return
	}
	if name, ok := cutInTask(l.text); ok {
		r.task = r.taskNamed(name)
		r.task.Line = l.no
		r.open, r.tree = nil, true
		return
	}
	if !r.tree {
		if list, ok := cutFold(l.text, "root tasks:"); ok {
			for _, name := range nameList(list) {
				r.taskNamed(name).Root = true
			}
			return
		}
		if name, list, ok := strings.Cut(l.text, " depends on: "); ok && isMaxComputeTask(name) {
			r.taskNamed(name).DependsOn = nameList(list)
			return
		}
		if name := strings.TrimSuffix(l.text, ":"); isMaxComputeTask(name) {
			r.task = r.taskNamed(name) // LogView's heading of a task
			r.task.Line = l.no
			r.open = nil
			return
		}
	}
	r.treeLine(l)
}

// treeLine reads an operator or an attribute by its indentation.
func (r *maxComputeReader) treeLine(l line) {
	for len(r.open) > 0 && r.open[len(r.open)-1].indent >= l.indent {
		r.open = r.open[:len(r.open)-1]
	}
	if list, ok := strings.CutPrefix(l.text, "Data source:"); ok && r.task != nil {
		r.task.Sources = append(r.task.Sources, nameList(list)...)
		return
	}
	var above *maxComputeLevel
	if len(r.open) > 0 {
		above = &r.open[len(r.open)-1]
	}
	if name, rest, ok := splitMaxComputeOperator(l.text); ok && (above == nil || above.attr == nil || above.attr.Value != "") {
		// Below "UDAF: sum(x)" stands the next operator, below "keys:" a column.
		if r.task == nil {
			if maxComputeRoles[strings.ToLower(trimNumber(name))] == "" {
				return // text around a paste
			}
			r.task = r.taskNamed("")
		}
		o := &MaxComputeOperator{Name: name, Kind: trimNumber(name), Text: rest, Task: r.task, Line: l.no}
		o.Role = maxComputeRoles[strings.ToLower(o.Kind)]
		if above == nil {
			r.task.Roots = append(r.task.Roots, o)
		} else {
			o.Parent = above.op
			above.op.Children = append(above.op.Children, o)
		}
		r.open = append(r.open, maxComputeLevel{indent: l.indent, op: o})
		return
	}
	if above == nil {
		return // nothing it could belong to
	}
	name, value, _ := strings.Cut(l.text, ":")
	a := Attr{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)}
	if above.attr != nil {
		above.attr.Children = append(above.attr.Children, a)
		return
	}
	o := above.op
	o.Attrs = append(o.Attrs, a)
	r.open = append(r.open, maxComputeLevel{indent: l.indent, op: o, attr: &o.Attrs[len(o.Attrs)-1]})
}

func (r *maxComputeReader) jobNamed(name string) *MaxComputeJob {
	for _, j := range r.plan.Jobs {
		if j.Name == name {
			return j
		}
	}
	j := &MaxComputeJob{Name: name}
	r.plan.Jobs = append(r.plan.Jobs, j)
	return j
}

// taskNamed finds or adds a task. The lines below "In Task M1_U0:" can name more than the dependencies do.
func (r *maxComputeReader) taskNamed(name string) *MaxComputeTask {
	if r.job == nil {
		r.job = r.jobNamed("")
	}
	for _, t := range r.job.Tasks {
		if t.Name == name {
			return t
		}
	}
	t := &MaxComputeTask{Name: name, Kind: maxComputeTaskKind(name)}
	r.job.Tasks = append(r.job.Tasks, t)
	return t
}

// complete finds a task that is named but has no operators, where others have: the text was cut off.
func (r *maxComputeReader) complete(last int) error {
	for _, j := range r.plan.Jobs {
		for _, t := range j.Tasks {
			if len(t.Roots) == 0 && len(t.Sources) == 0 {
				return syntaxErrorf(last, "plan cut off: task %s has no operators", t.Name)
			}
		}
	}
	if len(r.plan.Operators()) == 0 {
		return syntaxErrorf(last, "plan cut off: no task")
	}
	return nil
}
