package sample

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/dynamicfilter"
)

// fewReducers keeps Hive from starting a thousand of them for the rows it is told of.
const fewReducers = "SET hive.exec.reducers.max=1"

// filterKinds are the findings about filters that the plan does not have.
var filterKinds = map[dynamicfilter.Kind]advisor.FindingKind{dynamicfilter.Semijoin: dynamicfilter.FilterMissing, dynamicfilter.Pruning: dynamicfilter.PruningMissing}

// TestDynamicFilterOnHive has a plan with each filter, one for each join type, and one without for each reason. It follows the advice where a
// setting takes the reason away: the filter is in the plan then, and the rows are the same.
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
	// One statement fills all tables: an INSERT of its own costs each seconds.
	insert := "FROM (" + generate("i", 3000) + ") n"
	create := func(name, columns, layout, values string, written int) {
		kind := "TABLE "
		if name == "outside" {
			kind = "EXTERNAL TABLE "
		}
		run(t, admin, "CREATE "+kind+name+" ("+columns+") "+layout+" STORED AS ORC")
		into := name
		if name == "days" {
			into += " PARTITION (ds)"
		}
		insert += fmt.Sprintf(" INSERT INTO TABLE %s SELECT %s WHERE i < %d", into, values, written)
	}
	const of, named, placed = "k BIGINT, v BIGINT", "k BIGINT, name STRING", "CLUSTERED BY (k) SORTED BY (k) INTO 2 BUCKETS"
	for name, layout := range map[string]string{"facts": "", "medium": "", "outside": "", "placed": placed} {
		create(name, of, layout, "i * 7 % 1000, i", 3000)
	}
	create("dim", named, "", "i * 3, concat('n', i)", 100)
	create("small", named, "", "i * 5, concat('n', i)", 100)
	create("half", named, "", "i * 2, concat('n', i)", 400)
	create("placed_dim", named, placed, "i * 3, concat('n', i)", 100)
	create("named", "ks STRING, v BIGINT", "", "concat('d', cast(i % 100 AS INT)), i", 1000)
	create("days", of, "PARTITIONED BY (ds STRING)", "i, i * 3, concat('d', cast(i % 4 AS INT))", 2000)
	create("open_days", "ds STRING, label STRING", "", "'d1', 'x'", 1)
	run(t, admin, insert)
	tell := func(name, kind string, rows int64, ndvs map[string]int64) {
		run(t, admin, pretend(name, rows, ndvs)...)
		tables[db+"."+name] = told(db+"."+name, kind, rows, ndvs)
	}
	tell("facts", "MANAGED_TABLE", factRows, facts)
	tell("medium", "MANAGED_TABLE", 50_000_000, facts)
	tell("outside", "EXTERNAL_TABLE", factRows, facts)
	tell("placed", "MANAGED_TABLE", factRows, facts)
	tell("dim", "MANAGED_TABLE", dimRows, dims)
	tell("small", "MANAGED_TABLE", 200, dims)
	tell("half", "MANAGED_TABLE", 300_000_000, map[string]int64{"k": 400_000})
	tell("placed_dim", "MANAGED_TABLE", dimRows, dims)
	days := told(db+".days", "MANAGED_TABLE", 4*factRows, facts)
	days.PartitionColumns, days.PartitionsNum = []string{"ds"}, number(4)
	tables[db+".days"] = days
	for i := range 4 {
		run(t, admin, fmt.Sprintf("ALTER TABLE days PARTITION (ds='d%d') UPDATE STATISTICS SET ('numRows'='%d','rawDataSize'='%d')", i, factRows, factRows*12))
		p := days
		p.Partition, p.Rows = fmt.Sprintf("ds=d%d", i), number(factRows)
		tables[db+".days/"+p.Partition] = p
	}
	run(t, admin, "ALTER TABLE open_days UPDATE STATISTICS SET ('numRows'='1','rawDataSize'='20')",
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
		"a right outer join": {
			settings: shuffled(), sql: "SELECT sum(f.v), count(d.name) FROM facts f RIGHT JOIN dim d ON f.k = d.k", state: dynamicfilter.Present,
		},
		"a semi join": {settings: shuffled(), sql: "SELECT sum(f.v) FROM facts f WHERE f.k IN (SELECT k FROM dim)", alias: "f", state: dynamicfilter.Present},
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
		t.Run(name, func(t *testing.T) { filters(t, anew(t, admin, db), &c, tables) })
	}
	t.Run("a full outer join", func(t *testing.T) {
		session, settings := anew(t, admin, db), shuffled()
		give(t, session, settings)
		text := planOf(t, session, "EXTENDED", "SELECT sum(f.v), count(d.name) FROM facts f FULL JOIN dim d ON f.k = d.k")
		if list := dynamicfilter.Of(queryOf(t, text, settings, tables)); len(list) > 0 || strings.Contains(text, "DynamicValue(") || !strings.Contains(text, "Full Outer Join") {
			t.Errorf("%+v in\n%s", list, text)
		}
	})
	t.Run("one filter of a scan", func(t *testing.T) {
		session, settings := anew(t, admin, db), shuffled()
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
	t.Run("rows that are dropped are counted", func(t *testing.T) { countDropped(t, anew(t, admin, db), on("facts", "dim"), shuffled(), tables) })
}
