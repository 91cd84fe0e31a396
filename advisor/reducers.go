package advisor

import "math"

// reducersFor is the number of reducers of the join's stage, the divisor of a dynamically partitioned hash join
// (SetReducerParallelism, Utilities.estimateReducers).
func reducersFor(j *Join, s *Settings) int64 {
	if isCross(j) {
		return 1 // rows without a key have one place to go
	}
	if s.FixedReducers > 0 {
		return s.FixedReducers
	}
	var bytes int64
	for i := range j.Inputs {
		bytes = addSaturating(bytes, j.Inputs[i].DataSize)
	}
	n := math.Ceil(float64(max(bytes, s.BytesPerReducer)) / float64(s.BytesPerReducer))
	// A number of reducers is a 32-bit integer in Hive; an absurd setting ends at its edge.
	reducers := int64(math.MaxInt32)
	if n < math.MaxInt32 {
		reducers = toInt(n)
	}
	reducers = min(max(reducers, 1), s.ReducersMax)
	return max(reducers, 1)
}
