package movement

import (
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// change is a set of settings under which the rules choose another strategy.
type change struct {
	statements []string
	note       string
	strategy   advisor.Strategy
	// streamed is the input that stays where it is under the strategy; −1 for none.
	streamed int
}

// moves are the bytes that the strategy moves, −1 unknown.
func (c *change) moves(j *advisor.Join, cost *Cost) int64 {
	if c.strategy == advisor.BucketMapJoin && c.streamed >= 0 {
		return others(j, c.streamed)
	}
	if o := cost.Option(wayOf(c.strategy)); o != nil {
		return o.Bytes
	}
	return -1
}

func (c *change) text() string {
	text := strings.Join(c.statements, "\n")
	if c.note != "" {
		text += " -- " + c.note
	}
	return text
}

// setting is one statement with what it does to the settings.
type setting struct {
	name, value string
	apply       func(*advisor.Settings)
}

func budget(bytes int64) setting {
	return setting{"hive.auto.convert.join.noconditionaltask.size", strconv.FormatInt(bytes, 10), func(s *advisor.Settings) { s.NoConditionalTaskSize = bytes }}
}

var (
	convert = setting{"hive.auto.convert.join", "true", func(s *advisor.Settings) { s.AutoConvertJoin = true }}
	entries = setting{"hive.auto.convert.join.hashtable.max.entries", "-1", func(s *advisor.Settings) { s.MaxEntries = -1 }}
	buckets = setting{"hive.convert.join.bucket.mapjoin.tez", "true", func(s *advisor.Settings) { s.BucketMapJoin = true }}
	merging = setting{"hive.auto.convert.sortmerge.join", "true", func(s *advisor.Settings) { s.SortMerge = true }}
	dphj    = setting{"hive.optimize.dynamic.partition.hashjoin", "true", func(s *advisor.Settings) { s.DPHJ = true }}
)

// try applies settings and returns what the rules choose then.
func (f *finder) try(j *advisor.Join, want func(advisor.Strategy) bool, list ...setting) (change, bool) {
	s := f.query.Settings
	c := change{streamed: -1}
	for _, one := range list {
		one.apply(&s)
		c.statements = append(c.statements, "SET "+one.name+"="+one.value+";")
	}
	c.strategy, c.streamed = advisor.Choose(j, &s)
	return c, want(c.strategy)
}

// towards finds the fewest settings that make the rules choose a way.
func (f *finder) towards(v *advisor.JoinVerdict, c *Cost, w Way) (change, bool) {
	size := advisor.Headroom(c.Hashed)
	if w != Broadcast {
		size = f.share(v, c)
	}
	var lists [][]setting
	want := func(s advisor.Strategy) bool { return s == advisor.MapJoin || s == advisor.BucketMapJoin }
	switch w {
	case Broadcast:
		lists = [][]setting{{convert}, {entries}, {convert, entries}, {budget(size)}, {budget(size), entries}, {convert, budget(size)}, {convert, budget(size), entries}}
	case SingleSided:
		want = func(s advisor.Strategy) bool { return s == advisor.BucketMapJoin }
		lists = [][]setting{{buckets}, {convert}, {budget(size)}, {buckets, budget(size)}, {convert, buckets, budget(size)}}
	case CoLocated:
		want = func(s advisor.Strategy) bool { return s == advisor.SMB || s == advisor.BucketMapJoin }
		lists = [][]setting{{merging}, {buckets}, {convert, buckets}, {budget(size)}, {buckets, budget(size)}}
	case Redistribute:
		return change{}, false
	}
	for _, list := range lists {
		got, ok := f.try(&v.Join, want, list...)
		raised := strings.Contains(got.text(), "noconditionaltask.size") && size > f.query.Settings.NoConditionalTaskSize
		if !ok || raised && w != Broadcast && c.Ceiling > 0 && size > c.Ceiling { // no node should hash as much
			continue
		}
		if raised {
			got.note = f.backing(size)
		}
		return got, true
	}
	return change{}, false
}

// share is a budget in bytes for one bucket of the hashed side, not below the one there is.
func (f *finder) share(v *advisor.JoinVerdict, c *Cost) int64 {
	return max(advisor.Headroom(c.Hashed/max(mostBuckets(&v.Join), 1)), f.query.Settings.NoConditionalTaskSize)
}

// without finds settings under which the join is not broadcast any more; a hash join of shuffled partitions where its share fits.
func (f *finder) without(v *advisor.JoinVerdict, c *Cost) (change, bool) {
	not := func(s advisor.Strategy) bool { return s != advisor.MapJoin && s != advisor.Unknown }
	kept := c.Streamed
	if v.Join.BigTable >= 0 {
		kept = v.Join.BigTable
	}
	size := hashed(v, kept) / 2
	if b := f.query.Settings.NoConditionalTaskSize; size >= b {
		size = b / 2
	}
	best, found := f.try(&v.Join, not, budget(size))
	if !found || best.strategy != advisor.MergeJoin {
		return best, found
	}
	if hashedToo, ok := f.try(&v.Join, func(s advisor.Strategy) bool { return s == advisor.DPHJ }, budget(size), dphj); ok {
		return hashedToo, true
	}
	return best, true
}

func mostBuckets(j *advisor.Join) int64 {
	most := 0
	for i := range j.Inputs {
		most = max(most, j.Inputs[i].Layout.Buckets)
	}
	return int64(most)
}

func (f *finder) backing(size int64) string {
	s := &f.query.Settings
	if s.LLAP {
		return "up to " + advisor.Bytes(size) + " in an LLAP executor"
	}
	if s.ContainerMB <= 0 {
		return "only with memory to back it: three times the budget is a safe container"
	}
	return "up to " + advisor.Bytes(size) + " in a container of " + strconv.FormatInt(s.ContainerMB, 10) + " MB"
}
