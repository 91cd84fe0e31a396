package advisor

import (
	"slices"
	"strings"
)

// toggle is one setting of a session and the value that opens a strategy.
type toggle struct {
	name, value string
	off         func(*Settings) bool
	apply       func(*Settings)
}

func on(name string, field func(*Settings) *bool) toggle {
	return toggle{name: name, value: "true", off: func(s *Settings) bool { return !*field(s) }, apply: func(s *Settings) { *field(s) = true }}
}

func off(name string, field func(*Settings) *bool) toggle {
	return toggle{name: name, value: "false", off: func(s *Settings) bool { return *field(s) }, apply: func(s *Settings) { *field(s) = false }}
}

var (
	toggleAuto      = on("hive.auto.convert.join", func(s *Settings) *bool { return &s.AutoConvertJoin })
	toggleDPHJ      = on("hive.optimize.dynamic.partition.hashjoin", func(s *Settings) *bool { return &s.DPHJ })
	toggleBucket    = on("hive.convert.join.bucket.mapjoin.tez", func(s *Settings) *bool { return &s.BucketMapJoin })
	toggleSMB       = on("hive.auto.convert.sortmerge.join", func(s *Settings) *bool { return &s.SortMerge })
	toggleSMBReduce = on("hive.auto.convert.sortmerge.join.reduce.side", func(s *Settings) *bool { return &s.SortMergeReduceSide })
	toggleFullOuter = on("hive.mapjoin.full.outer", func(s *Settings) *bool { return &s.FullOuter })
	toggleOptimized = on("hive.mapjoin.optimized.hashtable", func(s *Settings) *bool { return &s.OptimizedHashTable })
	toggleGrace     = off("hive.mapjoin.hybridgrace.hashtable", func(s *Settings) *bool { return &s.HybridGrace })
	toggleExternal  = off("hive.disable.unsafe.external.table.operations", func(s *Settings) *bool { return &s.UnsafeExternalDisabled })
)

// switchSets are what is tried, from the fewest switches up; sets that hold a working one are left out.
var switchSets = []struct {
	toggles []toggle
	caveat  string
}{
	{toggles: []toggle{toggleAuto}},
	{toggles: []toggle{toggleDPHJ}},
	{toggles: []toggle{toggleBucket}},
	{toggles: []toggle{toggleSMB}},
	{toggles: []toggle{toggleSMBReduce}},
	{toggles: []toggle{toggleExternal}, caveat: "only where nothing but Hive writes the files"},
	{toggles: []toggle{toggleAuto, toggleDPHJ}},
	{toggles: []toggle{toggleSMB, toggleSMBReduce}},
	{toggles: []toggle{toggleDPHJ, toggleFullOuter}},
	{toggles: []toggle{toggleDPHJ, toggleGrace}},
	{toggles: []toggle{toggleDPHJ, toggleFullOuter, toggleOptimized, toggleGrace}},
}

// LeverSettings lists the names of the settings that levers may set, sorted.
func LeverSettings() []string {
	list := []string{budgetSetting, entriesSetting}
	for _, set := range switchSets {
		for _, t := range set.toggles {
			list = append(list, t.name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

const entriesSetting = "hive.auto.convert.join.hashtable.max.entries"

// switches tries each switch of the session that is off, then those that need each other.
func (l *leverage) switches() {
	var working [][]string
	for _, set := range switchSets {
		var names, statements []string
		for _, t := range set.toggles {
			if t.off(l.settings) {
				names = append(names, t.name)
				statements = append(statements, setLine(t))
			}
		}
		if len(names) == 0 || slices.ContainsFunc(working, func(w []string) bool { return containsAll(names, w) }) {
			continue
		}
		got := l.under(func(s *Settings) {
			for _, t := range set.toggles {
				t.apply(s)
			}
		})
		if !l.better(got) {
			continue
		}
		working = append(working, names)
		effect := l.switchEffect(got)
		if set.caveat != "" {
			effect += "; " + set.caveat
		}
		l.add(Lever{Kind: LeverSwitch, Apply: strings.Join(statements, "\n"), Strategy: got, Effect: effect})
	}
	l.entries()
}

func setLine(t toggle) string { return set(t.name, t.value) }

func containsAll(list, want []string) bool {
	for _, w := range want {
		if !slices.Contains(list, w) {
			return false
		}
	}
	return true
}

// switchEffect says what the strategy does with the two sides.
func (l *leverage) switchEffect(got Strategy) string {
	small, large, _ := l.hashed()
	switch got {
	case DPHJ:
		n := reducersFor(l.join, l.settings)
		return human(small/n) + " of hash table in each of " + count(n, "reducer") + ", nothing sorted"
	case BucketMapJoin:
		s := *l.settings
		s.BucketMapJoin = true
		n, byReducers := firstDivisor(l.join, &s)
		if byReducers { // a GROUP BY or a join below has spread the streamed side over them
			return human(small/n) + " of hash table in each of " + count(n, "reducer") + ", over which the streamed side is spread already"
		}
		return human(small/n) + " of hash table for each of " + count(n, "bucket")
	case SMB:
		return human(large) + " and " + human(small) + " merged as they lie in their buckets, nothing moved"
	default:
		return "a hash table of " + human(small) + ", the budget is " + human(l.verdict.Decision.Budget)
	}
}

// entries lifts the limit on distinct keys where it alone keeps a hash table out whose bytes fit.
func (l *leverage) entries() {
	if !slices.ContainsFunc(l.verdict.Decision.Attempts, func(a Attempt) bool { return a.Check == checkTexts[checkEntries] && !a.OK }) {
		return
	}
	var keys int64
	for pos := range l.join.Inputs {
		if n, known := distinctKeys(&l.join.Inputs[pos]); known {
			keys = max(keys, n)
		}
	}
	limit := Headroom(keys)
	got := l.under(func(s *Settings) { s.MaxEntries = limit })
	if !l.better(got) {
		return
	}
	small, _, _ := l.hashed()
	l.add(Lever{
		Kind: LeverSwitch, Strategy: got, Apply: setNumber(entriesSetting, limit),
		Effect: "the limit of " + grouped(l.settings.MaxEntries) + " keys is in the way of " + human(small) + ", not the budget of " + human(l.verdict.Decision.Budget),
	})
}
