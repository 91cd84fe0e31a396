package advisor

import "math"

// streamable returns, as bits by position, the inputs a hash join may stream (MapJoinProcessor.getBigTableCandidates).
func streamable(conditions []Condition, fullOuter bool) uint64 {
	if len(conditions) == 1 && conditions[0].Type == FullOuter {
		if !fullOuter {
			return 0
		}
		return bit(conditions[0].Left) | bit(conditions[0].Right)
	}
	var candidates, seen, leftOfRight uint64
	outer, lastRight := false, false
	for _, c := range conditions {
		seen |= bit(c.Left) | bit(c.Right)
		switch c.Type {
		case FullOuter:
			return 0
		case LeftOuter, LeftSemi, Anti:
			// The left side of the first such condition is streamed, unless an earlier condition has decided.
			if candidates == 0 {
				candidates = bit(c.Left)
			}
			outer, lastRight = true, false
		case RightOuter:
			// Everything seen before is on the side that is padded with nulls.
			leftOfRight = seen &^ bit(c.Right)
			candidates = bit(c.Right)
			outer, lastRight = true, true
		default:
			if !outer || lastRight {
				candidates |= (bit(c.Left) | bit(c.Right)) &^ leftOfRight
			}
		}
	}
	return candidates
}

// bit returns the mask of a position; positions no join has count for none.
func bit(pos int) uint64 {
	if pos < 0 || pos > 63 {
		return 0
	}
	return 1 << uint(pos)
}

// lastIsOuter: the planner looks at the last condition alone (ConvertJoinMapJoin.hasOuterJoin keeps overwriting its answer).
func lastIsOuter(conditions []Condition) bool {
	if len(conditions) == 0 {
		return false
	}
	switch conditions[len(conditions)-1].Type {
	case FullOuter, LeftOuter, RightOuter:
		return true
	default:
		return false
	}
}

// isFullOuter: a two-way FULL OUTER join, the only one a hash join may take.
func isFullOuter(j *Join) bool {
	return len(j.Conditions) == 1 && j.Conditions[0].Type == FullOuter
}

// conversion is one run of the big-table loop: the rules of ConvertJoinMapJoin.getMapJoinConversion.
type conversion struct {
	divisor int64
	budget  int64
	// thresholds: the entries and shuffle limits apply.
	thresholds bool
	// anyType: the rule about outer joins of three and more inputs is left out (the position of a merge join).
	anyType bool
}

// outcome is what the loop found: the big table and the hashed bytes, or the check that ended it in failed.
type outcome struct {
	big    int
	total  int64
	failed step
}

func fail(c check, pos int, left, right int64) outcome {
	return outcome{big: -1, failed: step{check: c, pos: int16(pos), left: left, right: right, numbers: true}} //nolint:gosec // a position
}

// convert walks the inputs in order and keeps the one to stream.
func (c *choosing) convert(a conversion) outcome {
	j, s := c.join, c.settings
	if !a.anyType && len(j.Conditions) > 1 && lastIsOuter(j.Conditions) {
		return outcome{big: -1, failed: step{check: checkLastOuter}}
	}
	candidates := streamable(j.Conditions, s.plansFullOuter())
	if candidates == 0 {
		if o, refused := c.crowdedNowhere(a); refused {
			return o
		}
		return outcome{big: -1, failed: step{check: checkNoCandidate}}
	}
	big, bigSize, bigRows := -1, int64(0), int64(-1)
	overflow := false
	crowded, crowdedKeys := -1, int64(0)
	var total int64
	for pos := range j.Inputs {
		if j.Inputs[pos].Rows < 0 {
			return outcome{big: -1, failed: step{check: checkStatistics, pos: int16(pos)}}
		}
		size := c.size(pos)
		tooBig := false
		if big < 0 || size > bigSize {
			if overflow {
				return fail(checkSecondBig, pos, size/a.divisor, a.budget)
			}
			if size/a.divisor > a.budget {
				if candidates&bit(pos) == 0 {
					return fail(checkMustHash, pos, size/a.divisor, a.budget)
				}
				tooBig, overflow = true, true
			}
		}
		rows := int64(-1)
		if !overflow {
			// Once an input above the budget was met, rows are not looked at any more.
			if j.Inputs[pos].Uncounted {
				return outcome{big: -1, failed: step{check: checkUncounted, pos: int16(pos)}}
			}
			rows = cumulativeRows(&j.Inputs[pos])
		}
		chosen := candidates&bit(pos) != 0 &&
			(big < 0 || tooBig || (!overflow && (rows > bigRows || (rows == bigRows && size > bigSize))))
		hashed := -1
		if chosen && big >= 0 {
			hashed = big
		} else if !chosen {
			hashed = pos
		}
		if hashed >= 0 {
			total += c.size(hashed)
			if keys, over := c.tooManyKeys(hashed, a.thresholds); over {
				crowded, crowdedKeys = hashed, keys
			}
		}
		if total/a.divisor > a.budget {
			return fail(checkTotal, hashed, total/a.divisor, a.budget)
		}
		if chosen {
			big, bigSize, bigRows = pos, size, rows
		}
	}
	if big < 0 {
		return outcome{big: -1, failed: step{check: checkNoCandidate}}
	}
	if crowded >= 0 && s.ShuffleMaxSize >= 1 && c.size(big) <= s.ShuffleMaxSize {
		return fail(checkEntries, crowded, crowdedKeys, s.MaxEntries)
	}
	if a.anyType && s.Release == Hive3 {
		return outcome{big: big, total: total} // it sends cross products here, and looks at their rows nowhere else
	}
	if pos, rows := c.crossTooLarge(big); pos >= 0 {
		return fail(checkCross, pos, rows, s.XProdSmallTableRows)
	}
	return outcome{big: big, total: total}
}

// cumulativeRows are an input's own rows where the plan does not tell those of the operators below.
func cumulativeRows(in *Input) int64 {
	if in.CumulativeRows < 0 {
		return in.Rows
	}
	return in.CumulativeRows
}

// tooManyKeys tests the distinct keys of a hashed input against the entries limit.
func (c *choosing) tooManyKeys(pos int, thresholds bool) (int64, bool) {
	if !thresholds || c.settings.MaxEntries < 1 {
		return 0, false
	}
	keys, known := distinctKeys(&c.join.Inputs[pos])
	return keys, known && keys > c.settings.MaxEntries
}

// crossTooLarge returns the first hashed input of a cross product with too many rows, −1 when there is none.
// Hive 3 sends every cross product to the reduce side, whatever its size.
func (c *choosing) crossTooLarge(big int) (int, int64) {
	j, s := c.join, c.settings
	if !s.CartesianEdge || s.Release == Hive2 || lastIsOuter(j.Conditions) || !isCross(j) {
		return -1, 0
	}
	limit := s.XProdSmallTableRows
	if s.Release == Hive3 {
		limit = math.MinInt64
	}
	for pos := range j.Inputs {
		if pos != big && j.Inputs[pos].Rows > limit {
			return pos, j.Inputs[pos].Rows
		}
	}
	return -1, 0
}

// isCross: no input has a key.
func isCross(j *Join) bool {
	for i := range j.Inputs {
		if len(j.Inputs[i].Keys) > 0 {
			return false
		}
	}
	return true
}
