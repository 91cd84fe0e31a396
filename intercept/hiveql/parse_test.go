package hiveql

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// into is a Write without a partition clause.
func into(op WriteOp, table string) Write {
	name := TableName{Table: table}
	if database, t, ok := strings.Cut(table, "."); ok {
		name = TableName{Database: database, Table: t}
	}
	return Write{Op: op, Table: name}
}

// part is a Write with a partition clause whose static part is pairs, column and value in turn.
func part(op WriteOp, table string, pairs ...string) Write {
	w := into(op, table)
	w.Partition = map[string]string{}
	for pair := range slices.Chunk(pairs, 2) {
		w.Partition[pair[0]] = pair[1]
	}
	return w
}

func equalWrites(a, b []Write) bool {
	return slices.EqualFunc(a, b, func(x, y Write) bool {
		return x.Op == y.Op && x.Table == y.Table && (x.Partition == nil) == (y.Partition == nil) && maps.Equal(x.Partition, y.Partition)
	})
}

func TestParse(t *testing.T) {
	tests := []struct {
		sql         string
		kind        Kind
		explainable bool
		writes      []Write
		query       string
	}{
		// Queries.
		{sql: "select * from t", kind: KindSelect, explainable: true},
		{sql: "SELECT 1", kind: KindSelect},
		{sql: "select current_date, extract(year from ts), trim(both 'x' from 'y')", kind: KindSelect},
		{sql: "select extract(year from (select max(d) from t))", kind: KindSelect, explainable: true},
		{sql: "select * from (select 1) a", kind: KindSelect},
		{sql: "select * from (values (1, 2), (3, 4)) a", kind: KindSelect},
		{sql: "select * from ((select 1) a join `T` b)", kind: KindSelect, explainable: true},
		{sql: "select * from (select 1) a, t", kind: KindSelect, explainable: true},
		{sql: "select * from ${hiveconf:tbl}", kind: KindSelect, explainable: true},
		{sql: "select * from ${hiveconf:db}.t", kind: KindSelect, explainable: true},
		{sql: "select * from 2020_t", kind: KindSelect, explainable: true},
		{sql: "select * from (sort) x", kind: KindSelect, explainable: true},
		{sql: "select 1 union all select a from b", kind: KindSelect, explainable: true},
		{sql: "select * from noop(on src partition by key)", kind: KindSelect, explainable: true},
		{sql: "((select a from t))", kind: KindSelect, explainable: true},
		{sql: "-- select\n/* insert into x */ select a from t", kind: KindSelect, explainable: true},
		{sql: "/* outer /* inner */ still */ select a from t", kind: KindSelect, explainable: true},
		{sql: "/* outer /* inner */ select a from t", kind: KindOther},
		{sql: "/*+ hint */ select a from t", kind: KindSelect, explainable: true},
		{sql: "select 'from t join u; insert into v'", kind: KindSelect},
		{sql: `select 'it\'s from', "a\"from t"`, kind: KindSelect},
		{sql: "with q as (select 1 x) select * from q", kind: KindSelect, explainable: true},
		{sql: "from t select a", kind: KindSelect, explainable: true},
		{sql: "from (from t select transform(a) using 'cat' as b) x select b", kind: KindSelect, explainable: true},
		{sql: `select * from "t"`, kind: KindSelect, explainable: true},
		{sql: "select * from 't'", kind: KindSelect},
		{sql: "map a using 'x' from t", kind: KindSelect, explainable: true},
		{sql: "values (1)", kind: KindSelect},

		// INSERT.
		{sql: "insert into t values (1)", kind: KindInsert, writes: []Write{into(WriteInsertInto, "t")}},
		{sql: "insert into table t select 1", kind: KindInsert, writes: []Write{into(WriteInsertInto, "t")}},
		{sql: "insert into Db.T (a, b) select a, b from s", kind: KindInsert, explainable: true, writes: []Write{into(WriteInsertInto, "db.t")}},
		{
			sql:  "insert overwrite table `d`.`T x` partition (ds='2024-01-01', hr = 7, reg) if not exists select * from s",
			kind: KindInsert, explainable: true,
			writes: []Write{{Op: WriteInsertOverwrite, Table: TableName{"d", "t x"}, Partition: map[string]string{"ds": "2024-01-01", "hr": "7"}}},
		},
		{sql: "insert into t partition(ds) select * from s", kind: KindInsert, explainable: true, writes: []Write{part(WriteInsertInto, "t", []string{}...)}},
		{
			sql: "insert into t partition(a=-1, b=10L, c=date '2024-02-03', d='x''y', e=\"p\\\"q\", f='${hiveconf:d}') select * from s", kind: KindInsert, explainable: true,
			writes: []Write{part(WriteInsertInto, "t", "a", "-1", "b", "10", "c", "2024-02-03", "d", "xy", "e", `p"q`)},
		},
		{sql: "insert overwrite directory '/x' select * from t", kind: KindInsert, explainable: true},
		{sql: "insert overwrite local directory '/x' row format delimited select * from t", kind: KindInsert, explainable: true},
		{sql: "insert into ${hiveconf:t} select * from s", kind: KindInsert, explainable: true},
		{sql: "with q as (select * from a) insert into t select * from q", kind: KindInsert, explainable: true, writes: []Write{into(WriteInsertInto, "t")}},
		{sql: "from s insert into t select *", kind: KindInsert, explainable: true, writes: []Write{into(WriteInsertInto, "t")}},
		{
			sql:  "from (select * from a join b on a.k=b.k) s insert overwrite table t partition(p='1') select k where x=1 insert into u select v",
			kind: KindMultiInsert, explainable: true,
			writes: []Write{part(WriteInsertOverwrite, "t", "p", "1"), into(WriteInsertInto, "u")},
		},
		{
			sql: "from s insert overwrite directory '/x' select a insert into t select b", kind: KindMultiInsert, explainable: true,
			writes: []Write{into(WriteInsertInto, "t")},
		},

		{sql: `insert into "D"."T ""x" select 1`, kind: KindInsert, writes: []Write{{Op: WriteInsertInto, Table: TableName{"d", `t "x`}}}},

		// Rows changed.
		{
			sql:  "merge into d.t as x using s on x.k=s.k when matched then update set v=1 when not matched then insert values (1)",
			kind: KindMerge, explainable: true, writes: []Write{into(WriteMerge, "d.t")},
		},
		{sql: "merge /*+ semi(s, k, t, 1000) */ into t using s on t.k=s.k when matched then delete", kind: KindMerge, explainable: true, writes: []Write{into(WriteMerge, "t")}},
		{sql: "update t set a=1 where b in (select b from s)", kind: KindUpdate, explainable: true, writes: []Write{into(WriteUpdate, "t")}},
		{sql: "delete from d.t where a=1", kind: KindDelete, explainable: true, writes: []Write{into(WriteDelete, "d.t")}},
		{sql: "delete jar /tmp/x.jar", kind: KindOther},

		// CREATE.
		{sql: "create table t (a int)", kind: KindCreate},
		{sql: "create table t like s", kind: KindCreate},
		{sql: "create table t (a int) stored as orc", kind: KindCreate},
		{sql: "create table t row format delimited null defined as '' stored as textfile", kind: KindCreate},
		{
			sql:  "create table if not exists d.t stored as orc tblproperties('a'='as select') as\nselect * from a join b on a.k=b.k ; -- end",
			kind: KindCTAS, explainable: true, writes: []Write{into(WriteCreate, "d.t")}, query: "select * from a join b on a.k=b.k",
		},
		{sql: "create temporary external table t as select 1", kind: KindCTAS, writes: []Write{into(WriteCreate, "t")}, query: "select 1"},
		{sql: "create managed table t as with q as (select * from s) select * from q", kind: KindCTAS, explainable: true, writes: []Write{into(WriteCreate, "t")}, query: "with q as (select * from s) select * from q"},
		{sql: "create transactional table t as (select * from s)", kind: KindCTAS, explainable: true, writes: []Write{into(WriteCreate, "t")}, query: "(select * from s)"},
		{sql: "create table ${hivevar:t} as select * from s", kind: KindCTAS, explainable: true, query: "select * from s"},
		{sql: "create view v as select * from a join b", kind: KindCreate},
		{sql: "create or replace view v as select * from a", kind: KindCreate},
		{sql: "create materialized view d.v stored as orc as select * from a", kind: KindCTAS, explainable: true, writes: []Write{into(WriteCreate, "d.v")}, query: "select * from a"},
		{sql: "create database d", kind: KindCreate},
		{sql: "create temporary function f as 'x.Y'", kind: KindCreate},

		// EXPLAIN in every form is what the client asked for, never what we explain again.
		{sql: "explain select * from t", kind: KindExplain},
		{sql: "explain extended select * from t", kind: KindExplain},
		{sql: "explain analyze insert into t select * from s", kind: KindExplain},
		{sql: "explain reoptimization select * from t", kind: KindExplain},
		{sql: "explain vectorization only detail select * from t", kind: KindExplain},
		{sql: "(explain select * from t)", kind: KindExplain},

		// Tables changed without a query.
		{sql: "load data local inpath '/table t' overwrite into table d.t partition (ds='1')", kind: KindLoad, writes: []Write{part(WriteLoad, "d.t", "ds", "1")}},
		{sql: "truncate table t", kind: KindTruncate, writes: []Write{into(WriteTruncate, "t")}},
		{sql: "truncate t partition (a='b')", kind: KindTruncate, writes: []Write{part(WriteTruncate, "t", "a", "b")}},
		{sql: "msck repair table t", kind: KindMSCK, writes: []Write{into(WriteMSCK, "t")}},
		{sql: "msck repair table t sync partitions", kind: KindMSCK, writes: []Write{into(WriteMSCK, "t")}},
		{sql: "msck table t", kind: KindMSCK},
		{sql: "import external table t partition (a='b') from '/x'", kind: KindImport, writes: []Write{part(WriteImport, "t", "a", "b")}},
		{sql: "import from '/x'", kind: KindImport},
		{sql: "export table t to '/x'", kind: KindOther},
		{sql: "drop table if exists d.t purge", kind: KindDrop, writes: []Write{into(WriteDrop, "d.t")}},
		{sql: "drop view v", kind: KindDrop},
		{sql: "drop database d cascade", kind: KindDrop},

		// ALTER.
		{
			sql:    "alter table t add if not exists partition (ds='1') location '/partition' partition (ds='2', hr=3)",
			kind:   KindAlter,
			writes: []Write{part(WriteAlterPartition, "t", "ds", "1"), part(WriteAlterPartition, "t", "ds", "2", "hr", "3")},
		},
		{
			sql:    "alter table t drop if exists partition (ds < '3'), partition (ds = '4') purge",
			kind:   KindAlter,
			writes: []Write{part(WriteAlterPartition, "t", []string{}...), part(WriteAlterPartition, "t", "ds", "4")},
		},
		{
			sql:    "alter table t exchange partition (ds='1') with table d.s",
			kind:   KindAlter,
			writes: []Write{part(WriteAlterPartition, "t", "ds", "1"), part(WriteAlterPartition, "d.s", "ds", "1")},
		},
		{sql: "alter table t partition (ds='1') rename to partition (ds='2')", kind: KindAlter, writes: []Write{part(WriteAlterPartition, "t", "ds", "1")}},
		{sql: "alter table t rename to u", kind: KindAlter, writes: []Write{into(WriteDrop, "t"), into(WriteRename, "u")}},
		{sql: "ALTER TABLE d.T RENAME TO `e`.U", kind: KindAlter, writes: []Write{into(WriteDrop, "d.t"), into(WriteRename, "e.u")}},
		{sql: "alter table t rename", kind: KindAlter},
		{sql: "alter table t add columns (a int)", kind: KindAlter, writes: []Write{into(WriteAlterColumns, "t")}},
		{sql: "alter table t replace columns (a int)", kind: KindAlter, writes: []Write{into(WriteAlterColumns, "t")}},
		{sql: "alter table t change a b int", kind: KindAlter, writes: []Write{into(WriteAlterColumns, "t")}},
		{sql: "alter table t partition (ds='1') change column a b int", kind: KindAlter, writes: []Write{part(WriteAlterColumns, "t", "ds", "1")}},
		{sql: "alter table t drop column a", kind: KindAlter, writes: []Write{into(WriteAlterColumns, "t")}},
		{sql: "alter table t update columns", kind: KindAlter, writes: []Write{into(WriteAlterColumns, "t")}},
		{sql: "alter table t partition column (a bigint)", kind: KindAlter, writes: []Write{into(WriteAlterColumns, "t")}},
		{sql: "alter table t partition (ds='1') concatenate", kind: KindAlter, writes: []Write{part(WriteAlterPartition, "t", "ds", "1")}},
		{sql: "alter table t set location '/x'", kind: KindAlter, writes: []Write{into(WriteAlterPartition, "t")}},
		{sql: "alter table t recover partitions", kind: KindAlter, writes: []Write{into(WriteAlterPartition, "t")}},
		{sql: "alter table t execute rollback(1)", kind: KindAlter, writes: []Write{into(WriteAlterPartition, "t")}},
		{sql: "alter table t touch partition (ds='1')", kind: KindAlter},
		{sql: "alter table t add constraint c primary key (a) disable", kind: KindAlter},
		{sql: "alter table t update statistics set ('numRows'='1')", kind: KindAlter},
		{sql: "alter table t update statistics for column a set ('numDVs'='1')", kind: KindAlter},
		{sql: "alter table t set tblproperties ('a'='b')", kind: KindAlter},
		{sql: "alter materialized view d.v rebuild", kind: KindAlter, writes: []Write{into(WriteInsertOverwrite, "d.v")}},
		{sql: "alter view v as select * from t", kind: KindAlter},

		// The rest.
		{sql: "analyze table t compute statistics for columns", kind: KindAnalyze},
		{sql: "show tables", kind: KindShow},
		{sql: "desc formatted t", kind: KindDescribe},
		{sql: "describe t a", kind: KindDescribe},
		{sql: "start transaction", kind: KindOther},
		{sql: "kill query 'x'", kind: KindOther},
		{sql: "set role admin", kind: KindSet},
		{sql: "set autocommit false", kind: KindSet},
		{sql: "", kind: KindOther},
		{sql: ";", kind: KindOther},
		{sql: "'select", kind: KindOther},
	}
	for _, tt := range tests {
		t.Run(tt.sql, func(t *testing.T) {
			got := Parse(tt.sql)
			if got.Kind != tt.kind || got.Explainable != tt.explainable || got.Query != tt.query {
				t.Errorf("Parse(%q): kind %s, explainable %v, query %q; want %s, %v, %q", tt.sql, got.Kind, got.Explainable, got.Query, tt.kind, tt.explainable, tt.query)
			}
			if !equalWrites(got.Writes, tt.writes) {
				t.Errorf("Parse(%q): writes %v, want %v", tt.sql, got.Writes, tt.writes)
			}
		})
	}
}

func TestDroppedDatabase(t *testing.T) {
	for sql, want := range map[string]string{
		"drop database d cascade": "d", "DROP SCHEMA IF EXISTS `My Db` RESTRICT": "my db", "drop database if exists D": "d", "drop database ${d}": "",
		"drop database": "", "drop table d": "", "drop role d": "",
	} {
		if got := Parse(sql); got.DroppedDatabase != want {
			t.Errorf("Parse(%q): %q, want %q", sql, got.DroppedDatabase, want)
		}
	}
}

func TestUse(t *testing.T) {
	for sql, want := range map[string]string{
		"use Sales": "sales", "USE `My Db`": "my db", "use default -- x": "default", "use ${hiveconf:d}": "", "use ${env}_dwh": "", "use `x_${env}`": "", "use": "",
	} {
		if got := Parse(sql); got.Kind != KindUse || got.Use != want {
			t.Errorf("Parse(%q): kind %s, use %q; want %q", sql, got.Kind, got.Use, want)
		}
	}
}
