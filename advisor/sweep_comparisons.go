package advisor

// comparison is one that the selector may make of a join, with its numbers: it holds or does not.
type comparison struct {
	kind comparisonKind
	// value is what is compared; second is the other number where there are two.
	value, second int64
}

type comparisonKind uint8

const (
	// overBudget: the value divided by second is more than the budget.
	overBudget comparisonKind = iota
	// overShare: the value divided by the reducers is more than the budget.
	overShare
	// overEntries: more distinct keys than the entries limit, which is on.
	overEntries
	// withinShuffle: a big side within the shuffle limit, which is on.
	withinShuffle
	// overCross: more rows than a cross product hashes.
	overCross
	// dividedByReducers: more than one reducer, which divides a first attempt where reducers stand in for buckets.
	dividedByReducers
	// cheaperShuffle: a shuffle (second) moves less than the hashed sides (value) sent to every node.
	cheaperShuffle
)

// comparing are the numbers of the settings that comparisons need, worked out once.
type comparing struct {
	settings         *Settings
	budget, reducers int64
}

func newComparing(j *Join, s *Settings) comparing {
	return comparing{settings: s, budget: Budget(s), reducers: reducersFor(j, s)}
}

func (c comparison) holds(at *comparing) bool {
	s := at.settings
	switch c.kind {
	case overBudget:
		return c.value/c.second > at.budget
	case overShare:
		return c.value/at.reducers > at.budget
	case overEntries:
		return s.MaxEntries >= 1 && c.value > s.MaxEntries
	case withinShuffle:
		return s.ShuffleMaxSize >= 1 && c.value <= s.ShuffleMaxSize
	case overCross:
		return c.value > s.XProdSmallTableRows
	case dividedByReducers:
		return at.reducers > 1
	default:
		return c.second < nodes(s)*c.value
	}
}

// comparisons lists every one that any course of the selector can come to, whichever input it streams. The hashed bytes so far are those
// of the inputs passed but one, or of all of them while none may be streamed.
func comparisons(j *Join, s *Settings) []comparison {
	var c choosing
	c.init(j, s)
	n := len(j.Inputs)
	list := make([]comparison, 0, 3*n*(n+3)+4*n+1)
	buckets := bucketEstimate(j)
	if _, byReducers := firstDivisor(j, s); byReducers {
		list = append(list, comparison{kind: dividedByReducers})
	}
	budget := func(value int64) {
		list = append(list, comparison{overBudget, value, 1}, comparison{kind: overShare, value: value})
		if buckets > 1 {
			list = append(list, comparison{overBudget, value, buckets})
		}
	}
	var passed, all int64
	for pos := range j.Inputs {
		all += c.size(pos)
	}
	for pos := range j.Inputs {
		size := c.size(pos)
		passed += size
		budget(size)
		budget(passed)
		for big := 0; big <= pos; big++ {
			budget(passed - c.size(big))
		}
		if keys, known := distinctKeys(&j.Inputs[pos]); known {
			list = append(list, comparison{kind: overEntries, value: keys})
		}
		list = append(list,
			comparison{kind: withinShuffle, value: size},
			comparison{kind: overCross, value: j.Inputs[pos].Rows},
			comparison{kind: cheaperShuffle, value: all - size, second: all})
	}
	return list
}
