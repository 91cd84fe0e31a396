package sample

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/dynamicfilter"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// pretend gives a table statistics of so many rows, and its columns so many distinct whole numbers from 0.
func pretend(table string, rows int64, ndvs map[string]int64) []string {
	list := []string{fmt.Sprintf("ALTER TABLE %s UPDATE STATISTICS SET ('numRows'='%d','rawDataSize'='%d')", table, rows, rows*12)}
	for _, column := range slices.Sorted(maps.Keys(ndvs)) {
		n := ndvs[column]
		list = append(list, fmt.Sprintf("ALTER TABLE %s UPDATE STATISTICS FOR COLUMN %s SET ('numDVs'='%d','numNulls'='0','lowValue'='0','highValue'='%d')", table, column, n, n-1))
	}
	return list
}

func number(n int64) *int64 { return &n }

// told is what pretend has told Hive, as the advisor reads it.
func told(table, kind string, rows int64, ndvs map[string]int64) advisor.TableStats {
	s := advisor.TableStats{Table: table, Kind: kind, Rows: number(rows), Columns: map[string]advisor.ColumnStats{}}
	for column, n := range ndvs {
		s.Columns[column] = advisor.ColumnStats{NDV: number(n), Nulls: number(0), Low: "0", High: fmt.Sprint(n - 1)}
		s.ColumnsRead = append(s.ColumnsRead, column)
	}
	return s
}

// fewReducers keeps Hive from starting a thousand of them for the rows it is told of.
const fewReducers = "SET hive.exec.reducers.max=1"

type filterCase struct {
	settings map[string]string
	sql      string
	// alias and column are the consumer's.
	alias, column string
	kind          dynamicfilter.Kind
	state         dynamicfilter.State
	// causes are those of an absent filter; fixed: the finding's advice brings it.
	causes []dynamicfilter.Cause
	fixed  bool
	// more: causes are only some of those there are.
	more bool
}

// candidate finds the filter of a column.
func candidate(t *testing.T, q advisor.Query, c *filterCase, text string) dynamicfilter.Filter {
	t.Helper()
	for _, f := range dynamicfilter.Of(q) {
		if f.Alias == c.alias && slices.Contains(f.Columns, c.column) && f.Kind == c.kind {
			return f
		}
	}
	t.Fatalf("no %s of %s.%s may be in\n%s", c.kind, c.alias, c.column, text)
	return dynamicfilter.Filter{}
}

func answers(t *testing.T, session *client.Session, sql string) []string {
	t.Helper()
	var list []string
	for _, row := range run(t, session, sql).Rows {
		line := ""
		for _, v := range row {
			if v != nil {
				line += *v
			}
			line += "|"
		}
		list = append(list, line)
	}
	slices.Sort(list)
	return list
}

func TestDynamicFilterOnHive(t *testing.T) {
	db := fmt.Sprintf("h_filter_%d", os.Getpid())
	admin := open(t)
	t.Cleanup(func() { run(t, admin, Teardown(db)...) })
	run(t, admin, append(Teardown(db), "CREATE DATABASE "+quote(db), use(db))...)
	// Statistics are told, not gathered: that is a job less for each table.
	run(t, admin, "SET hive.stats.autogather=false", "SET hive.exec.dynamic.partition.mode=nonstrict")

	const factRows, dimRows = int64(1_000_000_000), int64(100)
	facts, dims := map[string]int64{"k": 1_000_000, "v": 1_000_000}, map[string]int64{"k": 100}
	tables := map[string]advisor.TableStats{}
	fill := func(name, create, insert string, kind string, rows int64, ndvs map[string]int64) {
		run(t, admin, create, insert)
		run(t, admin, pretend(name, rows, ndvs)...)
		tables[db+"."+name] = told(db+"."+name, kind, rows, ndvs)
	}
	fill("facts", "CREATE TABLE facts (k BIGINT, v BIGINT) STORED AS ORC", "INSERT INTO facts "+generate("i * 7 % 1000, i", 3000), "MANAGED_TABLE", factRows, facts)
	fill("medium", "CREATE TABLE medium (k BIGINT, v BIGINT) STORED AS ORC", "INSERT INTO medium "+generate("i * 7 % 1000, i", 3000), "MANAGED_TABLE", 50_000_000, facts)
	fill("dim", "CREATE TABLE dim (k BIGINT, name STRING) STORED AS ORC", "INSERT INTO dim "+generate("i * 3, concat('n', i)", 100), "MANAGED_TABLE", dimRows, dims)
	fill("small", "CREATE TABLE small (k BIGINT, name STRING) STORED AS ORC", "INSERT INTO small "+generate("i * 5, concat('n', i)", 100), "MANAGED_TABLE", 200, dims)
	fill("half", "CREATE TABLE half (k BIGINT, name STRING) STORED AS ORC", "INSERT INTO half "+generate("i * 2, concat('n', i)", 400), "MANAGED_TABLE",
		300_000_000, map[string]int64{"k": 400_000})
	fill("outside", "CREATE EXTERNAL TABLE outside (k BIGINT, v BIGINT) STORED AS ORC", "INSERT INTO outside "+generate("i * 7 % 1000, i", 3000), "EXTERNAL_TABLE", factRows, facts)
	fill("placed", "CREATE TABLE placed (k BIGINT, v BIGINT) CLUSTERED BY (k) SORTED BY (k) INTO 2 BUCKETS STORED AS ORC",
		"INSERT INTO placed "+generate("i * 7 % 1000, i", 3000), "MANAGED_TABLE", factRows, facts)
	fill("placed_dim", "CREATE TABLE placed_dim (k BIGINT, name STRING) CLUSTERED BY (k) SORTED BY (k) INTO 2 BUCKETS STORED AS ORC",
		"INSERT INTO placed_dim "+generate("i * 3, concat('n', i)", 100), "MANAGED_TABLE", dimRows, dims)
	run(t, admin, "CREATE TABLE named (ks STRING, v BIGINT) STORED AS ORC", "INSERT INTO named "+generate("concat('d', cast(i % 100 AS INT)), i", 1000))
	run(t, admin, "CREATE TABLE days (k BIGINT, v BIGINT) PARTITIONED BY (ds STRING) STORED AS ORC",
		"INSERT INTO days PARTITION (ds) "+generate("i, i * 3, concat('d', cast(i % 4 AS INT))", 2000))
	days := told(db+".days", "MANAGED_TABLE", 4*factRows, facts)
	days.PartitionColumns, days.PartitionsNum = []string{"ds"}, number(4)
	tables[db+".days"] = days
	for i := range 4 {
		run(t, admin, fmt.Sprintf("ALTER TABLE days PARTITION (ds='d%d') UPDATE STATISTICS SET ('numRows'='%d','rawDataSize'='%d')", i, factRows, factRows*12))
		p := days
		p.Partition, p.Rows = fmt.Sprintf("ds=d%d", i), number(factRows)
		tables[db+".days/"+p.Partition] = p
	}
	run(t, admin, "CREATE TABLE open_days (ds STRING, label STRING) STORED AS ORC", "INSERT INTO open_days VALUES ('d1', 'x')",
		"ALTER TABLE open_days UPDATE STATISTICS SET ('numRows'='1','rawDataSize'='20')",
		"ALTER TABLE open_days UPDATE STATISTICS FOR COLUMN ds SET ('numDVs'='1','numNulls'='0','avgColLen'='2','maxColLen'='2')",
		"ALTER TABLE open_days UPDATE STATISTICS FOR COLUMN label SET ('numDVs'='1','numNulls'='0','avgColLen'='1','maxColLen'='1')")
	one, average := map[string]advisor.ColumnStats{"ds": {NDV: number(1), Nulls: number(0), AvgLen: new(float64)}, "label": {NDV: number(1), Nulls: number(0), AvgLen: new(float64)}}, 2.0
	*one["ds"].AvgLen, *one["label"].AvgLen = average, 1
	tables[db+".open_days"] = advisor.TableStats{Table: db + ".open_days", Kind: "MANAGED_TABLE", Rows: number(1), Columns: one, ColumnsRead: []string{"ds", "label"}}

	const (
		budget    = "hive.auto.convert.join.noconditionaltask.size"
		semijoin  = "hive.tez.dynamic.semijoin.reduction"
		pruning   = "hive.tez.dynamic.partition.pruning"
		joined    = "SELECT sum(f.v), count(d.name) FROM %s f JOIN %s d ON f.k = d.k"
		onDays    = "SELECT sum(f.v), count(d.label) FROM days f JOIN open_days d ON f.ds = d.ds"
		maxBloom  = "hive.tez.max.bloom.filter.entries"
		threshold = semijoin + ".threshold"
	)
	shuffled := func(more ...string) map[string]string {
		m := map[string]string{budget: "1"}
		for i := 0; i+1 < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	on := func(fact, dim string) string { return fmt.Sprintf(joined, fact, dim) }
	cases := map[string]filterCase{
		"a semijoin reduction": {settings: shuffled(), sql: on("facts", "dim"), alias: "f", column: "k", kind: dynamicfilter.Semijoin, state: dynamicfilter.Present},
		"partition pruning":    {settings: shuffled(), sql: onDays, alias: "f", column: "ds", kind: dynamicfilter.Pruning, state: dynamicfilter.Present},
		"pruning beside a map join": {
			settings: map[string]string{budget: "10000000"}, sql: onDays, alias: "f", column: "ds", kind: dynamicfilter.Pruning, state: dynamicfilter.Present,
		},
		"semijoin off": {
			settings: shuffled(semijoin, "false"), sql: on("facts", "dim"), causes: []dynamicfilter.Cause{dynamicfilter.SemijoinOff}, fixed: true,
		},
		"all off": {
			settings: shuffled(pruning, "false"), sql: on("facts", "dim"), causes: []dynamicfilter.Cause{dynamicfilter.PruningOff}, fixed: true,
		},
		"pruning off": {
			settings: shuffled(pruning, "false"), sql: onDays, column: "ds", kind: dynamicfilter.Pruning, causes: []dynamicfilter.Cause{dynamicfilter.PruningOff}, fixed: true,
		},
		"events too large": {
			settings: shuffled(pruning+".max.data.size", "1"), sql: onDays, column: "ds", kind: dynamicfilter.Pruning,
			causes: []dynamicfilter.Cause{dynamicfilter.EventsTooLarge}, fixed: true,
		},
		"a small scan": {
			settings: shuffled(), sql: on("medium", "dim"), causes: []dynamicfilter.Cause{dynamicfilter.ScanTooSmall}, fixed: true,
		},
		"too many keys": {
			settings: shuffled(maxBloom, "500000"), sql: on("facts", "dim"), causes: []dynamicfilter.Cause{dynamicfilter.TooManyKeys}, fixed: true,
		},
		"a benefit too low": {
			settings: shuffled(threshold, "0.6"), sql: on("facts", "half"), causes: []dynamicfilter.Cause{dynamicfilter.BenefitTooLow}, fixed: true,
		},
		"two reasons": {
			settings: shuffled(semijoin, "false", maxBloom, "500000"), sql: on("medium", "dim"),
			causes: []dynamicfilter.Cause{dynamicfilter.SemijoinOff, dynamicfilter.TooManyKeys, dynamicfilter.ScanTooSmall}, fixed: true,
		},
		"an external table": {
			settings: shuffled(), sql: on("outside", "dim"), causes: []dynamicfilter.Cause{dynamicfilter.ExternalTable}, fixed: true,
		},
		"a map join": {
			settings: map[string]string{budget: "10000000"}, sql: on("facts", "dim"), causes: []dynamicfilter.Cause{dynamicfilter.BesideMapJoin}, fixed: true,
		},
		"a sort-merge join": {
			settings: shuffled(), sql: on("placed", "placed_dim"), causes: []dynamicfilter.Cause{dynamicfilter.SortMergeJoin},
		},
		"a null-safe key": {
			settings: shuffled(), sql: "SELECT sum(f.v), count(d.name) FROM facts f JOIN dim d ON f.k <=> d.k", causes: []dynamicfilter.Cause{dynamicfilter.NullSafeKey},
		},
		"a union": {
			settings: shuffled(), sql: "SELECT sum(f.v), count(d.name) FROM facts f JOIN (SELECT k, name FROM dim UNION ALL SELECT k, name FROM placed_dim) d ON f.k = d.k",
			causes: []dynamicfilter.Cause{dynamicfilter.BelowUnion},
		},
		"a partition column of the producer": {
			settings: shuffled(), sql: "SELECT sum(f.v), count(d.ds) FROM named f JOIN days d ON f.ks = d.ds", column: "ks", more: true,
			causes: []dynamicfilter.Cause{dynamicfilter.PartitionKey},
		},
		"a copied side": {
			settings: map[string]string{budget: "10000000"}, sql: on("facts", "dim"), alias: "d", more: true, causes: []dynamicfilter.Cause{dynamicfilter.Cycle},
		},
		"a left outer join": {
			settings: shuffled(), sql: "SELECT sum(f.v), count(d.name) FROM dim d LEFT JOIN facts f ON f.k = d.k", state: dynamicfilter.Present,
		},
		"an anti join": {
			settings: shuffled(), sql: "SELECT count(*), max(d.name) FROM dim d WHERE NOT EXISTS (SELECT 1 FROM facts f WHERE f.k = d.k)", alias: "f", state: dynamicfilter.Present,
		},
	}
	for name, c := range cases {
		if c.alias == "" {
			c.alias = "f"
		}
		if c.column == "" {
			c.column = "k"
		}
		if c.kind == "" {
			c.kind = dynamicfilter.Semijoin
		}
		if c.state == "" {
			c.state = dynamicfilter.Absent
		}
		t.Run(name, func(t *testing.T) { filters(t, db, &c, tables) })
	}
	t.Run("one filter of a scan", func(t *testing.T) {
		session := open(t)
		settings := shuffled()
		run(t, session, use(db))
		give(t, session, settings)
		text := planOf(t, session, "EXTENDED", "SELECT sum(f.v), count(d.name), count(e.name) FROM facts f JOIN dim d ON f.k = d.k JOIN small e ON f.v = e.k")
		states := map[dynamicfilter.State]int{}
		for _, f := range dynamicfilter.Of(queryOf(t, text, settings, tables)) {
			if f.Alias != "f" {
				continue
			}
			states[f.State]++
			if f.State == dynamicfilter.Absent && (len(f.Reasons) != 1 || f.Reasons[0].Cause != dynamicfilter.OnePerScan) {
				t.Errorf("%+v", f.Reasons)
			}
		}
		if states[dynamicfilter.Present] != 1 || states[dynamicfilter.Absent] != 1 {
			t.Errorf("%v in\n%s", states, text)
		}
	})
}

// keep writes a plan to the folder HS2PROXY_KEEP_PLANS names, to make test data of.
func keep(t *testing.T, when, text string) {
	t.Helper()
	dir := os.Getenv("HS2PROXY_KEEP_PLANS")
	if dir == "" {
		return
	}
	name := strings.NewReplacer("/", "_", " ", "_").Replace(t.Name()) + "." + when + ".txt"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func filters(t *testing.T, db string, c *filterCase, tables map[string]advisor.TableStats) {
	t.Helper()
	session := open(t)
	run(t, session, use(db), fewReducers)
	give(t, session, c.settings)
	text := planOf(t, session, "EXTENDED", c.sql)
	keep(t, "before", text)
	q := queryOf(t, text, c.settings, tables)
	f := candidate(t, q, c, text)
	if f.State != c.state {
		t.Fatalf("%s, want %s: %s\n%s", f.State, c.state, dynamicfilter.Describe(q, f), text)
	}
	// What the plan shows, by its words alone.
	marks := map[dynamicfilter.Kind]string{dynamicfilter.Semijoin: "DynamicValue(", dynamicfilter.Pruning: "Dynamic Partitioning Event Operator"}
	if has := strings.Contains(text, marks[c.kind]); has != (c.state == dynamicfilter.Present) {
		t.Fatalf("the plan holds %q: %v, the advisor says %s\n%s", marks[c.kind], has, f.State, text)
	}
	if c.state == dynamicfilter.Present {
		return
	}
	var causes []dynamicfilter.Cause
	for _, r := range f.Reasons {
		causes = append(causes, r.Cause)
	}
	if c.more {
		causes = slices.DeleteFunc(causes, func(cause dynamicfilter.Cause) bool { return !slices.Contains(c.causes, cause) })
	}
	if !slices.Equal(causes, c.causes) {
		t.Errorf("because of %v, want %v: %s", causes, c.causes, dynamicfilter.Describe(q, f))
	}
	if !c.fixed {
		return
	}
	before := answers(t, session, c.sql)
	var found *advisor.Finding
	for _, one := range dynamicfilter.Find(q) {
		if one.Evidence["alias"] == c.alias {
			found = &one
		}
	}
	if found == nil {
		t.Fatalf("nothing found: %+v", f)
	}
	if want := (map[dynamicfilter.Kind]advisor.FindingKind{dynamicfilter.Semijoin: "dynamic_filter_missing", dynamicfilter.Pruning: "partition_pruning_missing"})[c.kind]; found.Kind != want {
		t.Errorf("found %s, want %s", found.Kind, want)
	}
	after := maps.Clone(c.settings)
	for line := range strings.Lines(found.Advice) {
		if rest, ok := strings.CutPrefix(line, "SET "); ok {
			statement, _, _ := strings.Cut(rest, ";")
			name, value, _ := strings.Cut(statement, "=")
			after[name] = value
		}
	}
	give(t, session, after)
	text = planOf(t, session, "EXTENDED", c.sql)
	keep(t, "after", text)
	q = queryOf(t, text, after, tables)
	if f := candidate(t, q, c, text); f.State != dynamicfilter.Present {
		t.Errorf("after %q: %s\n%s", found.Advice, dynamicfilter.Describe(q, f), text)
	}
	if !strings.Contains(text, marks[c.kind]) {
		t.Errorf("after %q the plan holds no %q\n%s", found.Advice, marks[c.kind], text)
	}
	if got := answers(t, session, c.sql); !slices.Equal(got, before) {
		t.Errorf("%v before, %v after %q", before, got, found.Advice)
	}
}
