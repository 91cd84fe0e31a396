package advisor

// Decision is what the simulated selector chose for a join and why.
type Decision struct {
	Strategy Strategy `json:"strategy"`
	// BigTable is the streamed position; −1 for a merge join.
	BigTable int `json:"big_table"`
	// PlanPosition is the position Hive prints as "Position of Big Table": BigTable, or for a merge join the input it would stream.
	PlanPosition int `json:"plan_position"`
	// Refused: the planner fails on the query (LLAP without a registry has no node count to compare costs with); Strategy is Unknown.
	Refused bool `json:"refused,omitempty"`
	// Budget is maxJoinMemory in bytes.
	Budget int64 `json:"budget"`
	// OnlineDataSizes are the simulated hash-table sizes in bytes, by input position.
	OnlineDataSizes []int64 `json:"online_data_sizes"`
	// Attempts are the checks in Hive's order; the last one decided.
	Attempts []Attempt `json:"attempts"`
	// Reason is one sentence with the deciding comparison and both numbers.
	Reason string `json:"reason"`
	// Margin says how far the decision is from flipping; nil when no size decides it.
	Margin *Margin `json:"margin,omitempty"`
	// Uncertain lists facts the simulation had to assume (a column without known statistics, an unknown node count).
	Uncertain []string `json:"uncertain,omitempty"`
}

// Attempt is one check of the selector: what was tried, whether it held, and the comparison that decided.
type Attempt struct {
	Strategy Strategy `json:"strategy"`
	Check    string   `json:"check"`
	OK       bool     `json:"ok"`
	// Left and Right are the two numbers compared (bytes or rows, as Check says); nil when the check compares none.
	Left  *int64 `json:"left,omitempty"`
	Right *int64 `json:"right,omitempty"`
	Note  string `json:"note,omitempty"`
}

// Margin is the factor by which the hashed side may grow (> 1) or must shrink (< 1) before the strategy becomes Next.
type Margin struct {
	Factor float64  `json:"factor"`
	Next   Strategy `json:"next"`
}

// Verdict compares the plan with the simulation.
type Verdict struct {
	Planned   Strategy `json:"planned"`
	Simulated Strategy `json:"simulated"`
	// Expected is Select on the best-known true numbers; empty when nothing better than the plan's numbers is known.
	Expected Strategy `json:"expected,omitempty"`
	// Growth is the true rows over the planner's rows by table that Expected rests on; nil with an empty Expected.
	Growth map[string]float64 `json:"growth,omitempty"`
	// Agrees: planned equals simulated, big table included where both stream one.
	Agrees bool `json:"agrees"`
}

// JoinVerdict is a join with what was made of it.
type JoinVerdict struct {
	Join     Join     `json:"join"`
	Decision Decision `json:"decision"`
	Verdict  Verdict  `json:"verdict"`
	// Fidelity has the planner's own numbers beside the simulated ones; nil where the server gave none of this join.
	Fidelity *Fidelity `json:"fidelity,omitempty"`
}
