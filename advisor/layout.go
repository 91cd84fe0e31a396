package advisor

import "strings"

// names tells whether a key is a plain column of that name. Expressions over a column are none: the planner does not see through them.
func (k *Key) names(column string) bool {
	if k.Column != "" && strings.EqualFold(k.Column, column) {
		return true
	}
	return k.Expr == column
}

// bucketEstimate is the divisor of the first attempt: the largest bucket count of any input, 1 without buckets
// (ConvertJoinMapJoin.estimateNumBuckets over the operators' traits).
func bucketEstimate(j *Join) int64 {
	buckets := 1
	for i := range j.Inputs {
		buckets = max(buckets, j.Inputs[i].Layout.Buckets)
	}
	return int64(buckets)
}

// bucketLayout tells why the input cannot be the streamed side of a bucket map join; empty when it can
// (ConvertJoinMapJoin.checkConvertJoinBucketMapJoin). Only the big side's buckets count: the other sides are shuffled to match.
func bucketLayout(j *Join, big int, s *Settings) string {
	if big < 0 || big >= len(j.Inputs) {
		return "no big table"
	}
	in := &j.Inputs[big]
	if len(in.Layout.BucketColumns) == 0 {
		return "the big table is not bucketed"
	}
	for _, column := range in.Layout.BucketColumns {
		if !hasKey(in.Keys, column) {
			return "the big table is bucketed by " + strings.Join(in.Layout.BucketColumns, ", ") + ", which the join does not use as plain keys"
		}
	}
	return externalInput(j, s)
}

func hasKey(keys []Key, column string) bool {
	for i := range keys {
		if keys[i].names(column) {
			return true
		}
	}
	return false
}

// externalInput names the first input over a native external table, when those are kept out of bucketed joins.
func externalInput(j *Join, s *Settings) string {
	if !s.UnsafeExternalDisabled {
		return ""
	}
	for i := range j.Inputs {
		if j.Inputs[i].Layout.External {
			return inputName(j, i) + " is an external table"
		}
	}
	return ""
}

// sortMerge returns the side a sort-merge-bucket join would stream, or why there can be none
// (ConvertJoinMapJoin.checkAndConvertSMBJoin and checkConvertJoinSMBJoin).
func sortMerge(j *Join, s *Settings) (big int, why string) {
	if !s.SortMerge {
		return -1, "hive.auto.convert.sortmerge.join is off"
	}
	if !s.SortMergeReduceSide && shuffledBelow(j) {
		return -1, "a shuffle lies below and hive.auto.convert.sortmerge.join.reduce.side is off"
	}
	candidates := streamable(j.Conditions, false)
	if candidates == 0 {
		return -1, "the join type lets no side be streamed"
	}
	big = sortMergeBigTable(j, s, candidates)
	if big < 0 {
		return -1, "an input is another join's result"
	}
	if why := externalInput(j, s); why != "" {
		return -1, why
	}
	for i := range j.Inputs {
		if j.Inputs[i].GroupBys > 1 {
			return -1, inputName(j, i) + " groups twice in one vertex"
		}
		if j.Inputs[i].Layout.Shuffled != j.Inputs[0].Layout.Shuffled {
			return -1, "only one of the inputs is shuffled below"
		}
	}
	for i := range j.Inputs {
		if !sortedByKeys(&j.Inputs[i]) {
			return -1, inputName(j, i) + " is not bucketed and sorted by exactly the join keys"
		}
	}
	return big, ""
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
