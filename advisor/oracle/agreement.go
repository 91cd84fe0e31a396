package oracle

import (
	"fmt"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// Agreement counts where the simulation, on the product's own path, agrees with the planner.
type Agreement struct {
	// Differs is told each difference: what differs, and a sentence.
	Differs func(kind, sentence string)

	// Joins is how many the planner decided; StrategyEqual and BigTableEqual those with its strategy and its streamed position.
	Joins, StrategyEqual, BigTableEqual int
	// Inputs had complete statistics; SizeEqual those of them with the planner's online data size, to the byte. Incomplete and
	// IncompleteEqual are the same of all other inputs, Budgets how many joins have the planner's budget.
	Inputs, SizeEqual           int
	Incomplete, IncompleteEqual int
	Budgets                     int
	// Refused queries have no plan; RefusedOK of them get no verdict, and Hive's message is read as no plan either.
	Refused, RefusedOK int
}

// String is one line of the counts.
func (a *Agreement) String() string {
	return fmt.Sprintf("joins=%d strategy_equal=%d big_table_equal=%d inputs=%d size_equal=%d refused_ok=%d",
		a.Joins, a.StrategyEqual, a.BigTableEqual, a.Inputs, a.SizeEqual, a.RefusedOK)
}

// Equal reports whether nothing differs.
func (a *Agreement) Equal() bool {
	return a.StrategyEqual == a.Joins && a.BigTableEqual == a.Joins && a.SizeEqual == a.Inputs && a.RefusedOK == a.Refused
}

func (a *Agreement) differs(kind, format string, args ...any) {
	if a.Differs != nil {
		a.Differs(kind, fmt.Sprintf(format, args...))
	}
}

// Add judges a case. Joins that the plan's reader misses count as not equal.
func (a *Agreement) Add(c *Case) {
	if c.Error != "" {
		a.refused(c)
		return
	}
	joins, s, err := c.Joins()
	if err != nil || len(joins) != len(c.Truth) {
		a.Joins += len(c.Truth)
		for _, j := range c.Truth {
			for i := range j.Inputs {
				a.input(&j.Inputs[i], false)
			}
		}
		a.differs("plan", "%s: %d joins read, the planner decided %d (%v)", c.ID, len(joins), len(c.Truth), err)
		return
	}
	for i := range joins {
		d := advisor.Explain(joins[i], s)
		a.Compare(fmt.Sprintf("%s join %d", c.ID, i), &c.Truth[i], &joins[i], &d)
	}
}

// refused: Hive's refusal is an answer without a plan, and no verdict may be made of it.
func (a *Agreement) refused(c *Case) {
	a.Refused++
	if p, err := explain.Parse(c.Error); err == nil {
		a.differs("refused", "%s: %d joins read from Hive's refusal: %s", c.ID, len(advisor.Joins(p)), c.Error)
		return
	}
	a.RefusedOK++
}

func (a *Agreement) input(in *Input, equal bool) {
	all, same := &a.Incomplete, &a.IncompleteEqual
	if in.Complete() {
		all, same = &a.Inputs, &a.SizeEqual
	}
	*all++
	if equal {
		*same++
	}
}

// Compare judges one join; where names it for a reader.
func (a *Agreement) Compare(where string, want *Join, j *advisor.Join, d *advisor.Decision) {
	a.Joins++
	if d.Strategy == want.Strategy {
		a.StrategyEqual++
	} else {
		a.differs("strategy", "%s: planner %s, simulated %s: %s", where, want.Strategy, d.Strategy, d.Reason)
	}
	switch {
	case want.BigTable == nil || *want.BigTable == d.PlanPosition:
		a.BigTableEqual++
	default:
		a.differs("big table", "%s: %s, planner %d, simulated %d", where, d.Strategy, *want.BigTable, d.PlanPosition)
	}
	if d.Budget == want.Budget {
		a.Budgets++
	} else {
		a.differs("budget", "%s: planner %d, simulated %d", where, want.Budget, d.Budget)
	}
	for i := range want.Inputs {
		in := &want.Inputs[i]
		got := int64(-1)
		if in.Pos < len(d.OnlineDataSizes) {
			got = d.OnlineDataSizes[in.Pos]
		}
		a.input(in, got == in.OnlineSize)
		if got != in.OnlineSize {
			a.differs("size "+in.ColumnStats, "%s input %d (%v): planner %d, simulated %d, rows %d", where, in.Pos, j.Inputs[in.Pos].Tables, in.OnlineSize, got, in.Rows)
		}
	}
}
