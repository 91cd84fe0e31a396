package sample

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/advise"
	"github.com/hs2proxy/hs2proxy/advisor/movement"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// adviceCase is a query with a finding whose advice is followed.
type adviceCase struct {
	settings map[string]string
	sql      string
	kind     advisor.FindingKind
	// advice are words of it.
	advice string
	// instead is the query as the advice says to write it; empty where it is statements to run.
	instead string
	// before and after are the strategies planned; after is nil where the plan changes in another way, which shows tells.
	before, after []advisor.Strategy
	shows         string
	// apart: a column that the advice leaves out of the select is the last one of sql.
	apart bool
}

const (
	budgetSetting  = "hive.auto.convert.join.noconditionaltask.size"
	convertSetting = "hive.auto.convert.join"
	entriesSetting = "hive.auto.convert.join.hashtable.max.entries"
	dphjSetting    = "hive.optimize.dynamic.partition.hashjoin"
	bucketSetting  = "hive.convert.join.bucket.mapjoin.tez"
	mergeSetting   = "hive.auto.convert.sortmerge.join"
	reducers       = "hive.exec.reducers.max"
	container      = "hive.tez.container.size"
)

// adviceNodes is the cluster that the advisor is told of; Hive has one process.
const adviceNodes = 20

const joinFacts = "SELECT sum(f.v), count(d.name) FROM facts f JOIN dim d ON f.k = d.k"

func adviceCases() map[string]adviceCase {
	merge, hash := []advisor.Strategy{advisor.MergeJoin}, []advisor.Strategy{advisor.MapJoin}
	const facts = "SELECT sum(f.v), count(b.name) FROM facts f JOIN big b ON f.k = b.k"
	return map[string]adviceCase{
		"a map join switched off": {
			settings: map[string]string{convertSetting: "false", budgetSetting: "10000000"}, sql: joinFacts, kind: movement.RedistributionCostsMore,
			advice: "SET hive.auto.convert.join=true;", before: merge, after: hash,
		},
		"a map join with too many keys": {
			settings: map[string]string{entriesSetting: "50", budgetSetting: "10000000"}, sql: joinFacts, kind: movement.RedistributionCostsMore,
			advice: "SET hive.auto.convert.join.hashtable.max.entries=-1;", before: merge, after: hash,
		},
		"a map join above the budget": {
			settings: map[string]string{budgetSetting: "1000", container: "1024"}, sql: joinFacts, kind: movement.RedistributionCostsMore,
			advice: "SET hive.auto.convert.join.noconditionaltask.size=", before: merge, after: hash,
		},
		"buckets of one side": {
			settings: map[string]string{budgetSetting: "250000000", bucketSetting: "false"}, kind: movement.RedistributionCostsMore,
			sql:    "SELECT sum(f.v), count(b.name) FROM placed f JOIN big b ON f.k = b.k",
			advice: "SET hive.convert.join.bucket.mapjoin.tez=true;", before: merge, after: []advisor.Strategy{advisor.BucketMapJoin},
		},
		"buckets of both sides": {
			settings: map[string]string{budgetSetting: "1", mergeSetting: "false"}, kind: movement.RedistributionCostsMore,
			sql:    "SELECT sum(f.v), count(d.name) FROM placed f JOIN placed_dim d ON f.k = d.k",
			advice: "SET hive.auto.convert.sortmerge.join=true;", before: merge, after: []advisor.Strategy{advisor.SMB},
		},
		"copies that cost more, and partitions too large to hash": {
			settings: map[string]string{budgetSetting: "1000000000", reducers: "1"}, sql: facts, kind: movement.BroadcastCostsMore,
			advice: "SET hive.auto.convert.join.noconditionaltask.size=", before: hash, after: merge,
		},
		"copies that cost more": {
			settings: map[string]string{budgetSetting: "1000000000", reducers: "4"}, sql: facts, kind: movement.BroadcastCostsMore,
			advice: "SET hive.optimize.dynamic.partition.hashjoin=true;", before: hash, after: []advisor.Strategy{advisor.DPHJ},
		},
		"copies above a third of the container": {
			settings: map[string]string{budgetSetting: "1000000000", reducers: "4", container: "512"}, sql: facts, kind: movement.BroadcastOverMemory,
			advice: "SET hive.optimize.dynamic.partition.hashjoin=true;", before: hash, after: []advisor.Strategy{advisor.DPHJ},
		},
		"wide rows": {
			settings: map[string]string{budgetSetting: "50000000"}, kind: movement.WideRows,
			sql:    "SELECT f.v, b.k, b.name FROM facts f JOIN big b ON f.k = b.k",
			advice: "-- leave name out below the join, or read them afterwards", before: merge, after: hash,
			instead: "SELECT f.v, b.k FROM facts f JOIN big b ON f.k = b.k", apart: true,
		},
		"few keys, and a side that may be copied": {
			settings: map[string]string{convertSetting: "false", budgetSetting: "10000000"}, kind: movement.SkewRisk,
			sql:    "SELECT sum(f.v), count(d.name) FROM log f JOIN dim d ON f.few = d.k",
			advice: "SET hive.auto.convert.join=true;", before: merge, after: hash,
		},
		"few keys": {
			settings: map[string]string{budgetSetting: "1"}, kind: movement.SkewRisk,
			sql: "SELECT f.v, d.name FROM log f JOIN dim d ON f.few = d.k", advice: "join the heavy key apart from the others, and UNION ALL the results",
			instead: "SELECT f.v, d.name FROM log f JOIN dim d ON f.few = d.k WHERE f.few = 1" +
				" UNION ALL SELECT f.v, d.name FROM log f JOIN dim d ON f.few = d.k WHERE f.few <> 1",
			before: merge, shows: "(few = 1L)",
		},
		"rows without a key": {
			settings: map[string]string{budgetSetting: "1"}, kind: movement.SkewRisk,
			sql: "SELECT f.v, d.name FROM log f LEFT JOIN dim d ON f.gone = d.k", advice: "join the rows WHERE gone IS NOT NULL, and UNION ALL those without",
			instead: "SELECT f.v, d.name FROM (SELECT * FROM log WHERE gone IS NOT NULL) f LEFT JOIN dim d ON f.gone = d.k" +
				" UNION ALL SELECT v, CAST(NULL AS STRING) FROM log WHERE gone IS NULL",
			before: merge, shows: "gone is not null",
		},
	}
}

// TestAdviceOnHive follows the advice of findings about what joins move: the plan becomes what the finding says, the finding is gone, and
// the rows are the same.
func TestAdviceOnHive(t *testing.T) {
	db := fmt.Sprintf("h_advice_%d", os.Getpid())
	admin := open(t)
	t.Cleanup(func() { run(t, admin, Teardown(db)...) })
	run(t, admin, append(Teardown(db), "CREATE DATABASE "+quote(db), use(db), "SET hive.stats.autogather=false")...)
	tables := map[string]advisor.TableStats{}
	// One statement fills all tables, then Hive is told of them.
	insert, telling := "FROM ("+generate("i", 2000)+") n", []string{}
	create := func(name, columns, layout, values string, written int, rows int64, ndvs map[string]int64, more ...string) {
		run(t, admin, "CREATE TABLE "+name+" ("+columns+") "+layout+" STORED AS ORC")
		insert += fmt.Sprintf(" INSERT INTO TABLE %s SELECT %s WHERE i < %d", name, values, written)
		telling = append(append(telling, pretend(name, rows, ndvs)...), more...)
		tables[db+"."+name] = told(db+"."+name, "MANAGED_TABLE", rows, ndvs)
	}
	long := func(table string, rows int64) string {
		return fmt.Sprintf("ALTER TABLE %s UPDATE STATISTICS FOR COLUMN name SET ('numDVs'='%d','numNulls'='0','avgColLen'='%d','maxColLen'='2000')", table, rows, longName)
	}
	const factRows, bigRows, logRows = int64(100_000_000), int64(300_000), int64(1_000_000_000)
	create("facts", "k BIGINT, v BIGINT", "", "i * 7 % 500, i", 2000, factRows, map[string]int64{"k": 1_000_000, "v": 1_000_000})
	create("log", "v BIGINT, few BIGINT, gone BIGINT", "", "i, i % 3, if(i % 2 = 0, NULL, i % 100)", 2000, logRows, map[string]int64{"v": 1_000_000, "few": 3, "gone": 100},
		fmt.Sprintf("ALTER TABLE log UPDATE STATISTICS FOR COLUMN gone SET ('numDVs'='100','numNulls'='%d','lowValue'='0','highValue'='99')", logRows/2))
	nulls := tables[db+".log"].Columns["gone"]
	nulls.Nulls = number(logRows / 2)
	tables[db+".log"].Columns["gone"] = nulls
	create("dim", "k BIGINT, name STRING", "", "i, concat('n', i)", 100, 100, map[string]int64{"k": 100}, strings.Replace(long("dim", 100), "'1000'", "'3'", 1))
	create("big", "k BIGINT, name STRING", "", "i, concat('n', i)", 400, bigRows, map[string]int64{"k": bigRows}, long("big", bigRows))
	create("placed", "k BIGINT, v BIGINT", "CLUSTERED BY (k) SORTED BY (k) INTO 2 BUCKETS", "i * 7 % 500, i", 2000, factRows, map[string]int64{"k": 1_000_000, "v": 1_000_000})
	create("placed_dim", "k BIGINT, name STRING", "CLUSTERED BY (k) SORTED BY (k) INTO 2 BUCKETS", "i, concat('n', i)", 100, 100, map[string]int64{"k": 100},
		strings.Replace(long("placed_dim", 100), "'1000'", "'3'", 1))
	run(t, admin, append([]string{insert}, telling...)...)
	for table, length := range map[string]float64{"dim": 3, "big": longName, "placed_dim": 3} {
		s := tables[db+"."+table]
		s.Columns["name"] = advisor.ColumnStats{NDV: s.Rows, Nulls: number(0), AvgLen: &length}
		s.ColumnsRead = append(s.ColumnsRead, "name")
		tables[db+"."+table] = s
	}
	for _, table := range []string{"placed", "placed_dim"} {
		s := tables[db+"."+table]
		s.BucketColumns, s.SortColumns, s.Buckets, s.BucketingVersion = []string{"k"}, []string{"k"}, 2, 2
		tables[db+"."+table] = s
	}
	for name, c := range adviceCases() {
		t.Run(name, func(t *testing.T) { c.follow(t, anew(t, admin, db), tables) })
	}
	t.Run("rows without a key meet in one reducer", func(t *testing.T) {
		session := anew(t, admin, db)
		run(t, session, "CREATE TABLE spread (v BIGINT, gone BIGINT, name STRING) STORED AS ORC", "SET "+budgetSetting+"=1", "SET mapreduce.job.reduces=4",
			"INSERT INTO spread SELECT f.v, f.gone, d.name FROM log f LEFT JOIN dim d ON f.gone = d.k")
		files := answers(t, session, "SELECT count(DISTINCT INPUT__FILE__NAME), count(DISTINCT IF(gone IS NULL, INPUT__FILE__NAME, NULL)) FROM spread")
		if !slices.Equal(files, []string{"4|1|"}) {
			t.Errorf("files with rows, and with rows without a key: %v", files)
		}
	})
}

// longName is the average length that Hive is told of a wide column.
const longName = 1000

// judge plans a query under settings as Hive does and asks all advisors.
func (c *adviceCase) judge(t *testing.T, session *client.Session, sql string, settings map[string]string, tables map[string]advisor.TableStats) (string, []advisor.Finding) {
	t.Helper()
	text := planOf(t, session, "EXTENDED", sql)
	q := queryOf(t, text, settings, tables)
	q.SQL, q.Version = sql, "4.0.1"
	q.Settings.Nodes = adviceNodes
	return text, advise.Findings(q)
}

func (c *adviceCase) follow(t *testing.T, session *client.Session, tables map[string]advisor.TableStats) {
	t.Helper()
	settings := maps.Clone(c.settings)
	settings["hive.tez.dynamic.semijoin.reduction"] = "false"
	if settings[reducers] == "" {
		settings[reducers] = "1"
	}
	give(t, session, settings)
	text, list := c.judge(t, session, c.sql, settings, tables)
	at := slices.IndexFunc(list, func(f advisor.Finding) bool { return f.Kind == c.kind })
	if got := classify(text); !slices.Equal(got, c.before) || at < 0 {
		t.Fatalf("planned as %v, want %v; found %+v\n%s", got, c.before, list, text)
	}
	t.Logf("%s\n%s", list[at].Summary, list[at].Advice)
	if !strings.Contains(list[at].Advice, c.advice) {
		t.Fatalf("advice %q lacks %q", list[at].Advice, c.advice)
	}
	rows := answers(t, session, c.sql)
	sql := c.sql
	if c.instead != "" {
		sql = c.instead
	}
	for line := range strings.Lines(list[at].Advice) {
		if rest, ok := strings.CutPrefix(line, "SET "); ok {
			statement, _, _ := strings.Cut(rest, ";")
			name, value, _ := strings.Cut(statement, "=")
			settings[name] = value
			run(t, session, "SET "+statement)
		}
	}
	text, list = c.judge(t, session, sql, settings, tables)
	if got := classify(text); c.after != nil && !slices.Equal(got, c.after) || !strings.Contains(text, c.shows) {
		t.Errorf("after the advice planned as %v, want %v %s\n%s", got, c.after, c.shows, text)
	}
	if c.kind != movement.SkewRisk || c.after != nil {
		for _, f := range list {
			if f.Kind == c.kind {
				t.Errorf("after the advice: %+v", f)
			}
		}
	}
	if c.apart {
		for i := range rows {
			rows[i] = rows[i][:strings.LastIndex(strings.TrimSuffix(rows[i], "|"), "|")+1]
		}
		slices.Sort(rows)
	}
	if got := answers(t, session, sql); len(rows) == 0 || !slices.Equal(got, rows) {
		t.Errorf("%v before, %v after the advice", rows, got)
	}
}
