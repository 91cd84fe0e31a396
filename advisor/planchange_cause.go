package advisor

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// memorySettings are those that a resize of containers, daemons or the budget moves.
var memorySettings = []string{
	budgetSetting, "hive.tez.container.size", "mapreduce.map.memory.mb", "hive.llap.daemon.memory.per.instance.mb",
	"hive.llap.daemon.num.executors", "hive.llap.daemon.service.hosts", "hive.llap.mapjoin.memory.oversubscribe.factor",
	"hive.llap.memory.oversubscription.max.executors.per.query",
}

// cause finds what restores the strategy before when it alone is as it was: the cluster, the settings of memory, the other settings,
// the version's rules, the estimates; the first that does. Settings that came with another version are the version's.
func (c *twoPlans) cause() (kind FindingKind, text, advice string, evidence map[string]any) {
	differing := c.settingsThatDiffer()
	upgraded := c.before.Version != "" && c.after.Version != "" && c.before.Version != c.after.Version
	evidence = map[string]any{}
	if len(differing) > 0 {
		evidence["settings"] = c.changes(differing)
	}
	if upgraded {
		evidence["version_before"], evidence["version_after"] = c.before.Version, c.after.Version
	}
	if c.clusterDiffers() {
		evidence["nodes_before"], evidence["nodes_after"] = c.before.Nodes, c.after.Nodes
		evidence["executors_before"], evidence["executors_after"] = c.before.Executors, c.after.Executors
	}
	explained := c.follows()
	evidence["replayed"] = explained
	if explained {
		if c.clusterDiffers() && c.restores(func(p *PlanState) { p.Nodes, p.Executors = c.before.Nodes, c.before.Executors }) {
			text, advice = c.cluster(evidence)
			return PlanChangedByResize, text, advice, evidence
		}
		if names := c.restoring(differing); len(names) > 0 {
			return c.settingsCause(names, upgraded, evidence)
		}
		if upgraded && c.restores(func(p *PlanState) { p.takeRelease(c.before) }) {
			return PlanChangedByUpgrade, "after an upgrade of Hive from " + c.before.Version + " to " + c.after.Version + ", whose rules differ", "", evidence
		}
		if c.numbersDiffer() && chosen(c.after, c.b).like(c.b) {
			return PlanChangedByStatistics, "after its statistics changed: " + c.numbers(), AdviceOf(Levers(*c.a, c.after.TypedSettings())), evidence
		}
	}
	// Nothing alone restores it, or the simulation does not follow one of the plans.
	all := c.differences(differing, upgraded)
	switch {
	case upgraded:
		return PlanChangedByUpgrade, "after an upgrade of Hive from " + c.before.Version + " to " + c.after.Version + c.alsoDiffer(differing), "", evidence
	case len(all) == 1 && c.clusterDiffers():
		text, advice = c.cluster(evidence)
		return PlanChangedByResize, text, advice, evidence
	case len(all) == 1 && c.numbersDiffer():
		return PlanChangedByStatistics, "after its statistics changed: " + c.numbers(), "", evidence
	case len(all) == 0:
		return PlanChangeUnexplained, "nothing that is known differs", "", evidence
	default:
		return PlanChangeUnexplained, "no single one of these restores it: " + strings.Join(all, ", "), "", evidence
	}
}

// follows: the simulation arrives at both plans, so that a replay says something.
func (c *twoPlans) follows() bool {
	return chosen(c.after, c.a).like(c.a) && chosen(c.before, c.b).like(c.b)
}

// chosen decides for a join as recorded under a state's settings.
func chosen(p *PlanState, v *JoinVerdict) choice {
	s := p.TypedSettings()
	strategy, big := Choose(&v.Join, &s)
	return choice{strategy: strategy, big: big}
}

// like: the same strategy as planned, and the same streamed side where the plan shows one.
func (c choice) like(v *JoinVerdict) bool {
	return c.strategy == v.Join.Strategy && (c.big < 0 || v.Join.BigTable < 0 || c.big == v.Join.BigTable)
}

// restores: with one thing as before, the selector chooses for the later join what was planned before.
func (c *twoPlans) restores(change func(*PlanState)) bool {
	p := *c.after
	p.Settings = maps.Clone(p.Settings)
	change(&p)
	return chosen(&p, c.a).like(c.b)
}

// settingsThatDiffer lists the selector's settings of both states whose values differ, by name. One that is absent has its release's
// default.
func (c *twoPlans) settingsThatDiffer() []string {
	var list []string
	for _, d := range Catalogue() {
		if d.Selector && c.value(c.before, d.Name) != c.value(c.after, d.Name) {
			list = append(list, d.Name)
		}
	}
	slices.Sort(list)
	return list
}

func (c *twoPlans) value(p *PlanState, name string) string {
	if v, ok := p.Settings[name]; ok {
		return v
	}
	v, _ := defaultIn(p.Settings, p.release(), name)
	return v
}

// restoring is the smallest found set of settings that restores the strategy: one, else all of memory, else all.
func (c *twoPlans) restoring(differing []string) []string {
	put := func(names []string) bool {
		return len(names) > 0 && c.restores(func(p *PlanState) {
			if p.Settings == nil {
				p.Settings = map[string]string{}
			}
			for _, n := range names {
				p.Settings[n] = c.value(c.before, n)
			}
		})
	}
	for _, name := range differing {
		if put([]string{name}) {
			return []string{name}
		}
	}
	ofMemory := slices.DeleteFunc(slices.Clone(differing), func(n string) bool { return !slices.Contains(memorySettings, n) })
	switch {
	case put(ofMemory):
		return ofMemory
	case put(differing):
		return differing
	}
	return nil
}

func (c *twoPlans) settingsCause(names []string, upgraded bool, evidence map[string]any) (FindingKind, string, string, map[string]any) {
	var statements []string
	for _, name := range names {
		statements = append(statements, c.restore(name))
	}
	evidence["restoring"] = names
	advice := strings.Join(statements, "\n")
	changed := strings.Join(c.changes(names), ", ")
	ofMemory := !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(memorySettings, n) })
	switch {
	case upgraded:
		defaults := ""
		if len(names) == 1 && c.isDefault(c.before, names[0]) && c.isDefault(c.after, names[0]) {
			defaults = ", the defaults of the two"
		}
		return PlanChangedByUpgrade, "after an upgrade of Hive from " + c.before.Version + " to " + c.after.Version + ": " + changed + defaults, advice, evidence
	case ofMemory:
		return PlanChangedByResize, "after a resize: " + changed, advice, evidence
	default:
		return PlanChangedBySettings, "under other settings: " + changed, advice, evidence
	}
}

func (c *twoPlans) isDefault(p *PlanState, name string) bool {
	v, ok := defaultIn(p.Settings, p.release(), name)
	return ok && v == c.value(p, name)
}

// restore is the SET that puts one setting back, a budget only where memory backs it.
func (c *twoPlans) restore(name string) string {
	value := c.value(c.before, name)
	statement := set(name, value)
	if name != budgetSetting {
		return statement
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return statement
	}
	s := c.after.TypedSettings()
	if ok, why := MemoryOf(&s).Backs(n); !ok {
		return "-- not back to " + human(n) + ": " + why
	}
	return statement
}

// changes writes each setting with both values.
func (c *twoPlans) changes(names []string) []string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = name + " from " + shown(c.value(c.before, name)) + " to " + shown(c.value(c.after, name))
	}
	return list
}

func shown(value string) string {
	if value == "" {
		return "nothing"
	}
	return value
}

func (c *twoPlans) clusterDiffers() bool {
	return c.before.Nodes > 0 && c.after.Nodes > 0 && (c.before.Nodes != c.after.Nodes || c.before.Executors != c.after.Executors)
}

// cluster says how many nodes there were and are, and at how many the network comparison turns.
func (c *twoPlans) cluster(evidence map[string]any) (text, advice string) {
	text = "after a resize of the LLAP cluster from " + count(c.before.Nodes, "node") + " to " + count(c.after.Nodes, "node")
	if c.before.Executors != c.after.Executors {
		text += ", from " + count(c.before.Executors, "executor") + " each to " + strconv.FormatInt(c.after.Executors, 10)
	}
	s := c.after.TypedSettings()
	if n, ok := ShuffleFromNodes(&c.a.Join, &s); ok {
		text += "; from " + count(n, "node") + " on the shuffle moves less"
		evidence["shuffle_from_nodes"] = n
	}
	return text, AdviceOf(Levers(*c.a, s))
}

func (c *twoPlans) numbersDiffer() bool {
	return !slices.EqualFunc(c.b.Join.Inputs, c.a.Join.Inputs, func(x, y Input) bool {
		return x.Rows == y.Rows && x.DataSize == y.DataSize && slices.EqualFunc(x.Keys, y.Keys, func(k, l Key) bool {
			return sameNumber(k.NDV, l.NDV)
		})
	})
}

func sameNumber(a, b *int64) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// numbers writes the inputs whose estimates differ.
func (c *twoPlans) numbers() string {
	var list []string
	for pos := range c.a.Join.Inputs {
		x, y := &c.b.Join.Inputs[pos], &c.a.Join.Inputs[pos]
		switch {
		case x.Rows != y.Rows || x.DataSize != y.DataSize:
			list = append(list, inputName(&c.a.Join, pos)+" from "+grouped(x.Rows)+" rows and "+human(x.DataSize)+" to "+grouped(y.Rows)+" rows and "+human(y.DataSize))
		case !slices.EqualFunc(x.Keys, y.Keys, func(k, l Key) bool { return sameNumber(k.NDV, l.NDV) }):
			list = append(list, "the distinct keys of "+inputName(&c.a.Join, pos))
		}
	}
	return strings.Join(list, ", ")
}

// differences lists the kinds of things that differ.
func (c *twoPlans) differences(differing []string, upgraded bool) []string {
	var list []string
	if c.clusterDiffers() {
		list = append(list, count(c.before.Nodes, "LLAP node")+" to "+strconv.FormatInt(c.after.Nodes, 10))
	}
	list = append(list, c.changes(differing)...)
	if upgraded {
		list = append(list, "Hive "+c.before.Version+" to "+c.after.Version)
	}
	if c.numbersDiffer() {
		list = append(list, "the estimates of "+c.numbers())
	}
	return list
}

func (c *twoPlans) alsoDiffer(differing []string) string {
	list := c.changes(differing)
	if c.numbersDiffer() {
		list = append(list, "the estimates of "+c.numbers())
	}
	if len(list) == 0 {
		return ""
	}
	return "; also differ: " + strings.Join(list, ", ")
}
