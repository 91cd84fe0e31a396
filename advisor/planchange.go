package advisor

import (
	"slices"
	"strconv"
)

// Kinds of plan changes, named after the cause.
const (
	// PlanChangedByResize: another number of LLAP nodes or executors, or another budget or its memory.
	PlanChangedByResize FindingKind = "plan_change_resize"
	// PlanChangedByUpgrade: another version of Hive, its defaults or its rules.
	PlanChangedByUpgrade FindingKind = "plan_change_upgrade"
	// PlanChangedBySettings: other settings than the budget's.
	PlanChangedBySettings FindingKind = "plan_change_settings"
	// PlanChangedByStatistics: other estimates of the same tables.
	PlanChangedByStatistics FindingKind = "plan_change_statistics"
	// PlanChangeUnexplained: nothing that is known restores the strategy before.
	PlanChangeUnexplained FindingKind = "plan_change_unexplained"
)

// PlanState is one plan of a query with what it was chosen under.
type PlanState struct {
	Verdicts []JoinVerdict
	// Settings are those of Catalogue in force, by name.
	Settings map[string]string
	// Version is Hive's ("4.0.1"); empty when unknown.
	Version string
	// Nodes and Executors (of a node) are the LLAP cluster as it was known; 0 when it was not.
	Nodes, Executors int64
}

// TypedSettings are the state's settings as the selector reads them: under the release of its version, with its cluster.
func (p *PlanState) TypedSettings() Settings { return p.typed(p.release()) }

// release is the one recorded with the settings, else the version's.
func (p *PlanState) release() Release { return releaseIn(p.Settings, p.Version) }

// takeRelease takes version and release of another state.
func (p *PlanState) takeRelease(of *PlanState) {
	if p.Settings == nil {
		p.Settings = map[string]string{}
	}
	p.Version, p.Settings[ReleaseName] = of.Version, string(of.release())
}

func (p *PlanState) typed(release Release) Settings {
	s := SettingsFor(release, p.Settings)
	if p.Nodes > 0 {
		s = s.WithCluster(p.Nodes, p.Executors)
	}
	return s
}

// ReleaseOf is the release line of a version of Hive; one that is unknown or not among Releases counts as Hive4.
func ReleaseOf(version string) Release {
	switch {
	case len(version) > 1 && version[:2] == "3.":
		return Hive3
	case len(version) > 1 && version[:2] == "2.":
		return Hive2
	default:
		return Hive4
	}
}

// PlanChange compares two plans of one query, the earlier first, and names for each join with another strategy or streamed side
// what changed it. The cause is found by replaying the selector on the later plan with one thing at a time as it was before.
// Joins are matched by their tables; those of a different join order are left out.
func PlanChange(before, after PlanState) []Finding {
	var list []Finding
	for _, pair := range matchJoins(before.Verdicts, after.Verdicts) {
		b, a := pair[0], pair[1]
		moved := b.Join.BigTable != a.Join.BigTable && b.Join.BigTable >= 0 && a.Join.BigTable >= 0
		if b.Join.Strategy == a.Join.Strategy && !moved || b.Join.Strategy == Unknown || a.Join.Strategy == Unknown {
			continue
		}
		c := twoPlans{before: &before, after: &after, b: b, a: a}
		list = append(list, c.finding())
	}
	Complete(list, after.Verdicts)
	return list
}

// matchJoins pairs the joins of two plans that join the same tables by the same types, in plan order.
func matchJoins(before, after []JoinVerdict) [][2]*JoinVerdict {
	var pairs [][2]*JoinVerdict
	used := make([]bool, len(before))
	for i := range after {
		for k := range before {
			if !used[k] && sameJoin(&before[k].Join, &after[i].Join) {
				used[k] = true
				pairs = append(pairs, [2]*JoinVerdict{&before[k], &after[i]})
				break
			}
		}
	}
	return pairs
}

func sameJoin(a, b *Join) bool {
	return slices.Equal(a.Conditions, b.Conditions) &&
		slices.EqualFunc(a.Inputs, b.Inputs, func(x, y Input) bool { return slices.Equal(x.Tables, y.Tables) })
}

// twoPlans is one join in two plans.
type twoPlans struct {
	before, after *PlanState
	b, a          *JoinVerdict
}

func (c *twoPlans) finding() Finding {
	j := &c.a.Join
	kind, cause, advice, evidence := c.cause()
	evidence["strategy_before"], evidence["strategy_after"] = c.b.Join.Strategy, j.Strategy
	evidence["reason_before"], evidence["reason_after"] = c.b.Decision.Reason, c.a.Decision.Reason
	what := "the " + strategyWords[c.b.Join.Strategy] + " of " + names(j) + " became a " + strategyWords[j.Strategy]
	if c.b.Join.Strategy == j.Strategy {
		what = "the " + strategyWords[j.Strategy] + " of " + names(j) + " streams " + inputName(j, j.BigTable) + " in place of " + inputName(j, c.b.Join.BigTable)
	}
	severity := Low
	switch {
	case rank(j.Strategy) < rank(c.b.Join.Strategy):
		severity = Info
	case rank(j.Strategy) > rank(c.b.Join.Strategy) && kind != PlanChangedBySettings:
		severity = Medium
	}
	return Finding{
		Kind: kind, Severity: severity, Subject: "join " + strconv.Itoa(j.Ordinal), Evidence: evidence, Advice: advice,
		Summary: what + ": " + cause + "; before: " + c.b.Decision.Reason + "; now: " + c.a.Decision.Reason,
	}
}
