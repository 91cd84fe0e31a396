package advisor

import "strings"

// strategyWords is how a sentence calls a strategy.
var strategyWords = map[Strategy]string{
	MapJoin:       "map join",
	BucketMapJoin: "bucket map join",
	DPHJ:          "dynamically partitioned hash join",
	SMB:           "sort-merge-bucket join",
	MergeJoin:     "merge join",
	Unknown:       "no plan",
}

// reason is one sentence: each attempt that failed, then the one that held, with the numbers that decided.
func (c *choosing) reason(got choice) string {
	var parts []string
	for i := range c.nsteps {
		if text := c.clause(&c.steps[i], i == c.nsteps-1 || c.steps[i].strategy == got.strategy); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "; ") + ": " + strategyWords[got.strategy]
}

// clause says what a step found; decisive marks a step whose success is the decision.
func (c *choosing) clause(st *step, decisive bool) string {
	j := c.join
	left, right := humanPair(st.left, st.right)
	shared := ""
	if st.divisor > 1 {
		shared = " (divided by " + count(st.divisor, st.divisorWord()) + ")"
	}
	no := ": no " + strategyWords[st.strategy]
	switch st.check {
	case checkAutoConvert:
		return "hive.auto.convert.join is off"
	case checkLastOuter:
		return "the last of several conditions is an outer join" + no
	case checkNoCandidate:
		return "the join type lets no input be streamed" + no
	case checkStatistics:
		return inputName(j, int(st.pos)) + " has no statistics" + no
	case checkUncounted:
		return inputName(j, int(st.pos)) + " lies above a sort-merge-bucket join, where the planner cannot count rows" + no
	case checkSecondBig:
		return inputName(j, int(st.pos)) + " is a second input above the budget, " + left + " against " + right + shared + no
	case checkMustHash:
		return inputName(j, int(st.pos)) + " must be hashed and needs " + left + " of hash table, the budget is " + right + shared + no
	case checkTotal:
		return c.hashedNames(int(st.pos)) + " needs " + left + " of hash table, the budget is " + right + shared + no
	case checkEntries:
		return inputName(j, int(st.pos)) + " has " + grouped(st.left) + " distinct keys, the limit is " + grouped(st.right) + ", and the big side is within the shuffle limit" + no
	case checkCross:
		return inputName(j, int(st.pos)) + " has " + grouped(st.left) + " rows, a cross product hashes at most " + grouped(st.right) + no
	case checkFits:
		if !decisive {
			return ""
		}
		return "the hashed side needs " + left + " of hash table, the budget is " + right + shared
	case checkBucketLayout:
		if st.ok {
			return inputName(j, int(st.pos)) + " is streamed by its buckets"
		}
		return st.why.text(j, c.settings) + no
	case checkFitsUnbucketed:
		if st.ok {
			return ""
		}
		return "without buckets the hashed side needs " + left + ", the budget is " + right
	case checkNetwork:
		word := " moves more than "
		if st.ok {
			word = " moves less than "
		}
		return "on " + count(st.divisor, "node") + " a shuffle of both sides (" + left + ")" + word + "the hashed side to every node (" + right + ")"
	case checkCrowdedNowhere:
		return "Hive refuses the query: " + inputName(j, int(st.pos)) + " has " + grouped(st.left) + " distinct keys, the limit is " + grouped(st.right) + ", and it looks for the size of a side to stream where the join type lets it stream none"
	case checkNoCluster:
		return "Hive refuses the query: LLAP has no registry to count nodes with"
	case checkSortMerge:
		if st.ok {
			return "both sides are bucketed and sorted by the keys"
		}
		return st.why.text(j, c.settings) + no
	case checkFullOuter:
		return "FULL OUTER is never a " + strategyWords[st.strategy]
	case checkDPHJOff:
		return "hive.optimize.dynamic.partition.hashjoin is off"
	case checkFullOuterDPHJ, checkKeyColumns:
		return st.why.text(j, c.settings) + no
	default:
		return ""
	}
}

// hashedNames names the input whose hashing went over the budget, and that it is one of several where it is.
func (c *choosing) hashedNames(pos int) string {
	name := inputName(c.join, pos)
	if len(c.join.Inputs) > 2 {
		return "the hashed inputs up to " + name
	}
	return name
}
