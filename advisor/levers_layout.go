package advisor

import (
	"slices"
	"strings"
)

const (
	// maxBuckets is the most buckets worth proposing; sortedBucket is about what a bucket of a sort-merge join should hold, in bytes.
	maxBuckets   = 1024
	sortedBucket = 256_000_000
)

// layout proposes buckets by the join's keys: on the streamed side alone for a bucket map join, on every side, sorted, for a
// sort-merge-bucket join. The data has to be written anew, so it is the last lever.
func (l *leverage) layout() {
	small, large, hashed := l.hashed()
	streamed := slices.Index(hashed, false)
	if streamed < 0 || l.verdict.Decision.Budget <= 0 {
		return
	}
	if n, ok := bucketsFor(small, l.verdict.Decision.Budget); ok {
		l.bucket([]int{streamed}, n, "the hashed side divided by "+count(n, "bucket")+" is "+human(small/n)+", the budget "+human(l.verdict.Decision.Budget))
	}
	if slices.ContainsFunc(l.list, func(lever Lever) bool { return lever.Kind == LeverLayout }) {
		return
	}
	all := make([]int, len(l.join.Inputs))
	for pos := range all {
		all[pos] = pos
	}
	n, _ := bucketsFor(large, sortedBucket)
	l.bucket(all, n, human(large)+" and "+human(small)+" merged in "+count(n, "bucket")+", nothing moved")
}

// bucketsFor is the smallest power of two, two at least, that divides the bytes down to the limit, and whether maxBuckets allows it.
func bucketsFor(bytes, limit int64) (int64, bool) {
	n := int64(2)
	for n < maxBuckets && bytes/n > limit {
		n *= 2
	}
	return n, bytes/n <= limit
}

// bucket replays the join with those inputs bucketed and sorted by its keys.
func (l *leverage) bucket(positions []int, buckets int64, effect string) {
	laid := *l.join
	laid.Inputs = slices.Clone(l.join.Inputs)
	var statements, tables []string
	for _, pos := range positions {
		in := &laid.Inputs[pos]
		if in.OverJoin || in.GroupBys > 0 || in.Layout.Shuffled {
			return // no table's layout reaches the join
		}
		names := keyNames(in)
		if int64(in.Layout.Buckets) == buckets && sortedByKeys(in) {
			continue
		}
		statement := recluster(l.join, pos, buckets)
		if statement == "" {
			return
		}
		statements, tables = append(statements, statement), append(tables, in.Tables[0]+bucketedSuffix)
		in.Layout.BucketColumns, in.Layout.SortColumns, in.Layout.Buckets = names, names, int(buckets)
	}
	got, _ := Choose(&laid, l.settings)
	if len(statements) == 0 || !l.better(got) {
		return
	}
	l.add(Lever{
		Kind: LeverLayout, Apply: strings.Join(statements, "\n"), Strategy: got,
		Effect: effect + "; for a query that reads " + strings.Join(tables, " and ") + " in place of what it is made from",
	})
}
