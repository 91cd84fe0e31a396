package advisor

import "strings"

// LeverKind is what a lever moves. The order of the constants is the order in which levers are worth pulling.
type LeverKind string

// Kinds of levers, in order: accurate numbers first, then memory, then the session's switches, then the layout of the data.
const (
	LeverStatistics LeverKind = "STATISTICS"
	LeverBudget     LeverKind = "BUDGET"
	LeverSwitch     LeverKind = "SWITCH"
	LeverLayout     LeverKind = "LAYOUT"
)

// Lever is one thing that changes the strategy of a join. The selector has confirmed it: replayed with the lever pulled it
// chooses Strategy.
type Lever struct {
	Kind LeverKind `json:"kind"`
	// Apply is ready to run, one statement a line: ANALYZE, SET, ALTER TABLE. Empty where Refused says why not.
	Apply string `json:"apply,omitempty"`
	// Strategy is what the selector then chooses.
	Strategy Strategy `json:"strategy"`
	// Effect is one clause with the numbers: on what the strategy rests.
	Effect string `json:"effect"`
	// Refused says why the lever would work and must not be pulled: there is no memory behind the budget. Empty for all others.
	Refused string `json:"refused,omitempty"`
}

// Levers lists what would give the join a cheaper strategy, in the order statistics, budget, switches, layout. The statistics
// lever may also give a costlier one: it is the true one. A join whose plan the rules do not arrive at has none, since the
// selector can confirm nothing about it.
func Levers(v JoinVerdict, s Settings) []Lever {
	l := leverage{join: &v.Join, verdict: &v, settings: &s, now: v.Decision.Strategy}
	if !v.Verdict.Agrees || v.Decision.Refused || l.now == Unknown || len(v.Join.Inputs) < 2 {
		return nil
	}
	l.statistics()
	l.budget()
	l.switches()
	l.layout()
	return l.list
}

// leverage is one run of Levers.
type leverage struct {
	join     *Join
	verdict  *JoinVerdict
	settings *Settings
	now      Strategy
	list     []Lever
}

func (l *leverage) add(lever Lever) { l.list = append(l.list, lever) }

// under chooses again under changed settings.
func (l *leverage) under(change func(*Settings)) Strategy {
	return chooseUnder(l.join, l.settings, change)
}

func chooseUnder(j *Join, s *Settings, change func(*Settings)) Strategy {
	changed := *s
	change(&changed)
	got, _ := Choose(j, &changed)
	return got
}

// better: cheaper at run time than what is planned now.
func (l *leverage) better(s Strategy) bool { return s != Unknown && rank(s) < rank(l.now) }

// hashed returns the sizes of the hashed and of the streamed side, in bytes.
func (l *leverage) hashed() (small, large int64, sides []bool) {
	sides = hashedSide(l.join, l.settings, &l.verdict.Decision)
	for pos, is := range sides {
		if is {
			small = addSaturating(small, l.verdict.Decision.OnlineDataSizes[pos])
		} else {
			large = addSaturating(large, l.verdict.Decision.OnlineDataSizes[pos])
		}
	}
	return small, large, sides
}

// AdviceOf writes levers as one advice, a statement a line, each with what it gives; refused ones as comments.
func AdviceOf(levers []Lever) string {
	lines := make([]string, 0, len(levers))
	for _, l := range levers {
		if l.Refused != "" {
			lines = append(lines, "-- no larger budget: "+l.Refused)
			continue
		}
		lines = append(lines, l.Apply+" -- "+strategyWords[l.Strategy]+": "+l.Effect)
	}
	return strings.Join(lines, "\n")
}
