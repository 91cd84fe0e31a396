package pipeline

import (
	"sync/atomic"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// Counters count what the pipeline did and what it let go. All are since the start.
type Counters struct {
	Explained, Reused, Refused, Failed, Skipped atomic.Int64
	Recorded, RecordDropped, RecordFailed       atomic.Int64
	// Spooled records were put on disk, Replayed ones came from there into the store, SpoolDropped ones will never (no room,
	// or not readable). SpoolFaults counts the times the disk refused.
	Spooled, Replayed, SpoolDropped, SpoolFaults atomic.Int64
	Panics                                       atomic.Int64
	// Strategies, Budgets and Sizes compare the simulation with the planner.
	Strategies, Budgets, Sizes Agreement
}

// Agreement counts numbers that were compared, and those of them that agree.
type Agreement struct{ Compared, Agreed atomic.Int64 }

func (a *Agreement) add(agrees bool) {
	a.Compared.Add(1)
	if agrees {
		a.Agreed.Add(1)
	}
}

// compared counts the joins of an analysis: strategies with the streamed side, budgets to the byte, sizes within 1 %.
func (c *Counters) compared(joins []advisor.JoinVerdict) {
	for i := range joins {
		v := &joins[i]
		if v.Join.Strategy == advisor.Unknown {
			continue
		}
		c.Strategies.add(v.Verdict.Agrees)
		if v.Fidelity == nil {
			continue
		}
		c.Budgets.add(v.Fidelity.Budget.Equal())
		for _, size := range v.Fidelity.Sizes {
			c.Sizes.add(size.Near())
		}
	}
}
