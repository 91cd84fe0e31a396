package main

import (
	"fmt"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// database holds the tables; it is made anew.
const database = "golden"

// layout is how a set of tables is stored. Each has big, small and third, with the same columns and statistics.
type layout struct {
	suffix, clause string
}

var layouts = []layout{
	{"", ""},
	{"_bucketed", "CLUSTERED BY (k) INTO 4 BUCKETS"},
	{"_sorted", "CLUSTERED BY (k) SORTED BY (k) INTO 4 BUCKETS"},
}

// rows are the row counts that are set. A row counts as 100 bytes.
var rows = map[string]int64{"big": 5_000_000, "small": 20_000, "third": 10_000, "tiny": 20}

// setup are the statements that make the tables.
func setup() []string {
	statements := []string{
		"DROP DATABASE IF EXISTS " + database + " CASCADE",
		"CREATE DATABASE " + database,
		"USE " + database,
	}
	for _, l := range layouts {
		for _, name := range []string{"big", "small", "third"} {
			statements = append(statements, table(name+l.suffix, l.clause, "", rows[name])...)
		}
	}
	statements = append(statements, table("tiny", "", "", rows["tiny"])...)
	return append(statements,
		"CREATE EXTERNAL TABLE days (k BIGINT, v STRING) PARTITIONED BY (ds STRING) STORED AS ORC",
		"ALTER TABLE days ADD PARTITION (ds='2026-01-01') PARTITION (ds='2026-01-02')",
		"ALTER TABLE days PARTITION (ds='2026-01-01') UPDATE STATISTICS SET ('numRows'='3000000','rawDataSize'='300000000')",
		"ALTER TABLE days PARTITION (ds='2026-01-02') UPDATE STATISTICS SET ('numRows'='3000000','rawDataSize'='300000000')",
		"CREATE EXTERNAL TABLE target1 (a STRING, b STRING) STORED AS ORC",
		"CREATE EXTERNAL TABLE target2 (a STRING, b STRING) STORED AS ORC",
	)
}

// table makes a table and sets its statistics. External tables keep those of an empty one from being believed.
func table(name, clause, properties string, count int64) []string {
	return []string{
		fmt.Sprintf("CREATE TABLE %s (k BIGINT, v STRING) %s STORED AS ORC %s", name, clause, properties),
		fmt.Sprintf("ALTER TABLE %s UPDATE STATISTICS SET ('numRows'='%d','rawDataSize'='%d')", name, count, 100*count),
		fmt.Sprintf("ALTER TABLE %s UPDATE STATISTICS FOR COLUMN k SET ('numDVs'='%d','numNulls'='0','lowValue'='1','highValue'='%d')", name, max(1, count/2), count),
		fmt.Sprintf("ALTER TABLE %s UPDATE STATISTICS FOR COLUMN v SET ('numDVs'='%d','numNulls'='0','avgColLen'='12','maxColLen'='20')", name, max(1, count/4)),
	}
}

// query is one golden plan.
type query struct {
	name     string
	settings []string
	sql      string
	// want are the strategy and the type of the first join; empty where the plan is there for its shape.
	strategy advisor.Strategy
	join     advisor.JoinType
}

// common are the settings of every session.
var common = []string{
	"SET hive.explain.user=false",
	"SET hive.vectorized.execution.enabled=true",
	"SET hive.stats.fetch.column.stats=true",
	"SET hive.tez.dynamic.semijoin.reduction=false",
	"SET hive.auto.convert.join.hashtable.max.entries=-1",
	"SET hive.merge.nway.joins=true",
	"SET hive.mapjoin.full.outer=true",
	"SET hive.auto.convert.anti.join=true",
	"SET hive.exec.reducers.max=16",
	"SET hive.exec.reducers.bytes.per.reducer=10000000",
}

// strategies are the settings and the table layout that lead Hive to each.
var strategies = []struct {
	strategy advisor.Strategy
	name     string
	suffix   string
	settings []string
}{
	{advisor.MapJoin, "map_join", "", []string{"SET hive.auto.convert.join.noconditionaltask.size=100000000"}},
	{advisor.BucketMapJoin, "bucket_map_join", "_bucketed", []string{
		"SET hive.auto.convert.join.noconditionaltask.size=2000000", "SET hive.convert.join.bucket.mapjoin.tez=true",
	}},
	{advisor.DPHJ, "dphj", "", []string{
		"SET hive.auto.convert.join.noconditionaltask.size=150000", "SET hive.optimize.dynamic.partition.hashjoin=true",
	}},
	{advisor.SMB, "smb", "_sorted", []string{
		"SET hive.auto.convert.join.noconditionaltask.size=1000", "SET hive.auto.convert.sortmerge.join=true",
	}},
	{advisor.MergeJoin, "merge_join", "", []string{"SET hive.auto.convert.join=false"}},
}

// joinTypes are the queries, with %[1]s for the layout's suffix. The preserved side is the big one.
var joinTypes = []struct {
	join      advisor.JoinType
	name, sql string
}{
	{advisor.Inner, "inner", "SELECT a.v, b.v FROM big%[1]s a JOIN small%[1]s b ON a.k = b.k"},
	{advisor.LeftOuter, "left_outer", "SELECT a.v, b.v FROM big%[1]s a LEFT OUTER JOIN small%[1]s b ON a.k = b.k"},
	{advisor.RightOuter, "right_outer", "SELECT a.v, b.v FROM small%[1]s b RIGHT OUTER JOIN big%[1]s a ON a.k = b.k"},
	{advisor.FullOuter, "full_outer", "SELECT a.v, b.v FROM big%[1]s a FULL OUTER JOIN small%[1]s b ON a.k = b.k"},
	{advisor.LeftSemi, "left_semi", "SELECT a.v FROM big%[1]s a LEFT SEMI JOIN small%[1]s b ON a.k = b.k"},
	{advisor.Anti, "anti", "SELECT a.v FROM big%[1]s a WHERE NOT EXISTS (SELECT 1 FROM small%[1]s b WHERE a.k = b.k)"},
	{advisor.Cross, "cross", "SELECT a.v, b.v FROM big%[1]s a CROSS JOIN tiny b"},
	{advisor.Inner, "nway", "SELECT a.v, b.v, c.v FROM big%[1]s a JOIN small%[1]s b ON a.k = b.k JOIN third%[1]s c ON a.k = c.k"},
}

// shapes are plans with more around their joins.
var shapes = []query{
	{name: "shape_union", sql: "SELECT u.v, b.v FROM (SELECT k, v FROM big UNION ALL SELECT k, v FROM third) u JOIN small b ON u.k = b.k"},
	{name: "shape_union_shuffled", settings: []string{"SET hive.auto.convert.join=false"}, sql: "SELECT u.v, b.v FROM (SELECT k, v FROM big UNION ALL SELECT k, v FROM third) u JOIN small b ON u.k = b.k"},
	{name: "shape_multi_insert", sql: "FROM (SELECT a.v AS v, b.v AS w FROM big a JOIN small b ON a.k = b.k) s INSERT INTO TABLE target1 SELECT s.v, s.w WHERE s.v > 'm' INSERT INTO TABLE target2 SELECT s.w, s.v"},
	{name: "shape_partition_pruning", settings: []string{"SET hive.tez.dynamic.partition.pruning=true"}, sql: "SELECT d.v FROM days d JOIN tiny t ON d.ds = t.v WHERE t.k = 3"},
	{name: "shape_semijoin_reduction", settings: []string{
		"SET hive.tez.dynamic.semijoin.reduction=true", "SET hive.auto.convert.join=false",
		"SET hive.tez.bigtable.minsize.semijoin.reduction=1", "SET hive.tez.min.bloom.filter.entries=1",
	}, sql: "SELECT a.v FROM big a JOIN tiny t ON a.k = t.k WHERE t.v = 'x'"},
	{name: "shape_shared_work", sql: "SELECT x.v FROM (SELECT a.k AS k, count(*) AS n FROM big a JOIN small b ON a.k = b.k GROUP BY a.k) g JOIN (SELECT a.k AS k, min(a.v) AS v FROM big a JOIN small b ON a.k = b.k GROUP BY a.k) x ON g.k = x.k"},
	{name: "shape_cte", settings: []string{"SET hive.optimize.cte.materialize.threshold=1", "SET hive.optimize.cte.materialize.full.aggregate.only=false"}, sql: "WITH q AS (SELECT a.k AS k, b.v AS v FROM big a JOIN small b ON a.k = b.k) SELECT q.v, c.v FROM q JOIN third c ON q.k = c.k"},
	{name: "shape_residual", sql: "SELECT a.v, b.v FROM big a LEFT OUTER JOIN small b ON a.k = b.k AND a.v < b.v AND a.v > 'm'"},
	{name: "shape_null_safe", sql: "SELECT a.v, b.v FROM big a JOIN small b ON a.k <=> b.k"},
	{name: "shape_two_joins", settings: []string{"SET hive.auto.convert.join.noconditionaltask.size=1500000"}, sql: "SELECT a.v, b.v, t.v FROM big a JOIN small b ON a.k = b.k JOIN tiny t ON a.v = t.v"},
	{name: "shape_literal", sql: "SELECT a.v FROM big a JOIN small b ON a.k = b.k WHERE a.v <> 'Join Operator, \"x\" | (type: string)' AND b.v <> '  Stage-0'"},
	{name: "llap_map_join", settings: []string{"SET hive.execution.mode=llap", "SET hive.llap.execution.mode=all"}, sql: "SELECT a.v, b.v FROM big a JOIN small b ON a.k = b.k"},
	{name: "mr_map_join", settings: []string{"SET hive.execution.engine=mr", "SET hive.auto.convert.join.noconditionaltask=true", "SET hive.auto.convert.join.noconditionaltask.size=100000000"}, sql: "SELECT a.v, b.v FROM big a JOIN small b ON a.k = b.k"},
	{name: "mr_join", settings: []string{"SET hive.execution.engine=mr", "SET hive.auto.convert.join=false"}, sql: "SELECT a.v, b.v FROM big a LEFT OUTER JOIN small b ON a.k = b.k"},
	{name: "mr_conditional", settings: []string{"SET hive.execution.engine=mr", "SET hive.auto.convert.join.noconditionaltask=false"}, sql: "SELECT a.v, b.v FROM big a JOIN small b ON a.k = b.k"},
}

// queries are the plans over Hive's plain tables.
func queries() []query {
	var all []query
	for _, s := range strategies {
		for _, j := range joinTypes {
			all = append(all, query{
				name: s.name + "_" + j.name, settings: s.settings, sql: fmt.Sprintf(j.sql, s.suffix),
				strategy: s.strategy, join: j.join,
			})
		}
	}
	return append(all, shapes...)
}
