package statscheck

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hs2proxy/hs2proxy/advisor"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// table is a plain managed table with valid statistics: 1,000,000 rows in 10 MB, read at t0.
func table(change ...func(*advisor.TableStats)) advisor.TableStats {
	t := advisor.TableStats{
		Table: "db.t", Kind: kindManaged, ReadAt: t0, BasicAccurate: true,
		Rows: new(int64(1_000_000)), TotalSize: new(int64(10_000_000)), Files: new(int64(4)),
		ColumnTypes: []advisor.ColumnType{{Name: "id", Type: "bigint"}, {Name: "name", Type: "string"}, {Name: "tags", Type: "array<string>"}, {Name: "seen", Type: "timestamp with local time zone"}},
	}
	for _, f := range change {
		f(&t)
	}
	return t
}

// found lists "R4 HIGH" and the like.
func found(list []Staleness) []string {
	out := []string{}
	for _, s := range list {
		out = append(out, fmt.Sprintf("%s %s", s.Rule, s.Level))
	}
	return out
}

func wantFound(t *testing.T, s Subject, limits Thresholds, want ...string) {
	t.Helper()
	got := Check(s, limits)
	if !slices.Equal(found(got), want) && len(got)+len(want) > 0 {
		t.Errorf("Check: got %v, want %v", found(got), want)
	}
	for _, r := range got {
		if r.Table != s.Stats.Table || r.Partition != s.Stats.Partition || r.Reason == "" {
			t.Errorf("incomplete: %+v", r)
		}
	}
}

func TestBasicStatistics(t *testing.T) {
	rows := func(n int64) func(*advisor.TableStats) { return func(s *advisor.TableStats) { s.Rows = &n } }
	bytes := func(n int64) func(*advisor.TableStats) { return func(s *advisor.TableStats) { s.TotalSize = &n } }
	files := func(n int64) func(*advisor.TableStats) { return func(s *advisor.TableStats) { s.Files = &n } }
	absent := func(s *advisor.TableStats) { s.Rows = nil }
	noBytes := func(s *advisor.TableStats) { s.TotalSize, s.Files = nil, nil }
	unflagged := func(s *advisor.TableStats) { s.BasicAccurate = false }
	acid := func(s *advisor.TableStats) { s.Transactional = true }
	external := func(s *advisor.TableStats) { s.Kind = "EXTERNAL_TABLE" }
	view := func(s *advisor.TableStats) { s.Kind = kindView }
	materialized := func(s *advisor.TableStats) { s.Kind = "MATERIALIZED_VIEW" }
	temporary := func(s *advisor.TableStats) { s.Temporary = true }
	partitions := func(n int64) func(*advisor.TableStats) { return func(s *advisor.TableStats) { s.PartitionsNum = &n } }
	type change = func(*advisor.TableStats)

	for name, c := range map[string]struct {
		change []change
		want   []string
	}{
		"valid":                             {nil, nil},
		"valid external":                    {[]change{external}, nil},
		"numRows absent":                    {[]change{absent, unflagged}, []string{"R2 CRITICAL"}},
		"numRows absent, flagged":           {[]change{absent}, []string{"R2 CRITICAL"}},
		"numRows absent, no files":          {[]change{absent, unflagged, noBytes}, []string{"R2 CRITICAL"}},
		"numRows absent, external":          {[]change{absent, unflagged, noBytes, external}, []string{"R2 CRITICAL"}},
		"numRows -2":                        {[]change{rows(-2)}, []string{"R1 CRITICAL"}},
		"numRows -2, no bytes":              {[]change{rows(-2), noBytes}, []string{"R1 CRITICAL"}},
		"numRows lowest":                    {[]change{rows(math.MinInt64)}, []string{"R1 CRITICAL"}},
		"0 rows, flagged, no files":         {[]change{rows(0), bytes(0), files(0)}, nil},
		"0 rows, unflagged, no files":       {[]change{rows(0), bytes(0), files(0), unflagged}, nil},
		"0 rows, unflagged, bytes absent":   {[]change{rows(0), noBytes, unflagged}, nil},
		"0 rows, flagged, tiny file":        {[]change{rows(0), bytes(4096), files(1)}, nil},
		"0 rows, flagged, not so tiny":      {[]change{rows(0), bytes(4097), files(1)}, []string{"R1 CRITICAL"}},
		"0 rows, flagged, tiny files":       {[]change{rows(0), bytes(40_960), files(10)}, nil},
		"0 rows, flagged, not so tiny ones": {[]change{rows(0), bytes(40_970), files(10)}, []string{"R1 CRITICAL"}},
		"0 rows, flagged, files unknown":    {[]change{rows(0), bytes(5000), func(s *advisor.TableStats) { s.Files = nil }}, []string{"R1 CRITICAL"}},
		"0 rows, unflagged, tiny file":      {[]change{rows(0), bytes(100), files(1), unflagged}, []string{"R1 CRITICAL"}},
		"0 rows, unflagged, bytes":          {[]change{rows(0), unflagged}, []string{"R1 CRITICAL"}},
		"0 rows, ACID, bytes":               {[]change{rows(0), acid}, []string{"R1 SUSPECT"}},
		"0 rows, ACID, unflagged":           {[]change{rows(0), acid, unflagged}, []string{"R1 SUSPECT"}},
		"-2 rows, ACID":                     {[]change{rows(-2), acid}, []string{"R1 CRITICAL"}},
		"1 row, bytes":                      {[]change{rows(1)}, nil},
		"unflagged with bytes":              {[]change{unflagged}, []string{"R2 CRITICAL"}},
		"unflagged without bytes":           {[]change{unflagged, bytes(0)}, nil},
		"partitions, 0 rows, unflagged":     {[]change{rows(0), unflagged, partitions(3)}, []string{"R2 CRITICAL"}},
		"partitions, some rows, unflagged":  {[]change{rows(5), unflagged, partitions(3)}, []string{"R2 CRITICAL"}},
		"partitions, 0 rows, flagged":       {[]change{rows(0), partitions(3)}, []string{"R1 CRITICAL"}},
		"no partitions yet":                 {[]change{rows(0), bytes(0), files(0), partitions(0)}, nil},
		"one partition, 0 rows, unflagged":  {[]change{rows(0), unflagged, func(s *advisor.TableStats) { s.Partition = "ds=1" }}, []string{"R1 CRITICAL"}},
		"view":                              {[]change{absent, unflagged, view}, nil},
		"materialized view":                 {[]change{absent, unflagged, materialized}, []string{"R2 CRITICAL"}},
		"temporary table":                   {[]change{absent, unflagged, temporary}, nil},
		"temporary, corrupt":                {[]change{rows(-5), temporary}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			wantFound(t, Subject{Stats: table(c.change...), Now: t0}, DefaultThresholds(), c.want...)
		})
	}
}

func TestPlanConfirmsAndNeverClears(t *testing.T) {
	unflagged := table(func(s *advisor.TableStats) { s.BasicAccurate = false })
	for _, c := range []struct {
		name  string
		stats advisor.TableStats
		plan  string
		want  []string
		noted bool
	}{
		{"COMPLETE does not clear", unflagged, "COMPLETE", []string{"R2 CRITICAL"}, false},
		{"NONE is noted", unflagged, "NONE", []string{"R2 CRITICAL"}, true},
		{"PARTIAL is noted", unflagged, "PARTIAL", []string{"R2 CRITICAL"}, true},
		{"NONE does not condemn what the metastore vouches for", table(), "NONE", nil, false},
		{"never read, no plan", advisor.TableStats{Table: "db.t"}, "", nil, false},
		{"never read, COMPLETE", advisor.TableStats{Table: "db.t"}, "COMPLETE", nil, false},
		{"never read, NONE", advisor.TableStats{Table: "db.t"}, "NONE", []string{"R2 CRITICAL"}, true},
		{"never read, PARTIAL", advisor.TableStats{Table: "db.t"}, "PARTIAL", []string{"R2 CRITICAL"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Subject{Stats: c.stats, Usage: Usage{PlanBasic: c.plan}}
			wantFound(t, s, DefaultThresholds(), c.want...)
			got := Check(s, DefaultThresholds())
			if len(got) == 1 && (got[0].Evidence["plan_basic_stats"] == c.plan) != c.noted {
				t.Errorf("evidence %v, want the plan noted: %v", got[0].Evidence, c.noted)
			}
		})
	}
}

func TestColumnStatistics(t *testing.T) {
	flags := func(names ...string) func(*advisor.TableStats) {
		return func(s *advisor.TableStats) { s.ColumnsAccurate = names }
	}
	read := func(there bool, names ...string) func(*advisor.TableStats) {
		return func(s *advisor.TableStats) {
			s.ColumnsRead = append(s.ColumnsRead, names...)
			for _, n := range names {
				if there {
					if s.Columns == nil {
						s.Columns = map[string]advisor.ColumnStats{}
					}
					s.Columns[n] = advisor.ColumnStats{NDV: new(int64(7)), Nulls: new(int64(0))}
				}
			}
		}
	}
	emptied := func(s *advisor.TableStats) {
		s.Rows, s.TotalSize, s.Files = new(int64(0)), new(int64(0)), new(int64(0))
	}
	partitioned := func(s *advisor.TableStats) {
		s.PartitionsNum, s.PartitionColumns = new(int64(3)), []string{"ds"}
		s.ColumnTypes = append(s.ColumnTypes, advisor.ColumnType{Name: "ds", Type: "string"})
	}
	type change = func(*advisor.TableStats)
	for name, c := range map[string]struct {
		change  []change
		usage   Usage
		missing []string
	}{
		"nothing used":                       {nil, Usage{}, nil},
		"flagged, not read":                  {[]change{flags("id")}, Usage{JoinColumns: []string{"id"}}, nil},
		"flagged and read":                   {[]change{flags("id"), read(true, "id")}, Usage{JoinColumns: []string{"id"}}, nil},
		"flagged, read, empty":               {[]change{flags("id"), read(false, "id")}, Usage{JoinColumns: []string{"id"}}, []string{"id"}},
		"numbers left over without the flag": {[]change{read(true, "id")}, Usage{JoinColumns: []string{"id"}}, []string{"id"}},
		"no statistics":                      {nil, Usage{JoinColumns: []string{"id"}}, []string{"id"}},
		"filter column":                      {[]change{flags("id")}, Usage{JoinColumns: []string{"id"}, OtherColumns: []string{"name"}}, []string{"name"}},
		"joins first, each once":             {nil, Usage{JoinColumns: []string{"name"}, OtherColumns: []string{"ID", "name"}}, []string{"name", "id"}},
		"types without statistics":           {nil, Usage{JoinColumns: []string{"seen"}, OtherColumns: []string{"tags"}}, nil},
		"no such column":                     {nil, Usage{JoinColumns: []string{"gone"}}, nil},
		"empty table":                        {[]change{emptied}, Usage{JoinColumns: []string{"id"}}, nil},
		"partition column":                   {[]change{partitioned}, Usage{JoinColumns: []string{"ds"}}, nil},
		"partitioned, flagged":               {[]change{partitioned, flags("id"), read(true, "id")}, Usage{JoinColumns: []string{"id"}, PlanColumn: "COMPLETE"}, nil},
		"partitioned, flagged, plan PARTIAL": {[]change{partitioned, flags("id"), read(true, "id")}, Usage{JoinColumns: []string{"id"}, PlanColumn: "PARTIAL"}, nil},
		"partitioned, flagged, plan NONE":    {[]change{partitioned, flags("id"), read(true, "id")}, Usage{JoinColumns: []string{"id"}, PlanColumn: "NONE"}, []string{"id"}},
		"partitioned, not flagged":           {[]change{partitioned, read(true, "id")}, Usage{JoinColumns: []string{"id"}}, []string{"id"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := Subject{Stats: table(c.change...), Usage: c.usage}
			var want []string
			if c.missing != nil {
				want = []string{"R3 HIGH"}
			}
			wantFound(t, s, DefaultThresholds(), want...)
			for _, r := range Check(s, DefaultThresholds()) {
				if !slices.Equal(r.Columns, c.missing) {
					t.Errorf("columns %v, want %v", r.Columns, c.missing)
				}
			}
		})
	}
}

func TestChangedColumns(t *testing.T) {
	usage := Usage{JoinColumns: []string{"id"}}
	flagged := table(func(s *advisor.TableStats) { s.ColumnsAccurate = []string{"id"} })
	for name, c := range map[string]struct {
		at   time.Time
		want []string
	}{
		"change after the reading":   {t0.Add(time.Second), []string{"R3 HIGH"}},
		"change at the reading":      {t0, []string{"R3 HIGH"}},
		"read again and found valid": {t0.Add(-time.Second), nil},
	} {
		t.Run(name, func(t *testing.T) {
			wantFound(t, Subject{Stats: flagged, Usage: usage, Writes: Writes{ColumnsChanged: true, LastAt: c.at}}, DefaultThresholds(), c.want...)
		})
	}
}

func TestRowsWritten(t *testing.T) {
	base := func(n int64) *Baseline { return &Baseline{Rows: &n, At: t0} }
	parted := func(n int64) advisor.TableStats { return table(func(s *advisor.TableStats) { s.PartitionsNum = &n }) }
	unknown := table(func(s *advisor.TableStats) { s.Rows = nil })
	for name, c := range map[string]struct {
		stats  advisor.TableStats
		base   *Baseline
		writes Writes
		want   string
	}{
		"nothing written":          {table(), base(10_000), Writes{}, ""},
		"999 rows of one":          {table(), base(1), Writes{Rows: 999}, ""},
		"1000 rows of one":         {table(), base(1), Writes{Rows: 1000}, "R4 HIGH"},
		"1000 rows of none":        {table(), base(0), Writes{Rows: 1000}, "R4 HIGH"},
		"999 rows of none":         {table(), base(0), Writes{Rows: 999}, ""},
		"below 0.1":                {table(), base(1_000_000), Writes{Rows: 99_999}, ""},
		"0.1":                      {table(), base(1_000_000), Writes{Rows: 100_000}, "R4 WATCH"},
		"below 0.2":                {table(), base(1_000_000), Writes{Rows: 199_999}, "R4 WATCH"},
		"0.2":                      {table(), base(1_000_000), Writes{Rows: 200_000}, "R4 STALE"},
		"below 0.5":                {table(), base(1_000_000), Writes{Rows: 499_999}, "R4 STALE"},
		"0.5":                      {table(), base(1_000_000), Writes{Rows: 500_000}, "R4 HIGH"},
		"tenfold":                  {table(), base(1_000_000), Writes{Rows: 9_000_000}, "R4 HIGH"},
		"no baseline: metastore":   {table(), nil, Writes{Rows: 200_000}, "R4 STALE"},
		"baseline without rows":    {table(), &Baseline{At: t0}, Writes{Rows: 200_000}, "R4 STALE"},
		"baseline beats metastore": {table(), base(10_000_000), Writes{Rows: 200_000}, ""},
		"nothing known":            {unknown, nil, Writes{Rows: 1_000_000}, "R2 CRITICAL"},
		"1 of 100 partitions":      {parted(100), base(1_000_000), Writes{Rows: 900_000, Partitions: 1}, ""},
		"10 of 100 partitions":     {parted(100), base(1_000_000), Writes{Rows: 900_000, Partitions: 10}, "R4 WATCH"},
		"50 of 100 partitions":     {parted(100), base(1_000_000), Writes{Rows: 900_000, Partitions: 50}, "R4 HIGH"},
		"many partitions, few row": {parted(100), base(1_000_000), Writes{Rows: 100_000, Partitions: 100}, "R4 WATCH"},
		"partitions unknown":       {parted(100), base(1_000_000), Writes{Rows: 900_000}, "R4 HIGH"},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			if c.want != "" {
				want = []string{c.want}
			}
			wantFound(t, Subject{Stats: c.stats, Baseline: c.base, Writes: c.writes}, DefaultThresholds(), want...)
		})
	}
}

func TestUncountedWrites(t *testing.T) {
	for name, c := range map[string]struct {
		writes Writes
		want   []string
	}{
		"none":                   {Writes{LastAt: t0.Add(time.Hour)}, nil},
		"after the reading":      {Writes{Uncounted: 1, LastAt: t0.Add(time.Second)}, []string{"R6 SUSPECT"}},
		"at the reading":         {Writes{Uncounted: 1, LastAt: t0}, []string{"R6 SUSPECT"}},
		"read again since":       {Writes{Uncounted: 1, LastAt: t0.Add(-time.Second)}, nil},
		"with rows counted, too": {Writes{Uncounted: 2, Rows: 500_000, Counted: 1, LastAt: t0.Add(time.Second)}, []string{"R4 HIGH", "R6 SUSPECT"}},
	} {
		t.Run(name, func(t *testing.T) {
			wantFound(t, Subject{Stats: table(), Writes: c.writes}, DefaultThresholds(), c.want...)
		})
	}
	// Read again, but numRows cannot have followed: somebody ran ANALYZE … NOSCAN, which sets the flag alone.
	for bytes, want := range map[int64][]string{8_333_334: nil, 8_333_333: {"R6 SUSPECT"}, 5_000_000: {"R6 SUSPECT"}} {
		s := Subject{Stats: table(), Baseline: &Baseline{Rows: new(int64(1_000_000)), Bytes: &bytes, At: t0}}
		s.Writes = Writes{Uncounted: 1, LastAt: t0.Add(-time.Second)}
		wantFound(t, s, DefaultThresholds(), want...)
		s.Writes.Uncounted = 0 // then nobody seen explains the files
		if want != nil {
			want = []string{"R5 HIGH"}
		}
		wantFound(t, s, DefaultThresholds(), want...)
	}
	// A load with autogather off: R2 says all there is to say once the table was read, and R6 is left until then.
	s := Subject{Stats: table(), Baseline: &Baseline{Rows: new(int64(1_000_000)), Bytes: new(int64(5_000_000)), At: t0}}
	s.Stats.BasicAccurate = false
	s.Writes = Writes{Uncounted: 1, LastAt: t0.Add(-time.Second)}
	wantFound(t, s, DefaultThresholds(), "R2 CRITICAL")
	s.Writes.LastAt = t0.Add(time.Second)
	wantFound(t, s, DefaultThresholds(), "R2 CRITICAL", "R6 SUSPECT")
}

func TestThresholdsPerTable(t *testing.T) {
	limits := DefaultThresholds()
	limits.Tables = []TableThresholds{
		{Pattern: "tmp.*", Off: true},
		{Pattern: "db.t", MinRows: new(int64(10)), Watch: new(0.01), Stale: new(0.02), High: new(0.03)},
		{Pattern: "*.*", Watch: new(0.9), Stale: new(0.95), High: new(0.99)},
	}
	if err := limits.Validate(); err != nil {
		t.Fatal(err)
	}
	written := func(name string, m int64) Subject {
		return Subject{Stats: table(func(s *advisor.TableStats) { s.Table = name; s.Rows = new(int64(1000)) }), Writes: Writes{Rows: m}}
	}
	wantFound(t, written("db.t", 9), limits)
	wantFound(t, written("db.t", 10), limits, "R4 WATCH")
	wantFound(t, written("db.t", 30), limits, "R4 HIGH")
	wantFound(t, written("other.t", 899), limits)
	wantFound(t, written("other.t", 1000), limits, "R4 HIGH")
	wantFound(t, written("tmp.t", 1_000_000), limits)
	corrupt := written("tmp.x", 0)
	corrupt.Stats.Rows = nil
	wantFound(t, corrupt, limits)
}

// The level never falls when more rows are written, whatever the other numbers.
func TestRowsLevelIsMonotonic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Subject{
			Stats: table(func(s *advisor.TableStats) {
				s.PartitionsNum = rapid.Ptr(rapid.Int64Range(0, 1000), true).Draw(t, "partitions")
			}),
			Baseline: &Baseline{Rows: rapid.Ptr(rapid.Int64Range(0, math.MaxInt64), true).Draw(t, "n0")},
			Writes:   Writes{Rows: rapid.Int64Range(0, math.MaxInt64-1).Draw(t, "m"), Partitions: rapid.Int64Range(0, 1000).Draw(t, "touched")},
		}
		level := func(s Subject) int {
			r, ok := checkR4(s, DefaultThresholds())
			if !ok {
				return 0
			}
			return levels[r.Level]
		}
		less := level(s)
		s.Writes.Rows = rapid.Int64Range(s.Writes.Rows, math.MaxInt64).Draw(t, "more")
		if more := level(s); more < less {
			t.Fatalf("level fell from %d to %d", less, more)
		}
	})
}
