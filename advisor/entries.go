package advisor

import "math"

// distinctKeys estimates the entries of a hash table of the input: the distinct values of its key columns
// (ConvertJoinMapJoin.checkNumberOfEntriesForHashTable). known is false when a key has no statistics; the planner then skips the test.
func distinctKeys(in *Input) (n int64, known bool) {
	if len(in.Keys) == 1 {
		if in.Keys[0].NDV == nil {
			return 0, false
		}
		return *in.Keys[0].NDV, true
	}
	product := int64(1)
	for i := range in.Keys {
		ndv := in.Keys[i].NDV
		if ndv == nil {
			return 0, false
		}
		if *ndv > 1 {
			product = mulSaturating(product, *ndv)
		}
	}
	return expectedDistinct(product, in.Rows), true
}

// expectedDistinct is the number of distinct values to expect of rows draws from n values: n·(1 − ((n−1)/n)^rows), at most rows.
func expectedDistinct(n, rows int64) int64 {
	values := float64(n)
	miss := (values - 1) / values
	if miss == 1 {
		return rows // beyond what a double resolves
	}
	if rows <= 0 {
		return 0
	}
	// miss^rows, accurate to the last place near 1, where every bit counts: miss − 1 is exact.
	expected := values * (1 - math.Exp(float64(rows)*math.Log1p(miss-1)))
	return min(toInt(math.Floor(expected+0.5)), rows)
}
