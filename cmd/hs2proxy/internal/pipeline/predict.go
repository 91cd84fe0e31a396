package pipeline

import (
	"fmt"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/store"
)

// predict is the strategy that a join should get once a table's statistics are true, and the number that rests on. Only that table's
// statistics are about to change, so those of others stay as the planner believes them, true or not. Empty without a better number, and
// where the simulation does not explain the plan of now.
func predict(v *advisor.JoinVerdict, table string, s *advisor.Settings) (advisor.Strategy, string) {
	growth, known := v.Verdict.Growth[table]
	switch {
	case !v.Verdict.Agrees:
		return "", "no prediction: the rules do not explain the strategy of now"
	case !known:
		return "", "no prediction: no better number of rows is known than the planner's"
	}
	if now, _ := advisor.Choose(&v.Join, s); now != v.Verdict.Simulated {
		return "", "no prediction: the decision of now could not be repeated"
	}
	resized, changed := advisor.Resize(v.Join, map[string]float64{table: growth})
	if !changed {
		return "", "no prediction: no input of the join grows with the table"
	}
	expected, _ := advisor.Choose(&resized, s)
	return expected, fmt.Sprintf("%s has %.3g times the rows the planner takes it for", table, growth)
}

// settingsOf are the settings an analysis was made with.
func settingsOf(a *store.Analysis) advisor.Settings {
	s := advisor.NewSettings(a.Settings)
	if s.Nodes == 0 && a.Nodes > 0 {
		s = s.WithCluster(a.Nodes, a.NodeExecutors)
	}
	return s
}
