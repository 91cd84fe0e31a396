package advisor

import (
	"strconv"
	"strings"
)

// bucketed explains why a join shuffles although an input is bucketed: which key, count or rule is in the way.
func (f *finder) bucketed(v *JoinVerdict) {
	j, d := &v.Join, &v.Decision
	if (j.Strategy != MergeJoin && j.Strategy != DPHJ) || d.Strategy != j.Strategy || isCross(j) || bucketEstimate(j) <= 1 {
		return
	}
	why, advice := f.bucketProblem(j, d)
	if why == "" {
		return
	}
	evidence := map[string]any{"budget": d.Budget, "online_data_sizes": d.OnlineDataSizes}
	for pos := range j.Inputs {
		l := &j.Inputs[pos].Layout
		if l.Buckets > 0 {
			evidence["input_"+strconv.Itoa(pos)] = map[string]any{"buckets": l.Buckets, "bucket_columns": l.BucketColumns, "sort_columns": l.SortColumns, "keys": keyNames(&j.Inputs[pos])}
		}
	}
	f.add(Finding{Kind: BucketedButShuffled, Severity: Medium, Subject: subject(j), Summary: "bucketed inputs are shuffled: " + why, Evidence: evidence, Advice: advice})
}

func (f *finder) bucketProblem(j *Join, d *Decision) (why, advice string) {
	if !f.settings.BucketMapJoin {
		return "hive.convert.join.bucket.mapjoin.tez is off", set("hive.convert.join.bucket.mapjoin.tez", "true")
	}
	if lastIsOuter(j.Conditions) && len(j.Conditions) > 1 {
		return "a join of several inputs that ends in an outer join is never hashed", set("hive.merge.nway.joins", "false")
	}
	hashed := hashedSide(j, &f.settings, d)
	streamed := 0
	for pos, is := range hashed {
		if !is {
			streamed = pos
		}
	}
	big := &j.Inputs[streamed]
	name := inputName(j, streamed)
	if why := shuffleIsCheaper(d); why != "" {
		return why, ""
	}
	if len(big.Layout.BucketColumns) == 0 {
		return name + " is the side to stream and has no buckets, the other side's do not help", relaid(j, streamed)
	}
	for _, c := range big.Layout.BucketColumns {
		if !hasKey(big.Keys, c) {
			return name + " is bucketed by " + strings.Join(big.Layout.BucketColumns, ", ") + ", the keys are " + strings.Join(keyNames(big), ", "), relaid(j, streamed)
		}
	}
	if why := externalInput(j, &f.settings); !why.ok() {
		return why.text(j, &f.settings) + ", which bucketed joins leave out", set("hive.disable.unsafe.external.table.operations", "false") + " -- only where nothing but Hive writes the files"
	}
	if isFullOuter(j) {
		return "", ""
	}
	var total int64
	for pos, is := range hashed {
		if is {
			total += d.OnlineDataSizes[pos]
		}
	}
	buckets := bucketEstimate(j)
	if share := total / buckets; share > d.Budget {
		left, right := humanPair(share, d.Budget)
		return "the hashed side divided by " + count(buckets, "bucket") + unequalBuckets(j) + " is " + left + ", the budget " + right, f.budgetAdvice(Headroom(share))
	}
	for pos := range j.Inputs {
		if in := &j.Inputs[pos]; in.Layout.Buckets > 0 && !sortedByKeys(in) {
			return inputName(j, pos) + " is not sorted by the keys " + strings.Join(keyNames(in), ", ") + " inside its buckets", relaid(j, pos)
		}
	}
	return "", ""
}

func keyNames(in *Input) []string {
	list := make([]string, len(in.Keys))
	for i := range in.Keys {
		list[i] = in.Keys[i].Expr
		if in.Keys[i].Column != "" {
			list[i] = in.Keys[i].Column
		}
	}
	return list
}

// unequalBuckets tells of bucket counts that differ: the largest divides, the other sides are shuffled to match it.
func unequalBuckets(j *Join) string {
	var counts []string
	unequal, first := false, 0
	for pos := range j.Inputs {
		n := j.Inputs[pos].Layout.Buckets
		if n <= 0 {
			continue
		}
		counts = append(counts, inputName(j, pos)+" has "+strconv.Itoa(n))
		unequal = unequal || first > 0 && n != first
		first = n
	}
	if !unequal {
		return ""
	}
	return " (" + strings.Join(counts, ", ") + ")"
}

// shuffleIsCheaper: on LLAP the bucket-scaled attempt passed, and the network comparison chose the shuffle.
func shuffleIsCheaper(d *Decision) string {
	for _, a := range d.Attempts {
		if a.Check == checkTexts[checkNetwork] && a.OK && a.Left != nil && a.Right != nil {
			return "on " + a.Note + " a shuffle of both sides moves " + human(*a.Left) + ", a bucket map join " + human(*a.Right)
		}
	}
	return ""
}

// budgetAdvice sets a budget where memory backs it, and says why not where none does.
func (f *finder) budgetAdvice(size int64) string {
	backed, why := MemoryOf(&f.settings).Backs(size)
	if !backed {
		return "-- no larger budget: " + why
	}
	return setNumber(budgetSetting, size) + " -- only with memory to back it: " + why
}

// relaid is recluster with as many buckets as the join has already.
func relaid(j *Join, pos int) string {
	statements := recluster(j, pos, bucketEstimate(j))
	if statements == "" {
		return ""
	}
	return statements + " -- then read " + j.Inputs[pos].Tables[0] + bucketedSuffix + " in its place"
}

// bucketedSuffix is what the name of a table with another layout ends in.
const bucketedSuffix = "_bucketed"

// recluster are the statements that write the rows of an input's table into a new one that is laid out by the join's keys; empty when a key is
// no column of one table. The table itself stays as it is: once it is declared bucketed, Hive 4.0.1 copies the files of an INSERT OVERWRITE
// from the table itself as they lie (BucketingSortingReduceSinkOptimizer), partitions keep the layout they were made with, and a join that
// trusts such buckets loses rows.
func recluster(j *Join, pos int, buckets int64) string {
	in := &j.Inputs[pos]
	if len(in.Tables) != 1 || len(in.Keys) == 0 {
		return ""
	}
	columns := make([]string, len(in.Keys))
	for i := range in.Keys {
		if columns[i] = quote(in.Keys[i].Column); columns[i] == "" {
			return ""
		}
	}
	name, laid := quoteTable(in.Tables[0]), quoteTable(in.Tables[0]+bucketedSuffix)
	if name == "" {
		return ""
	}
	list := strings.Join(columns, ", ")
	return "CREATE TABLE " + laid + " LIKE " + name + ";\n" +
		"ALTER TABLE " + laid + " CLUSTERED BY (" + list + ") SORTED BY (" + list + ") INTO " + strconv.FormatInt(buckets, 10) + " BUCKETS;\n" +
		"INSERT INTO TABLE " + laid + " SELECT * FROM " + name + ";"
}
