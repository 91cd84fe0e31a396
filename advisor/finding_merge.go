package advisor

import (
	"strconv"
	"strings"
)

// mediumLimit is the largest hash table worth proposing a budget for when the container's size is unknown, in bytes.
const mediumLimit = int64(1_000_000_000)

// mergeJoin proposes a hash join for a merge join with one side small enough: first by shuffled partitions, then by a larger budget.
func (f *finder) mergeJoin(v *JoinVerdict) {
	j, d := &v.Join, &v.Decision
	if j.Strategy != MergeJoin || d.Strategy != MergeJoin || isFullOuter(j) || isCross(j) || len(j.Inputs) < 2 {
		return
	}
	hashed := hashedSide(j, &f.settings, d)
	var small, large int64
	for pos, is := range hashed {
		if is {
			small += d.OnlineDataSizes[pos]
		} else {
			large += d.OnlineDataSizes[pos]
		}
	}
	if small <= 0 || small >= large {
		return
	}
	var options, advice []string
	evidence := map[string]any{"hashed_bytes": small, "streamed_bytes": large, "budget": d.Budget}
	if f.replay(j, func(s *Settings) { s.DPHJ = true }) == DPHJ {
		n := reducersFor(j, &f.settings)
		options = append(options, "a dynamically partitioned hash join would hash "+human(small/n)+" in each of "+count(n, "reducer")+" and sort nothing")
		advice = append(advice, set("hive.optimize.dynamic.partition.hashjoin", "true"))
		evidence["reducers"], evidence["bytes_per_reducer"] = n, small/n
	}
	if text, size, strategy := f.budgetFor(j, small); strategy != MergeJoin {
		options = append(options, text)
		advice = append(advice, setNumber("hive.auto.convert.join.noconditionaltask.size", size)+" -- "+f.memoryCaveat(size))
		evidence["needed_budget"], evidence["with_budget"] = size, strategy
	}
	if len(options) == 0 {
		return
	}
	f.add(Finding{
		Kind: MergeJoinLargeSmall, Severity: mergeSeverity(small, large), Subject: subject(j),
		Summary: "a merge join sorts " + names(j) + ", " + human(large) + " against " + human(small) + ": " + strings.Join(options, "; "),
		Advice:  strings.Join(advice, "\n"), Evidence: evidence,
	})
}

func mergeSeverity(small, large int64) Severity {
	if large/max(small, 1) >= 10 && large >= 10_000_000_000 {
		return High
	}
	return Medium
}

// budgetFor finds the smallest round budget that hashes the small side, when memory could back it.
func (f *finder) budgetFor(j *Join, small int64) (text string, size int64, strategy Strategy) {
	limit := mediumLimit
	if f.settings.ContainerMB > 0 {
		limit = f.settings.ContainerMB << 20 / 3
	}
	need := small
	if f.settings.BucketMapJoin {
		if s := f.replay(j, func(s *Settings) { s.NoConditionalTaskSize = small/bucketEstimate(j) + 1 }); s == BucketMapJoin {
			need = small / bucketEstimate(j)
		}
	}
	size = roundUp(need)
	if size > limit {
		return "", 0, MergeJoin
	}
	strategy = f.replay(j, func(s *Settings) { s.NoConditionalTaskSize = size })
	if strategy != MapJoin && strategy != BucketMapJoin {
		return "", 0, MergeJoin
	}
	return "a budget of " + human(size) + " in place of " + human(f.settings.NoConditionalTaskSize) + " would give a " + strategyWords[strategy], size, strategy
}

// roundUp gives a budget some headroom: a tenth above, at two leading digits.
func roundUp(n int64) int64 {
	n += n / 10
	unit := int64(1)
	for n/unit >= 100 {
		unit *= 10
	}
	return (n + unit - 1) / unit * unit
}

func (f *finder) memoryCaveat(size int64) string {
	mb := f.settings.ContainerMB
	if f.settings.LLAP {
		return "only with the memory of an LLAP executor to back it"
	}
	if mb <= 0 {
		return "only with memory to back it: hive.tez.container.size is not set, three times the budget is a safe container"
	}
	return "a hash table of up to " + human(size) + " in a container of " + strconv.FormatInt(mb, 10) + " MB"
}
