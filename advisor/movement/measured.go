package movement

// Place is one input of a query's joins.
type Place struct {
	// Join is the join's ordinal, Input the input's position.
	Join, Input int
}

// Measured is what is known of a query's joins beyond the planner's estimates. The zero value knows nothing.
type Measured struct {
	// ActualRows are rows that really came into an input. What EXPLAIN ANALYZE counted is read from the plan and need not be here; Counted
	// takes them from elsewhere.
	ActualRows map[Place]int64
	// TopShare is the share of an input's rows, from 0 to 1, that have its most frequent key.
	TopShare map[Place]float64
}
