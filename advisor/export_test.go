package advisor

// What the tests that compare single steps with a real planner look at.
var (
	BucketEstimate = bucketEstimate
	ReducersFor    = reducersFor
	DistinctKeys   = distinctKeys
)

// Decide is Select without the margin, and with the sizes that a witness gave.
func Decide(j *Join, s *Settings) Decision { return decide(j, s, true) }
