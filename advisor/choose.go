package advisor

import "math"

// check names a comparison of the selector; checkTexts holds the words shown.
type check uint8

const (
	checkNone check = iota
	checkAutoConvert
	checkLastOuter
	checkNoCandidate
	checkStatistics
	checkUncounted
	checkSecondBig
	checkMustHash
	checkTotal
	checkEntries
	checkCross
	checkFits
	checkBucketLayout
	checkFitsUnbucketed
	checkNetwork
	checkNoCluster
	checkCrowdedNowhere
	checkSortMerge
	checkFullOuter
	checkDPHJOff
	checkFullOuterDPHJ
	checkKeyColumns
	checkMerge
)

var checkTexts = [...]string{
	checkNone:           "",
	checkAutoConvert:    "hive.auto.convert.join is on",
	checkLastOuter:      "no outer join as last condition of three or more inputs",
	checkNoCandidate:    "the join type lets an input be streamed",
	checkStatistics:     "every input has statistics",
	checkUncounted:      "every operator below an input has an estimate, or an input above the budget comes first",
	checkSecondBig:      "only one input exceeds the budget (bytes)",
	checkMustHash:       "the input that must be hashed fits the budget (bytes)",
	checkTotal:          "the hashed inputs together fit the budget (bytes)",
	checkEntries:        "distinct keys within hive.auto.convert.join.hashtable.max.entries, or a big side above the shuffle limit (keys)",
	checkCross:          "the hashed side of the cross product is small (rows)",
	checkFits:           "the hashed inputs fit the budget (bytes)",
	checkBucketLayout:   "the bucket layout allows a bucket map join",
	checkFitsUnbucketed: "the hashed inputs fit without buckets (bytes)",
	checkNetwork:        "shuffling both sides moves less than sending the hashed sides to every node (bytes)",
	checkNoCluster:      "the LLAP cluster is known",
	checkCrowdedNowhere: "distinct keys within hive.auto.convert.join.hashtable.max.entries, where no side is streamed (keys)",
	checkSortMerge:      "both sides are bucketed and sorted by the keys",
	checkFullOuter:      "not a FULL OUTER join",
	checkDPHJOff:        "hive.optimize.dynamic.partition.hashjoin is on",
	checkFullOuterDPHJ:  "the FULL OUTER join can be hashed",
	checkKeyColumns:     "every key is a column of its shuffle",
	checkMerge:          "nothing faster is left",
}

// step is one attempt, compact: no text is made until somebody reads it.
type step struct {
	strategy    Strategy
	check       check
	ok          bool
	numbers     bool // left and right are compared
	pos         int16
	divisor     int64
	byReducers  bool // the divisor is a number of reducers
	left, right int64
	why         obstacle
}

const (
	inlineInputs = 8
	inlineSteps  = 12
)

// choosing is one run of the selector.
type choosing struct {
	join     *Join
	settings *Settings
	budget   int64
	sizes    [inlineInputs]int64
	long     bool
	// witness: use the planner's own sizes where an input has them, to test the order of attempts apart from the estimate.
	witness bool
	steps   [inlineSteps]step
	nsteps  int
}

func (c *choosing) size(pos int) int64 {
	if pos < inlineInputs {
		return c.sizes[pos]
	}
	return c.measure(pos)
}

func (c *choosing) measure(pos int) int64 {
	in := &c.join.Inputs[pos]
	if c.witness && in.OnlineDataSize != nil {
		return *in.OnlineDataSize
	}
	return onlineSize(in, c.long, c.settings)
}

func (c *choosing) note(s Strategy, ok bool, st step) {
	st.strategy, st.ok = s, ok
	if c.nsteps == inlineSteps {
		c.nsteps-- // the last one decides; it may not be lost
	}
	c.steps[c.nsteps] = st
	c.nsteps++
}

// choice is what one run decided.
type choice struct {
	strategy Strategy
	big      int
	refused  bool
}

func (c *choosing) init(j *Join, s *Settings) {
	c.join, c.settings, c.budget = j, s, Budget(s)
	c.long = longKeyed(j)
	for i := 0; i < len(j.Inputs) && i < inlineInputs; i++ {
		c.sizes[i] = c.measure(i)
	}
}

// run tries the strategies in the order of ConvertJoinMapJoin.process.
func (c *choosing) run() choice {
	j, s := c.join, c.settings
	if !s.AutoConvertJoin {
		c.note(MapJoin, false, step{check: checkAutoConvert})
		if big, ok := c.trySortMerge(); ok {
			return choice{strategy: SMB, big: big}
		}
		return c.merge()
	}
	buckets, byReducers := firstDivisor(j, s)
	first, label := c.convert(conversion{divisor: buckets, budget: c.budget, thresholds: true}), MapJoin
	if buckets > 1 {
		label = BucketMapJoin
	}
	c.noteOutcome(label, first, buckets, byReducers)
	if first.failed.check == checkCrowdedNowhere {
		return choice{strategy: Unknown, big: -1, refused: true}
	}
	if first.big < 0 {
		if big, ok := c.trySortMerge(); ok {
			return choice{strategy: SMB, big: big}
		}
		return c.reduceSide()
	}
	second := first
	if buckets > 1 {
		if got, done := c.bucketed(first); done {
			return got
		}
		second = c.convert(conversion{divisor: 1, budget: c.budget, thresholds: true})
		c.noteOutcome(MapJoin, second, 1, false)
	}
	if second.big < 0 {
		return c.reduceSide()
	}
	if isFullOuter(j) {
		c.note(MapJoin, false, step{check: checkFullOuter})
		return c.reduceSide()
	}
	return choice{strategy: MapJoin, big: second.big}
}

func (c *choosing) noteOutcome(s Strategy, o outcome, divisor int64, byReducers bool) {
	if o.big < 0 {
		o.failed.divisor, o.failed.byReducers = divisor, byReducers
		c.note(s, false, o.failed)
		return
	}
	c.note(s, true, step{check: checkFits, divisor: divisor, byReducers: byReducers, left: o.total / divisor, right: c.budget, numbers: true, pos: int16(o.big)}) //nolint:gosec // a position
}

// bucketed decides after a first attempt that passed with a bucket divisor.
func (c *choosing) bucketed(first outcome) (choice, bool) {
	s := c.settings
	if !s.LLAP || !s.DPHJ || !s.comparesNetwork() {
		return c.tryBucketMapJoin(first.big)
	}
	if !registryAnswers(s) {
		c.note(DPHJ, false, step{check: checkNoCluster})
		return choice{strategy: Unknown, big: -1, refused: true}, true
	}
	n := c.network(first.big)
	if s.comparesBeforeNetwork() {
		fits := n.small <= c.budget
		c.note(MapJoin, fits, step{check: checkFitsUnbucketed, left: n.small, right: c.budget, numbers: true})
		if fits {
			return choice{}, false
		}
	}
	cheaper := n.dphj < n.bmj
	c.note(DPHJ, cheaper, step{check: checkNetwork, left: n.dphj, right: n.bmj, numbers: true, divisor: n.nodes})
	if cheaper {
		return c.tryDPHJ()
	}
	return c.tryBucketMapJoin(first.big)
}

func (c *choosing) tryBucketMapJoin(big int) (choice, bool) {
	if isFullOuter(c.join) {
		c.note(BucketMapJoin, false, step{check: checkFullOuter})
		return choice{}, false
	}
	why := bucketLayout(c.join, big, c.settings)
	c.note(BucketMapJoin, why.ok(), step{check: checkBucketLayout, why: why, pos: int16(big)}) //nolint:gosec // a position
	return choice{strategy: BucketMapJoin, big: big}, why.ok()
}

func (c *choosing) trySortMerge() (int, bool) {
	big, why := sortMerge(c.join, c.settings)
	c.note(SMB, why.ok(), step{check: checkSortMerge, why: why})
	return big, why.ok()
}

// tryDPHJ divides by the reducers and leaves the entries limit out.
func (c *choosing) tryDPHJ() (choice, bool) {
	divisor := reducersFor(c.join, c.settings)
	o := c.convert(conversion{divisor: divisor, budget: c.budget})
	if o.big >= 0 && isFullOuter(c.join) {
		if fullOuterHash(c.join, c.settings) != "" {
			c.note(DPHJ, false, step{check: checkFullOuterDPHJ, why: obstacle{kind: fullOuterBlocked}})
			return choice{}, false
		}
	}
	if pos := constantKeyed(c.join); o.big >= 0 && pos >= 0 && c.settings.Release == Hive4 {
		c.note(DPHJ, false, step{check: checkKeyColumns, why: obstacle{kind: constantKey, pos: pos}})
		return choice{}, false
	}
	c.noteOutcome(DPHJ, o, divisor, true)
	return choice{strategy: DPHJ, big: o.big}, o.big >= 0
}

// constantKeyed is the first input with a key that was folded to a constant, −1 without one. The shuffle's columns still have the
// expression of before, so that no column is the key (ExprNodeDescUtils.resolveJoinKeysAsRSColumns, "Error resolving join keys").
func constantKeyed(j *Join) int {
	for i := range j.Inputs {
		for _, key := range j.Inputs[i].Keys {
			if isConstant(key.Expr) {
				return i
			}
		}
	}
	return -1
}

func (c *choosing) reduceSide() choice {
	if !c.settings.DPHJ {
		c.note(DPHJ, false, step{check: checkDPHJOff})
	} else if got, ok := c.tryDPHJ(); ok {
		return got
	}
	return c.merge()
}

func (c *choosing) merge() choice {
	c.note(MergeJoin, true, step{check: checkMerge})
	return choice{strategy: MergeJoin, big: -1}
}

// mergePosition is the position a merge join's plan prints as big table: the loop without a budget.
func (c *choosing) mergePosition() int {
	o := c.convert(conversion{divisor: reducersFor(c.join, c.settings), budget: math.MaxInt64, anyType: true})
	return max(o.big, 0)
}

// fullOuterHash tells why a FULL OUTER join cannot be a dynamically partitioned hash join; empty when it can
// (MapJoinProcessor.isFullOuterMapEnabled and checkFullOuterMapJoinCompatible).
func fullOuterHash(j *Join, s *Settings) string {
	switch {
	case !s.FullOuter:
		return "hive.mapjoin.full.outer is off"
	case !s.OptimizedHashTable:
		return "hive.mapjoin.optimized.hashtable is off"
	case j.NullSafe:
		return "a key is compared with <=>"
	case s.VectorNative && s.HybridGrace:
		return "hive.mapjoin.hybridgrace.hashtable is on"
	case j.Residual:
		return "the join has a condition that is no equality"
	case j.Filters:
		return "the join has a filter on one side"
	}
	return ""
}
