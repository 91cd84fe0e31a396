package check

import (
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// ChangeKind is what of a join changed.
type ChangeKind string

// Kinds of changes. InputsChanged: the planner joins in another order, or the statement joins other tables.
const (
	StrategyChanged ChangeKind = "strategy"
	BigTableChanged ChangeKind = "big_table"
	InputsChanged   ChangeKind = "inputs"
	JoinAdded       ChangeKind = "join_added"
	JoinRemoved     ChangeKind = "join_removed"
)

// Change is one difference between a join and the one it was.
type Change struct {
	Kind ChangeKind `json:"kind"`
	// Inputs are the join's, those of the baseline for a join that is removed.
	Inputs []string `json:"inputs"`
	Type   string   `json:"type"`
	// Was and Now are strategies, for BigTableChanged and InputsChanged names of inputs; empty where there is none.
	Was string `json:"was,omitempty"`
	Now string `json:"now,omitempty"`
	// Reason is why Hive plans the join as it does now.
	Reason string `json:"reason,omitempty"`
}

// text is the change in one line: "MAP_JOIN → MERGE_JOIN: a, b (INNER)".
func (c Change) text() string {
	join := c.join()
	switch c.Kind {
	case JoinAdded:
		return "a join more, " + c.Now + ": " + join
	case JoinRemoved:
		return "a join less, " + c.Was + ": " + join
	case BigTableChanged:
		return "streams " + orNothing(c.Now) + " in place of " + orNothing(c.Was) + ": " + join
	case InputsChanged:
		return "joins " + join + " in place of " + c.Was
	default:
		return c.Was + " → " + c.Now + ": " + join
	}
}

// join names the join: "a, b (INNER)".
func (c Change) join() string {
	join := strings.Join(c.Inputs, ", ")
	if c.Type != "" {
		join += " (" + c.Type + ")"
	}
	return join
}

func orNothing(name string) string {
	if name == "" {
		return "nothing"
	}
	return name
}

// changes compares the joins of one statement. The order of a plan's joins depends on their strategies, so each is compared with
// the one of the same inputs where there is one, else with the next that is left.
func changes(was, now []Join) []Change {
	to := pairJoins(was, now)
	var list []Change
	for i, n := range now {
		c := Change{Inputs: n.Inputs, Type: n.Type, Reason: n.Reason}
		if to[i] < 0 {
			c.Kind, c.Now = JoinAdded, string(n.Strategy)
			list = append(list, c)
			continue
		}
		w := was[to[i]]
		switch {
		case w.Strategy != n.Strategy:
			c.Kind, c.Was, c.Now = StrategyChanged, string(w.Strategy), string(n.Strategy)
		case tablesKey(w) != tablesKey(n):
			c.Kind, c.Was, c.Now = InputsChanged, strings.Join(w.Inputs, ", "), strings.Join(n.Inputs, ", ")
		case w.BigTable != n.BigTable && (inputsKey(w) == inputsKey(n) || tablesOf(w.BigTable) != tablesOf(n.BigTable)):
			c.Kind, c.Was, c.Now = BigTableChanged, w.BigTable, n.BigTable
		default:
			continue
		}
		list = append(list, c)
	}
	for i, w := range was {
		if !slices.Contains(to, i) {
			list = append(list, Change{Kind: JoinRemoved, Inputs: w.Inputs, Type: w.Type, Was: string(w.Strategy)})
		}
	}
	return list
}

// pairJoins tells for each join of now which of was it is; −1 for none.
func pairJoins(was, now []Join) []int {
	to := make([]int, len(now))
	for i := range to {
		to[i] = -1
	}
	anyKey := func(Join) string { return "" }
	for _, key := range []func(Join) string{joinKey, inputsKey, tablesKey, anyKey} {
		for i := range now {
			for w := range was {
				if to[i] < 0 && !slices.Contains(to, w) && key(now[i]) == key(was[w]) {
					to[i] = w
				}
			}
		}
	}
	return to
}

func joinKey(j Join) string { return j.Type + "\x00" + inputsKey(j) }

// inputsKey is the same for the same inputs in any order: an outer join's sides are swapped with its type.
func inputsKey(j Join) string { return strings.Join(slices.Sorted(slices.Values(j.Inputs)), "\x00") }

// tablesKey is inputsKey without aliases.
func tablesKey(j Join) string {
	tables := make([]string, len(j.Inputs))
	for i, in := range j.Inputs {
		tables[i] = tablesOf(in)
	}
	slices.Sort(tables)
	return strings.Join(tables, "\x00")
}

// tablesOf is an input's name without the alias.
func tablesOf(input string) string {
	tables, _, _ := strings.Cut(input, " ")
	return tables
}

// findings marks those that the record does not know: another kind or another subject, or a severity that rose.
func findings(was []Finding, o *Outcome) []FindingState {
	left := map[string][]advisor.Severity{}
	for _, f := range was {
		left[f.key()] = append(left[f.key()], f.Severity)
	}
	list := make([]FindingState, 0, len(o.Findings))
	for i := range o.Findings {
		f := &o.Findings[i]
		st := FindingState{Finding: findingOf(f, o.Joins), Summary: f.Summary, Advice: f.Advice}
		known := left[st.key()]
		st.New = len(known) == 0 || severityRank(known[0]) < severityRank(st.Severity)
		if len(known) > 0 {
			left[st.key()] = known[1:]
		}
		list = append(list, st)
	}
	return list
}
