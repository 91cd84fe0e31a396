package advisor

import "strings"

// names tells whether a key is a plain column of that name. Expressions over a column are none: the planner does not see through them.
func (k *Key) names(column string) bool {
	if k.Column != "" && strings.EqualFold(k.Column, column) {
		return true
	}
	return k.Expr == column
}

// bucketEstimate is the largest bucket count of any input, 1 without buckets (ConvertJoinMapJoin.estimateNumBuckets over the operators' traits).
func bucketEstimate(j *Join) int64 { return max(knownBuckets(j), 1) }

// knownBuckets is the largest bucket count of any input, 0 where no input tells one.
func knownBuckets(j *Join) int64 {
	buckets := 0
	for i := range j.Inputs {
		buckets = max(buckets, j.Inputs[i].Layout.Buckets)
	}
	return int64(buckets)
}

// firstDivisor divides the hashed bytes of the first attempt, and tells whether reducers stand in for buckets: before Hive 4, the planner
// takes those of the join's shuffles where no input has a bucket count (ConvertJoinMapJoin.estimateNumBuckets).
func firstDivisor(j *Join, s *Settings) (divisor int64, byReducers bool) {
	if !s.BucketMapJoin {
		return 1, false
	}
	if buckets := knownBuckets(j); buckets > 0 || s.Release == Hive4 {
		return max(buckets, 1), false
	}
	return reducersFor(j, s), true
}

// obstacle is what keeps a layout from a strategy. It costs nothing until somebody reads its text.
type obstacle struct {
	kind obstacleKind
	pos  int
}

type obstacleKind uint8

const (
	noObstacle obstacleKind = iota
	noBigTable
	notBucketed
	otherBuckets
	externalTable
	sortMergeOff
	sortMergeShuffled
	nothingStreamed
	overJoin
	groupsTwice
	unevenShuffles
	notSorted
	bucketVersions
	fullOuterBlocked
	constantKey
)

func (w obstacle) ok() bool { return w.kind == noObstacle }

// text says what is in the way.
func (w obstacle) text(j *Join, s *Settings) string {
	switch w.kind {
	case noBigTable:
		return "no big table"
	case notBucketed:
		return "the big table is not bucketed"
	case otherBuckets:
		return "the big table is bucketed by " + strings.Join(j.Inputs[w.pos].Layout.BucketColumns, ", ") + ", which the join does not use as plain keys"
	case externalTable:
		return inputName(j, w.pos) + " is an external table"
	case sortMergeOff:
		return "hive.auto.convert.sortmerge.join is off"
	case sortMergeShuffled:
		return "a shuffle lies below and hive.auto.convert.sortmerge.join.reduce.side is off"
	case nothingStreamed:
		return "the join type lets no side be streamed"
	case overJoin:
		return "an input is another join's result"
	case groupsTwice:
		return inputName(j, w.pos) + " groups twice in one vertex"
	case unevenShuffles:
		return "only one of the inputs is shuffled below"
	case notSorted:
		return inputName(j, w.pos) + " is not bucketed and sorted by exactly the join keys"
	case bucketVersions:
		return inputName(j, w.pos) + " has buckets of another bucketing_version"
	case fullOuterBlocked:
		return fullOuterHash(j, s)
	case constantKey:
		return "a key of " + inputName(j, w.pos) + " was folded to a constant, which is no column of its shuffle"
	default:
		return ""
	}
}

// bucketLayout tells what keeps the input from being the streamed side of a bucket map join
// (ConvertJoinMapJoin.checkConvertJoinBucketMapJoin). Only the big side's buckets count: the other sides are shuffled to match.
func bucketLayout(j *Join, big int, s *Settings) obstacle {
	if big < 0 || big >= len(j.Inputs) {
		return obstacle{kind: noBigTable}
	}
	in := &j.Inputs[big]
	if len(in.Layout.BucketColumns) == 0 {
		return obstacle{kind: notBucketed, pos: big}
	}
	if !bucketsFit(in, s) {
		return obstacle{kind: otherBuckets, pos: big}
	}
	return externalInput(j, s)
}

// bucketsFit compares the bucket columns of the streamed side with its keys (OpTraitsRulesProcFactory.ReduceSinkRule). Hive 4 wants each
// among the keys. Hive 3 forgets to ask whether a column is a key: those that the input carries up to the join will do. Hive 2 wants all
// keys in the order of the buckets.
func bucketsFit(in *Input, s *Settings) bool {
	switch s.Release {
	case Hive3:
		return true // columns of a layout are those that were carried
	case Hive2:
		if len(in.Layout.BucketColumns) != len(in.Keys) {
			return false
		}
		for i, column := range in.Layout.BucketColumns {
			if !in.Keys[i].names(column) {
				return false
			}
		}
		return true
	default:
		for _, column := range in.Layout.BucketColumns {
			if !hasKey(in.Keys, column) {
				return false
			}
		}
		return true
	}
}

func hasKey(keys []Key, column string) bool {
	for i := range keys {
		if keys[i].names(column) {
			return true
		}
	}
	return false
}

// externalInput finds the first input over a native external table, when those are kept out of bucketed joins.
func externalInput(j *Join, s *Settings) obstacle {
	if !s.UnsafeExternalDisabled {
		return obstacle{}
	}
	for i := range j.Inputs {
		if j.Inputs[i].Layout.External {
			return obstacle{kind: externalTable, pos: i}
		}
	}
	return obstacle{}
}

// sortMerge returns the side a sort-merge-bucket join would stream, or what keeps the join from being one
// (ConvertJoinMapJoin.checkAndConvertSMBJoin and checkConvertJoinSMBJoin).
func sortMerge(j *Join, s *Settings) (big int, why obstacle) {
	if !s.SortMerge {
		return -1, obstacle{kind: sortMergeOff}
	}
	if !s.SortMergeReduceSide && shuffledBelow(j) {
		return -1, obstacle{kind: sortMergeShuffled}
	}
	candidates := streamable(j.Conditions, false)
	if candidates == 0 {
		return -1, obstacle{kind: nothingStreamed}
	}
	big = sortMergeBigTable(j, s, candidates)
	if big < 0 {
		return -1, obstacle{kind: overJoin}
	}
	if why := externalInput(j, s); !why.ok() {
		return -1, why
	}
	for i := range j.Inputs {
		if j.Inputs[i].GroupBys > 1 && s.Release == Hive4 { // HIVE-27788
			return -1, obstacle{kind: groupsTwice, pos: i}
		}
		if j.Inputs[i].Layout.Shuffled != j.Inputs[0].Layout.Shuffled {
			return -1, obstacle{kind: unevenShuffles}
		}
	}
	for i := range j.Inputs {
		if !sortedByKeys(&j.Inputs[i]) {
			return -1, obstacle{kind: notSorted, pos: i}
		}
	}
	if pos := otherVersion(j); pos >= 0 && s.Release == Hive3 {
		return -1, obstacle{kind: bucketVersions, pos: pos}
	}
	return big, obstacle{}
}

// otherVersion is the first input whose table hashes its buckets by another version of Hive's function than one before, −1 without one;
// inputs over a shuffle or a join have none, those over a GROUP BY of sorted buckets have the table's.
// Only Hive 3 looks: the same test of Hive 4 stops at the join's own shuffle, and Hive 2 has one function.
func otherVersion(j *Join) int {
	first := 0
	for i := range j.Inputs {
		switch version := j.Inputs[i].Layout.BucketingVersion; {
		case version == 0:
		case first == 0:
			first = version
		case version != first:
			return i
		}
	}
	return -1
}

func shuffledBelow(j *Join) bool {
	for i := range j.Inputs {
		if j.Inputs[i].Layout.Shuffled {
			return true
		}
	}
	return false
}

// sortedByKeys: bucket columns are the keys in order, and the sort columns begin with them.
func sortedByKeys(in *Input) bool {
	keys, l := in.Keys, &in.Layout
	if len(keys) == 0 || len(l.BucketColumns) != len(keys) || len(l.SortColumns) < len(keys) {
		return false
	}
	for i := range keys {
		if !keys[i].names(l.BucketColumns[i]) || !keys[i].names(l.SortColumns[i]) {
			return false
		}
	}
	return true
}

// sortMergeBigTable applies the selection policy to the tables' bytes on disk; −1 when an input is a join's result.
func sortMergeBigTable(j *Join, s *Settings, candidates uint64) int {
	if s.SortMergePolicy == LeftmostPolicy {
		return 0
	}
	big, bigSize, bigPartitions := -1, int64(-1), 0
	for pos := range j.Inputs {
		if j.Inputs[pos].OverJoin {
			return -1
		}
		if candidates&bit(pos) == 0 {
			continue
		}
		l := &j.Inputs[pos].Layout
		size, partitions := max(l.TotalSize, 0), 1
		if s.SortMergePolicy == AvgPartitionSizePolicy && l.Partitions != 0 {
			partitions = max(l.Partitions, 0)
			size /= int64(max(partitions, 1))
		}
		fewer := s.SortMergePolicy == AvgPartitionSizePolicy && size == bigSize && partitions < bigPartitions
		if size > bigSize || fewer {
			big, bigSize, bigPartitions = pos, size, partitions
		}
	}
	return big
}
