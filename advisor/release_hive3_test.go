package advisor

import (
	"strings"
	"testing"
)

// Hive 3 refuses a FULL OUTER join that fits the budget and has too many keys: it asks for the size of a streamed side that is not there.
func TestHive3RefusesCrowdedFullOuter(t *testing.T) {
	const entries, shuffle = "hive.auto.convert.join.hashtable.max.entries", "hive.auto.convert.join.shuffle.max.size"
	a, b := keyNDV(sizedFor3("a", 2*mb, 20_000), 15_000), keyNDV(sizedFor3("b", 2*mb, 20_000), 18_000)
	full := joinOf(FullOuter, a, b)
	unknown := joinOf(FullOuter, sizedFor3("a", 2*mb, 20_000), sizedFor3("b", 2*mb, 20_000))
	uncounted := joinOf(FullOuter, a, b)
	uncounted.Inputs[1].Uncounted = true
	bare := joinOf(FullOuter, a, b)
	bare.Inputs[1].Rows = -1
	between := joinOf(FullOuter, a, b, sizedFor3("c", mb, 10)) // FULL OUTER first, an inner join last: nothing is streamed either
	between.Conditions = []Condition{{Left: 0, Right: 1, Type: FullOuter}, {Left: 1, Right: 2, Type: Inner}}
	last := joinOf(FullOuter, a, b, sizedFor3("c", mb, 10))
	last.Conditions = []Condition{{Left: 0, Right: 1, Type: Inner}, {Left: 1, Right: 2, Type: FullOuter}}
	for name, c := range map[string]struct {
		join     Join
		settings Settings
		want     Strategy
	}{
		"too many keys":              {full, releaseSettings(Hive3, entries, "17999"), Unknown},
		"not too many":               {full, releaseSettings(Hive3, entries, "18000"), MergeJoin},
		"the first has too many":     {full, releaseSettings(Hive3, entries, "14000"), Unknown},
		"no limit":                   {full, releaseSettings(Hive3, entries, "0"), MergeJoin},
		"keys without statistics":    {unknown, releaseSettings(Hive3, entries, "10"), MergeJoin},
		"no shuffle limit":           {full, releaseSettings(Hive3, entries, "10", shuffle, "0"), MergeJoin},
		"any shuffle limit":          {full, releaseSettings(Hive3, entries, "10", shuffle, "1"), Unknown},
		"one above the budget":       {full, releaseSettings(Hive3, entries, "10", budgetName, "2000000", bucketMapJoinName, "false"), MergeJoin},
		"both above the budget":      {full, releaseSettings(Hive3, entries, "10", budgetName, "4000000", bucketMapJoinName, "false"), MergeJoin},
		"divided by four reducers":   {full, releaseSettings(Hive3, entries, "10", budgetName, "2000000", "mapreduce.job.reduces", "4"), Unknown},
		"DPHJ":                       {full, releaseSettings(Hive3, entries, "10", dphjName, "true"), Unknown},
		"no conversion at all":       {full, releaseSettings(Hive3, entries, "10", "hive.auto.convert.join", "false"), MergeJoin},
		"Hive 4":                     {full, releaseSettings(Hive4, entries, "10"), MergeJoin},
		"Hive 2":                     {full, releaseSettings(Hive2, entries, "10"), MergeJoin},
		"left outer":                 {joinOf(LeftOuter, a, b), releaseSettings(Hive3, entries, "10"), MergeJoin},
		"uncounted rows":             {uncounted, releaseSettings(Hive3, entries, "10"), MergeJoin},
		"no statistics":              {bare, releaseSettings(Hive3, entries, "10"), MergeJoin},
		"FULL OUTER before another":  {between, releaseSettings(Hive3, entries, "10"), Unknown},
		"FULL OUTER after the other": {last, releaseSettings(Hive3, entries, "10"), MergeJoin},
	} {
		d := Explain(c.join, c.settings)
		if d.Strategy != c.want || d.Refused != (c.want == Unknown) {
			t.Errorf("%s: %s, refused %v, want %s: %s", name, d.Strategy, d.Refused, c.want, d.Reason)
		}
		if name == "too many keys" {
			want := "Hive refuses the query: d.b has 18,000 distinct keys, the limit is 17,999, and it looks for the size of a side to stream where the join type lets it stream none: no plan"
			if d.Reason != want || d.Attempts[0].Note != "d.b" || d.Margin != nil {
				t.Errorf("reason %q, note %q, margin %v", d.Reason, d.Attempts[0].Note, d.Margin)
			}
		}
		if name == "divided by four reducers" && d.Attempts[0].Note != "d.b, divided by 4 reducers" {
			t.Errorf("note %q", d.Attempts[0].Note)
		}
	}
}

// A bucket map join over a GROUP BY has a hash table in each of the reducers, which stand for buckets that nobody counts.
func TestHive3BucketMapJoinLever(t *testing.T) {
	join := joinOf(Inner, grouped4(sizedFor3("big", 500*mb, 5_000_000)), sizedFor3("small", 2*mb, 20_000))
	counted := joinOf(Inner, bucketed(sizedFor3("big", 500*mb, 5_000_000), 4, "customer_id"), sizedFor3("small", 2*mb, 20_000))
	for name, c := range map[string]struct {
		join Join
		want string
	}{
		"reducers": {join, "125.1 KB of hash table in each of 20 reducers, over which the streamed side is spread already"}, // 2,502,144 / 20
		"buckets":  {counted, "625.5 KB of hash table for each of 4 buckets"},
	} {
		pairs := []string{budgetName, "1000000", bucketMapJoinName, "false", "mapreduce.job.reduces", "20"}
		s := releaseSettings(Hive3, pairs...)
		found := false
		for _, l := range Levers(judged(c.join, MergeJoin, s), s) {
			if l.Strategy != BucketMapJoin {
				continue
			}
			found = true
			if l.Apply != "SET "+bucketMapJoinName+"=true;" || !strings.HasPrefix(l.Effect, c.want) {
				t.Errorf("%s: %s gives %q, want %q", name, l.Apply, l.Effect, c.want)
			}
			if d := Explain(c.join, releaseSettings(Hive3, append(pairs, bucketMapJoinName, "true")...)); d.Strategy != BucketMapJoin {
				t.Errorf("%s: %s", name, d.Reason)
			}
		}
		if !found {
			t.Errorf("%s: no switch gives a bucket map join", name)
		}
	}
}

const bucketMapJoinName = "hive.convert.join.bucket.mapjoin.tez"
