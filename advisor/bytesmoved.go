package advisor

// BytesMoved is the least that crosses the network for a join of that strategy, in bytes by the planner's data sizes: a shuffled join moves
// every input, a broadcast the hashed sides to every LLAP node (one copy where the nodes are not known, and in containers), a
// sort-merge-bucket join nothing. −1 where a size is unknown, and for a query Hive refuses.
//
// A bucket map join counts as the planner counts it: the hashed sides whole to every node (ConvertJoinMapJoin.selectJoinForLlap).
func BytesMoved(j *Join, strategy Strategy, big int, s *Settings) int64 {
	switch strategy {
	case SMB:
		return 0
	case Unknown:
		return -1
	case MapJoin, BucketMapJoin:
		return mulUnknown(sizeBut(j, big), copies(s))
	default:
		return sizeBut(j, -1)
	}
}

// copies is how many nodes a broadcast goes to; one where nobody knows.
func copies(s *Settings) int64 {
	if s.LLAP {
		return max(s.Nodes, 1)
	}
	return 1
}

// sizeBut sums the data sizes of all inputs but one; −1 where one of them is unknown.
func sizeBut(j *Join, but int) int64 {
	var sum int64
	for pos := range j.Inputs {
		if pos == but {
			continue
		}
		if j.Inputs[pos].DataSize < 0 {
			return -1
		}
		sum = addSaturating(sum, j.Inputs[pos].DataSize)
	}
	return sum
}

func mulUnknown(n, by int64) int64 {
	if n < 0 {
		return -1
	}
	return mulSaturating(n, by)
}
