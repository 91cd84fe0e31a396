package advisor

import "math/bits"

// Fidelity sets what the planner logged of a join beside what the simulation computes from the same plan. The simulation uses none of it
// but the LLAP cluster, where no setting names one: a budget under LLAP then rests on the executors the planner found.
type Fidelity struct {
	// Strategy is what the planner's last words imply; Unknown when its log breaks off before them.
	Strategy Strategy `json:"strategy"`
	// Budget is maxJoinMemory in bytes.
	Budget Compared `json:"budget"`
	// Sizes are onlineDataSize in bytes, of the inputs that the planner measured before it decided.
	Sizes []ComparedInput `json:"sizes,omitempty"`
	// Entries are the distinct keys of the inputs whose number was tested against hive.auto.convert.join.hashtable.max.entries.
	Entries []ComparedInput `json:"entries,omitempty"`
	// Nodes is the LLAP node count that network costs were computed with; nil when none were, or when nobody else tells the number.
	Nodes *Compared `json:"nodes,omitempty"`
}

// Compared is one number of the planner's and the simulation's; Simulated is nil when the simulation does not know it.
type Compared struct {
	Witnessed int64  `json:"witnessed"`
	Simulated *int64 `json:"simulated"`
}

// ComparedInput is a number of the input at a position.
type ComparedInput struct {
	Position int `json:"position"`
	Compared
}

// Equal reports whether the two numbers are the same.
func (c Compared) Equal() bool { return c.Simulated != nil && *c.Simulated == c.Witnessed }

// Near reports whether the simulated number is within 1 % of the planner's.
func (c Compared) Near() bool {
	if c.Simulated == nil {
		return false
	}
	high, low := bits.Mul64(distance(c.Witnessed, *c.Simulated), 100)
	return high == 0 && low <= distance(c.Witnessed, 0)
}

// distance is |a − b|, which an int64 may not hold.
func distance(a, b int64) uint64 {
	if a < b {
		a, b = b, a
	}
	return uint64(a) - uint64(b) //nolint:gosec // the difference of two's complements is the distance
}

// Compare returns the planner's numbers beside those of the verdict, nil where the planner gave none. nodes is the LLAP node count as
// known without the planner's lines, 0 when it is not.
func Compare(v *JoinVerdict, w *WitnessJoin, nodes int64) *Fidelity {
	if w == nil {
		return nil
	}
	f := &Fidelity{Strategy: w.Strategy, Budget: against(w.Budget, v.Decision.Budget)}
	for pos := range min(len(w.Inputs), len(v.Join.Inputs)) {
		in := &w.Inputs[pos]
		if in.measured() && pos < len(v.Decision.OnlineDataSizes) {
			f.Sizes = append(f.Sizes, ComparedInput{pos, against(in.OnlineDataSize, v.Decision.OnlineDataSizes[pos])})
		}
		if in.NDV != nil {
			c := Compared{Witnessed: *in.NDV}
			if n, known := distinctKeys(&v.Join.Inputs[pos]); known {
				c.Simulated = &n
			}
			f.Entries = append(f.Entries, ComparedInput{pos, c})
		}
	}
	if w.Nodes > 0 && nodes > 0 {
		c := against(w.Nodes, nodes)
		f.Nodes = &c
	}
	return f
}

func against(witnessed, simulated int64) Compared {
	return Compared{Witnessed: witnessed, Simulated: &simulated}
}
