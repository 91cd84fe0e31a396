package statscheck

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// described is a golden text of DESCRIBE FORMATTED, read at t0.
func described(t *testing.T, name string) advisor.TableStats {
	t.Helper()
	s, err := ParseDescribe(golden(t, name), "h_statscheck_golden."+name)
	if err != nil {
		t.Fatal(err)
	}
	s.ReadAt = t0
	return s
}

// Each of Hive's real texts under the rules that look at the table alone, and what becomes of it when the baseline differs.
func TestRulesOverDescribe(t *testing.T) {
	half := func(s advisor.TableStats) *Baseline { // a baseline of the same rows in half the bytes
		b := NewBaseline(s)
		b.At = t0.Add(-time.Hour)
		if s.TotalSize != nil {
			b.Bytes = new(*s.TotalSize / 2)
		}
		return &b
	}
	for name, c := range map[string]struct {
		change func(*Subject)
		want   []string
	}{
		"basic":                          {nil, nil},
		"basic, drifted":                 {func(s *Subject) { s.Baseline = half(s.Stats) }, []string{"R5 HIGH"}},
		"basic, we wrote":                {func(s *Subject) { s.Baseline = half(s.Stats); s.Writes = Writes{Counted: 1, Rows: 1} }, nil},
		"columns":                        {nil, nil},
		"columns, used":                  {func(s *Subject) { s.Usage.JoinColumns = []string{"id"}; s.Usage.OtherColumns = []string{"name"} }, nil},
		"basic, used":                    {func(s *Subject) { s.Usage.OtherColumns = []string{"name"} }, []string{"R3 HIGH"}},
		"nostats":                        {nil, []string{"R2 CRITICAL"}},
		"nostats_files":                  {nil, []string{"R2 CRITICAL"}},
		"nostats_files, drifted":         {func(s *Subject) { s.Baseline = &Baseline{Rows: new(int64(1)), Bytes: new(int64(1)), At: t0} }, []string{"R2 CRITICAL"}},
		"stale":                          {nil, []string{"R2 CRITICAL"}},
		"external":                       {nil, []string{"R2 CRITICAL"}},
		"external, old, without a count": {func(s *Subject) { s.Baseline, s.Now = half(s.Stats), t0.Add(31*24*time.Hour) }, []string{"R2 CRITICAL"}},
		"view":                           {nil, nil},
		"temporary":                      {nil, nil},
		"partition":                      {nil, nil},
		"partition_nostats":              {nil, []string{"R2 CRITICAL"}},
		"partition, written": {func(s *Subject) {
			s.Baseline = &Baseline{Rows: s.Stats.Rows, Bytes: s.Stats.TotalSize, At: t0.Add(-time.Hour)}
			s.Writes = Writes{Rows: 2000, Counted: 1, LastAt: t0.Add(-time.Minute)}
		}, []string{"R4 HIGH"}},
		"partition, drifted": {func(s *Subject) { s.Baseline = half(s.Stats) }, []string{"R5 HIGH"}},
		"parted, one of its partitions": {func(s *Subject) {
			s.Reads = []PlanRead{{Fingerprint: "f", Partitions: []string{"ds=a/h=1", "ds=a/h=2"}, Total: 2, Build: true}}
			s.StalePartitions = []string{"ds=a/h=2", "ds=b/h=1"}
		}, []string{"R7 HIGH"}},
	} {
		t.Run(name, func(t *testing.T) {
			golden := name
			if i := slices.Index([]byte(name), ','); i >= 0 {
				golden = name[:i]
			}
			s := Subject{Stats: described(t, golden)}
			if c.change != nil {
				c.change(&s)
			}
			if got := found(Check(s, DefaultThresholds())); !slices.Equal(got, c.want) && len(got)+len(c.want) > 0 {
				t.Errorf("%+v\n got %v, want %v", s.Stats, got, c.want)
			}
		})
	}
}

func TestDrift(t *testing.T) {
	base := func(rows, bytes int64) *Baseline {
		return &Baseline{Rows: &rows, Bytes: &bytes, At: t0.Add(-time.Hour)}
	}
	acid := table(func(s *advisor.TableStats) { s.Transactional = true })
	iceberg := table(func(s *advisor.TableStats) { s.StorageHandler = "org.apache.iceberg.mr.hive.HiveIcebergStorageHandler" })
	listed := func(bytes int64, age time.Duration) *Files {
		return &Files{Count: 4, Bytes: bytes, UpdatedAt: t0.Add(-age), ReadAt: t0}
	}
	per := DefaultThresholds()
	per.Tables = []TableThresholds{{Pattern: "db.t", Drift: new(0.05)}}
	for name, c := range map[string]struct {
		stats  advisor.TableStats
		base   *Baseline
		writes Writes
		files  *Files
		limits *Thresholds
		want   bool
	}{
		"nothing moved":                  {stats: table(), base: base(1_000_000, 10_000_000)},
		"no baseline":                    {stats: table()},
		"grew by less":                   {stats: table(), base: base(1_000_000, 8_400_000)},
		"grew by 20 %":                   {stats: table(), base: base(1_000_000, 8_333_333), want: true},
		"shrank by less":                 {stats: table(), base: base(1_000_000, 12_400_000)},
		"shrank by 20 %":                 {stats: table(), base: base(1_000_000, 12_500_000), want: true},
		"rows came with it":              {stats: table(), base: base(500_000, 5_000_000)},
		"few rows came with it":          {stats: table(), base: base(990_000, 5_000_000), want: true},
		"rows came, thrice as wide":      {stats: table(), base: base(500_000, 1_600_000), want: true},
		"rows came, bytes thrice as far": {stats: table(), base: base(500_000, 2_500_000)},
		"rows went, bytes came":          {stats: table(), base: base(2_000_000, 5_000_000), want: true},
		"recounted":                      {stats: table(), base: base(10, 10_000_000)},
		"a write of ours":                {stats: table(), base: base(1_000_000, 5_000_000), writes: Writes{Counted: 1}},
		"an uncounted one":               {stats: table(), base: base(1_000_000, 9_000_000), writes: Writes{Uncounted: 1, LastAt: t0.Add(-time.Minute)}},
		"others', then ours":             {stats: table(), base: base(1_000_000, 5_000_000), writes: Writes{Counted: 1, Foreign: true}, want: true},
		"compaction of an ACID table":    {stats: acid, base: base(1_000_000, 5_000_000)},
		"ACID, rows moved strangely":     {stats: acid, base: base(999_000, 5_000_000), want: true},
		"5 %, by the table's threshold":  {stats: table(), base: base(1_000_000, 9_500_000), limits: &per, want: true},
		"files behind Hive":              {stats: table(), base: base(1_000_000, 10_000_000), files: listed(20_000_000, time.Hour), want: true},
		"files gone":                     {stats: table(), base: base(1_000_000, 10_000_000), files: listed(0, time.Hour), want: true},
		"files as counted":               {stats: table(), base: base(1_000_000, 10_000_000), files: listed(10_000_000, time.Hour)},
		"files a little more":            {stats: table(), base: base(1_000_000, 10_000_000), files: listed(11_900_000, time.Hour)},
		"somebody writes right now":      {stats: table(), base: base(1_000_000, 10_000_000), files: listed(20_000_000, time.Second)},
		"files behind Hive, after ours":  {stats: table(), base: base(1_000_000, 10_000_000), writes: Writes{Counted: 1}, files: listed(20_000_000, time.Hour), want: true},
		"files of ACID hold old rows":    {stats: acid, base: base(1_000_000, 10_000_000), files: listed(20_000_000, time.Hour)},
		"files of Iceberg hold old rows": {stats: iceberg, base: base(1_000_000, 10_000_000), files: listed(20_000_000, time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			limits := DefaultThresholds()
			if c.limits != nil {
				limits = *c.limits
			}
			var want []string
			if c.want {
				want = []string{"R5 HIGH"}
			}
			wantFound(t, Subject{Stats: c.stats, Baseline: c.base, Writes: c.writes, Files: c.files}, limits, want...)
		})
	}
}

func TestPartitionsRead(t *testing.T) {
	many := make([]string, 30)
	for i := range many {
		many[i] = "ds=" + string(rune('a'+i%26)) + string(rune('a'+i/26))
	}
	for name, c := range map[string]struct {
		reads []PlanRead
		stale []string
		want  []string
	}{
		"none stale":            {[]PlanRead{{Partitions: many, Build: true}}, nil, nil},
		"one, build":            {[]PlanRead{{Partitions: many, Build: true}}, many[:1], many[:1]},
		"one of ten, probe":     {[]PlanRead{{Partitions: many[:10]}}, many[:1], many[:1]},
		"one of eleven, probe":  {[]PlanRead{{Partitions: many[:11]}}, many[:1], nil},
		"one of a list cut":     {[]PlanRead{{Partitions: many[:10], Total: 1000}}, many[:1], nil},
		"others are read":       {[]PlanRead{{Partitions: many[1:2], Build: true}}, many[:1], nil},
		"two plans, each once":  {[]PlanRead{{Partitions: many[:2], Build: true}, {Partitions: many[:3], Build: true}}, many[:2], many[:2]},
		"no partitions in plan": {[]PlanRead{{Build: true}}, many[:2], nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := Check(Subject{Stats: table(), Reads: c.reads, StalePartitions: c.stale}, DefaultThresholds())
			var names []string
			for _, r := range got {
				if r.Rule != R7Partitions || r.Level != LevelHigh || r.Table != "db.t" || r.Reason == "" {
					t.Errorf("got %+v", r)
				}
				names = append(names, r.Partition)
			}
			if !slices.Equal(names, c.want) {
				t.Errorf("got %v, want %v", names, c.want)
			}
		})
	}
	for _, c := range []struct {
		s    Staleness
		want bool
	}{
		{Staleness{Partition: "p", Rule: R2NoBasic, Level: LevelCritical}, true},
		{Staleness{Partition: "p", Rule: R4Rows, Level: LevelStale}, true},
		{Staleness{Partition: "p", Rule: R4Rows, Level: LevelWatch}, false},
		{Staleness{Partition: "p", Rule: R1Corrupt, Level: LevelSuspect}, false},
		{Staleness{Partition: "p", Rule: R6Uncounted, Level: LevelSuspect}, false},
		{Staleness{Partition: "p", Rule: R7Partitions, Level: LevelHigh}, false},
		{Staleness{Rule: R2NoBasic, Level: LevelCritical}, false},
	} {
		if got := CountsForR7(c.s); got != c.want {
			t.Errorf("%+v: %v", c.s, got)
		}
	}
}

func TestContradicted(t *testing.T) {
	after := t0.Add(time.Minute)
	rows := func(estimated, actual int64, atLeast bool) Contradiction {
		return Contradiction{Kind: ContradictedRows, Estimated: &estimated, Actual: &actual, AtLeast: atLeast, At: after}
	}
	memory := func(certain bool) Contradiction {
		return Contradiction{Kind: ContradictedMemory, Certain: certain, Words: "map join memory exhausted", At: after}
	}
	now := func(n int64) advisor.TableStats {
		return table(func(s *advisor.TableStats) { s.Rows, s.ReadAt = &n, after.Add(time.Second) })
	}
	for name, c := range map[string]struct {
		list     []Contradiction
		stats    advisor.TableStats
		analyzed time.Time
		want     []string
	}{
		"none":                  {nil, table(), time.Time{}, nil},
		"within 10":             {[]Contradiction{rows(1000, 9999, false)}, table(), time.Time{}, nil},
		"tenfold":               {[]Contradiction{rows(1000, 10_000, false)}, table(), time.Time{}, []string{"R8 WATCH"}},
		"below a hundredfold":   {[]Contradiction{rows(1000, 99_999, false)}, table(), time.Time{}, []string{"R8 WATCH"}},
		"a hundredfold":         {[]Contradiction{rows(1000, 100_000, false)}, table(), time.Time{}, []string{"R8 STALE"}},
		"a tenth":               {[]Contradiction{rows(10_000, 1000, false)}, table(), time.Time{}, []string{"R8 WATCH"}},
		"a tenth at least":      {[]Contradiction{rows(10_000, 1000, true)}, table(), time.Time{}, nil},
		"estimated at nothing":  {[]Contradiction{rows(0, 10, true)}, table(), time.Time{}, []string{"R8 WATCH"}},
		"Hive has learnt since": {[]Contradiction{rows(1000, 100_000, false)}, now(100_000), time.Time{}, nil},
		"Hive has learnt a bit": {[]Contradiction{rows(1000, 100_000, false)}, now(9000), time.Time{}, []string{"R8 WATCH"}},
		"analysed since":        {[]Contradiction{rows(1000, 100_000, false), memory(true)}, table(), after.Add(time.Second), nil},
		"analysed before":       {[]Contradiction{rows(1000, 100_000, false)}, table(), after.Add(-time.Second), []string{"R8 STALE"}},
		"hash table named":      {[]Contradiction{memory(true)}, table(), time.Time{}, []string{"R8 CRITICAL"}},
		"memory of some task":   {[]Contradiction{memory(false)}, table(), time.Time{}, []string{"R8 HIGH"}},
		"the worst of them":     {[]Contradiction{rows(1000, 10_000, false), memory(false), rows(1000, 100_000, false)}, table(), time.Time{}, []string{"R8 HIGH"}},
	} {
		t.Run(name, func(t *testing.T) {
			wantFound(t, Subject{Stats: c.stats, Contradictions: c.list, AnalyzedAt: c.analyzed}, DefaultThresholds(), c.want...)
		})
	}
}

func TestAge(t *testing.T) {
	const day = 24 * time.Hour
	external := table(func(s *advisor.TableStats) { s.Kind = kindExternal })
	part := table(func(s *advisor.TableStats) { s.Kind, s.Partition = kindExternal, "ds=a" })
	uncounted := Writes{Uncounted: 1, LastAt: t0.Add(-time.Hour)}
	never := DefaultThresholds()
	never.Tables = []TableThresholds{{Pattern: "db.*", AgeJoined: new(time.Duration(0)), AgeOther: new(time.Duration(0))}}
	for name, c := range map[string]struct {
		stats  advisor.TableStats
		age    time.Duration
		joins  int64
		writes Writes
		files  *Files
		limits Thresholds
		want   bool
	}{
		"old, all writes counted":   {stats: table(), age: 90 * day, joins: 3},
		"joined, six days":          {stats: table(), age: 7*day - time.Second, joins: 1, writes: uncounted},
		"joined, a week":            {stats: table(), age: 7 * day, joins: 1, writes: uncounted, want: true},
		"not joined, a week":        {stats: table(), age: 7 * day, writes: uncounted},
		"not joined, 30 days":       {stats: table(), age: 30 * day, writes: uncounted, want: true},
		"external, joined, a week":  {stats: external, age: 7 * day, joins: 1, want: true},
		"external, 29 days":         {stats: external, age: 29 * day},
		"opted out":                 {stats: external, age: 90 * day, limits: never},
		"partition, files the same": {stats: part, age: 90 * day, files: &Files{Bytes: 10_000_000, ReadAt: t0, UpdatedAt: t0.Add(-time.Hour)}},
		"partition, not listed":     {stats: part, age: 90 * day, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.limits.High == 0 {
				c.limits = DefaultThresholds()
			}
			s := Subject{
				Stats: c.stats, Baseline: &Baseline{Rows: c.stats.Rows, Bytes: c.stats.TotalSize, At: t0.Add(-c.age)}, Writes: c.writes, Now: t0,
				Usage: Usage{Joins: c.joins}, Files: c.files,
			}
			var want []string
			if c.want {
				want = []string{"R9 WATCH"}
			}
			wantFound(t, s, c.limits, want...)
		})
	}
}

func TestWritesToPartitions(t *testing.T) {
	at := func(d time.Duration) time.Time { return t0.Add(d) }
	list := []Write{
		{Specs: []string{"ds=a/h=1"}, Rows: new(int64(10)), At: at(1)},
		{Specs: []string{"ds=a/h=01"}, Rows: new(int64(5)), Overwrite: true, At: at(2)}, // h is an integer: the same partition
		{Specs: []string{"ds=a"}, Rows: new(int64(100)), At: at(3)},                     // all hours of the day
		{Specs: []string{"ds=a/h=1", "ds=b/h=1"}, Rows: new(int64(100)), At: at(4)},     // two partitions at once
		{Specs: []string{"ds=b/h=1"}, ColumnsChanged: true, At: at(5)},
		{Specs: []string{""}, At: at(6)},
	}
	for partition, want := range map[string]Writes{
		"ds=a/h=1": {Rows: 15, Counted: 2, Uncounted: 3, Overwrites: 1, LastAt: at(6)},
		"ds=a/h=2": {Uncounted: 2, LastAt: at(6)},
		"ds=b/h=1": {Uncounted: 3, ColumnsChanged: true, LastAt: at(6)},
		"ds=c/h=1": {Uncounted: 1, LastAt: at(6)},
	} {
		if got := WritesTo(partition, list, t0); got != want {
			t.Errorf("%s: got %+v, want %+v", partition, got, want)
		}
	}
	if got := WritesTo("ds=a/h=1", list, at(2)); got.Counted != 0 || got.Uncounted != 3 {
		t.Errorf("after the second: %+v", got)
	}
	got := Touched([]string{"ds=a/h=1", "ds=c/h=1"}, list[:2], func(string) time.Time { return at(1) })
	if !slices.Equal(got, []string{"ds=a/h=1"}) {
		t.Errorf("touched %v", got)
	}
}

func TestPartitionSpec(t *testing.T) {
	spec := PartitionSpec(map[string]string{"hr": "3", "ds": "2024/01 x=1", "a b": "ü"})
	if want := "a b=ü/ds=2024%2F01 x%3D1/hr=3"; spec != want {
		t.Errorf("got %q, want %q", spec, want)
	}
	if got := PartitionSpec(nil); got != "" {
		t.Errorf("got %q for nothing", got)
	}
	for _, c := range []struct {
		spec, partition string
		covers, same    bool
	}{
		{"", "ds=a", true, false},
		{"ds=a", "ds=a", true, true},
		{"ds=a", "ds=a/h=1", true, false},
		{"ds=a/h=1", "h=1/ds=a", true, true},
		{"ds=a/h=1", "ds=a/h=2", false, false},
		{"ds=a/h=1", "ds=a", false, false},
		{"h=007", "h=7", true, true},
		{"h=0", "h=00", true, true},
		{"ds=A", "ds=a", false, false},
		{"ds=%2F", "ds=%2F", true, true},
	} {
		if got := Covers(c.spec, c.partition); got != c.covers {
			t.Errorf("Covers(%q, %q) = %v", c.spec, c.partition, got)
		}
		if got := SameSpec(c.spec, c.partition); got != c.same {
			t.Errorf("SameSpec(%q, %q) = %v", c.spec, c.partition, got)
		}
	}
	for spec, want := range map[string]string{"h=1/ds=a%3D": "ds=a%3D/h=1", "ds=a": "", "": "", "ds=a/x=1": ""} {
		if got, ok := PartitionOf(spec, []string{"ds", "h"}); got != want || ok != (want != "") {
			t.Errorf("PartitionOf(%q) = %q, %v", spec, got, ok)
		}
	}
}

func TestForeignWriteOf(t *testing.T) {
	before := Reading{Rows: new(int64(1_000_000)), Bytes: new(int64(10_000_000)), Files: new(int64(4)), At: t0.Add(-time.Hour)}
	grown := func(change ...func(*advisor.TableStats)) advisor.TableStats {
		return table(append([]func(*advisor.TableStats){func(s *advisor.TableStats) { s.TotalSize, s.Files = new(int64(15_000_000)), new(int64(6)) }}, change...)...)
	}
	for name, c := range map[string]struct {
		before         Reading
		now            advisor.TableStats
		lastWrite      time.Time
		want, followed bool
	}{
		"nothing moved":          {before, table(), time.Time{}, false, false},
		"files moved":            {before, grown(), time.Time{}, true, false},
		"rows moved with them":   {before, grown(func(s *advisor.TableStats) { s.Rows = new(int64(1_500_000)) }), time.Time{}, true, true},
		"rows moved, no flag":    {before, grown(func(s *advisor.TableStats) { s.Rows, s.BasicAccurate = new(int64(1_500_000)), false }), time.Time{}, true, false},
		"a write before":         {before, grown(), t0.Add(-2 * time.Hour), true, false},
		"a write at the reading": {before, grown(), before.At, false, false},
		"a write between":        {before, grown(), t0.Add(-time.Minute), false, false},
		"never read before":      {Reading{}, grown(), time.Time{}, false, false},
		"an older reading":       {Reading{Bytes: new(int64(1)), At: t0}, grown(), time.Time{}, false, false},
		"compacted":              {before, grown(func(s *advisor.TableStats) { s.Transactional = true }), time.Time{}, false, false},
		"unknown before":         {Reading{At: t0.Add(-time.Hour)}, grown(), time.Time{}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, ok := ForeignWriteOf(c.before, c.now, c.lastWrite)
			if ok != c.want || ok && w.Followed != c.followed {
				t.Errorf("got %v, %+v", ok, w)
			}
		})
	}
}

func TestKnown(t *testing.T) {
	base := &Baseline{Rows: new(int64(1_000_000)), Bytes: new(int64(10_000_000)), At: t0.Add(-time.Hour)}
	for name, c := range map[string]struct {
		s     Subject
		rows  int64 // -1: unknown
		from  Provenance
		bytes Provenance
	}{
		"metastore":              {Subject{Stats: table()}, 1_000_000, FromMetastore, FromMetastore},
		"analysed":               {Subject{Stats: table(), AnalyzedAt: t0.Add(-time.Minute)}, 1_000_000, FromAnalyze, FromMetastore},
		"analysed, not read yet": {Subject{Stats: table(), AnalyzedAt: t0.Add(time.Minute)}, 1_000_000, FromMetastore, FromMetastore},
		"analysed, then written": {Subject{Stats: table(), AnalyzedAt: t0.Add(-time.Minute), Writes: Writes{Uncounted: 1, LastAt: t0.Add(-time.Second)}}, 1_000_000, FromMetastore, FromMetastore},
		"counted on the wire":    {Subject{Stats: table(), Baseline: base, Writes: Writes{Rows: 500, Counted: 1}}, 1_000_500, FromWire, FromMetastore},
		"overwritten":            {Subject{Stats: table(), Baseline: base, Writes: Writes{Rows: 500, Counted: 1, Overwrites: 1}}, 1_000_000, FromMetastore, FromMetastore},
		"all rows replaced":      {Subject{Stats: table(), Baseline: base, Writes: Writes{Rows: 500, Counted: 1, Overwrites: 1, Left: new(int64(500))}}, 500, FromWire, FromMetastore},
		"and files of another":   {Subject{Stats: table(), Writes: Writes{Rows: 500, Counted: 1, Overwrites: 1, Left: new(int64(500)), Foreign: true}}, 1_000_000, FromMetastore, FromMetastore},
		"partitions replaced": {Subject{Stats: table(func(s *advisor.TableStats) { s.PartitionColumns = []string{"ds"} }), Writes: Writes{
			Rows: 500, Counted: 1, Overwrites: 1, Left: new(int64(500)),
		}}, 1_000_000, FromMetastore, FromMetastore},
		"guessed by the planner": {Subject{Stats: table(func(s *advisor.TableStats) { s.Rows, s.BasicAccurate = nil, false }), Usage: Usage{PlanRows: new(int64(7))}}, 7, FromEstimate, FromMetastore},
		"corrupt, guess unknown": {Subject{Stats: table(func(s *advisor.TableStats) { s.Rows = new(int64(-5)) })}, -1, "", FromMetastore},
		"no flag, guess unknown": {Subject{Stats: table(func(s *advisor.TableStats) { s.BasicAccurate = false })}, 1_000_000, FromMetastore, FromMetastore},
		"never read, guessed":    {Subject{Stats: advisor.TableStats{Table: "db.t"}, Usage: Usage{PlanRows: new(int64(7))}}, 7, FromEstimate, ""},
		"nothing known":          {Subject{Stats: advisor.TableStats{Table: "db.t"}}, -1, "", ""},
		"files listed":           {Subject{Stats: table(), Files: &Files{Bytes: 5, ReadAt: t0, UpdatedAt: t0.Add(-time.Hour)}}, 1_000_000, FromMetastore, FromFiles},
		"files still written":    {Subject{Stats: table(), Files: &Files{Bytes: 5, ReadAt: t0, UpdatedAt: t0}}, 1_000_000, FromMetastore, FromMetastore},
	} {
		t.Run(name, func(t *testing.T) {
			k := KnownOf(c.s)
			rows := int64(-1)
			if k.Rows != nil {
				rows = *k.Rows
			}
			if rows != c.rows || k.RowsFrom != c.from || k.BytesFrom != c.bytes || (k.Bytes == nil) != (c.bytes == "") {
				t.Errorf("got %d rows from %s, bytes from %s", rows, k.RowsFrom, k.BytesFrom)
			}
		})
	}
}

func TestCoverage(t *testing.T) {
	s := Subject{Stats: table(func(s *advisor.TableStats) { s.ColumnsAccurate = []string{"id"} }), Usage: Usage{JoinColumns: []string{"id"}, OtherColumns: []string{"name", "tags"}}}
	needed, covered := Coverage(s)
	if !reflect.DeepEqual(needed, []string{"id", "name"}) || !reflect.DeepEqual(covered, []string{"id"}) {
		t.Errorf("needed %v, covered %v", needed, covered)
	}
}
