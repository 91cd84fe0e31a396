package hiveql

import (
	"reflect"
	"testing"
)

// What statements write, by the rules of Hive's grammar (HiveParser.g, AlterClauseParser.g): each form with its partitions.
func TestWritesByGrammar(t *testing.T) {
	tbl := func(name string) TableName { return TableName{Table: name} }
	static := func(pairs ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	for sql, want := range map[string][]Write{
		// INSERT: static, dynamic and mixed partitions; insertClause, destination.
		"insert into t partition (ds='a', hr=3) select 1":          {{Op: WriteInsertInto, Table: tbl("t"), Partition: static("ds", "a", "hr", "3")}},
		"insert into t partition (ds='a', hr) select 1, 2":         {{Op: WriteInsertInto, Table: tbl("t"), Partition: static("ds", "a"), Dynamic: []string{"hr"}}},
		"insert overwrite table t partition (DS, `Hr`) select 1":   {{Op: WriteInsertOverwrite, Table: tbl("t"), Partition: static(), Dynamic: []string{"ds", "hr"}}},
		"insert into t partition (ds='${hiveconf:d}') select 1":    {{Op: WriteInsertInto, Table: tbl("t"), Partition: static(), Dynamic: []string{"ds"}}},
		"insert into t select * from s":                            {{Op: WriteInsertInto, Table: tbl("t")}},
		"insert into t partition (ds='a') (x, y) select 1, 2":      {{Op: WriteInsertInto, Table: tbl("t"), Partition: static("ds", "a")}},
		"insert into t partition (ds='a') values (1, 'partition')": {{Op: WriteInsertInto, Table: tbl("t"), Partition: static("ds", "a")}},
		"from s insert into t partition (ds='a') select x insert overwrite table t partition (ds='b') select y": {
			{Op: WriteInsertInto, Table: tbl("t"), Partition: static("ds", "a")},
			{Op: WriteInsertOverwrite, Table: tbl("t"), Partition: static("ds", "b")},
		},
		"create table t partitioned by (ds) stored as orc as select * from s": {{Op: WriteCreate, Table: tbl("t")}},

		// LOAD.
		"load data inpath '/overwrite' into table t":                                  {{Op: WriteLoad, Table: tbl("t")}},
		"load data local inpath '/x' overwrite into table t partition (ds='a', hr=3)": {{Op: WriteLoad, Table: tbl("t"), Partition: static("ds", "a", "hr", "3"), Overwrite: true}},
		"load data inpath '/x' into table t inputformat 'a.B' serde 'c.D'":            {{Op: WriteLoad, Table: tbl("t")}},
		"truncate table t partition (ds='a') columns (x, y)":                          {{Op: WriteTruncate, Table: tbl("t"), Partition: static("ds", "a")}},
		"truncate table t force":                                                      {{Op: WriteTruncate, Table: tbl("t")}},
		"msck repair table t add partitions":                                          {{Op: WriteMSCK, Table: tbl("t")}},
		"msck repair table t sync partitions (ds='a')":                                {{Op: WriteMSCK, Table: tbl("t")}},
		"msck repair table t add partitions partition (ds > 'a')":                     {{Op: WriteMSCK, Table: tbl("t"), Partition: static(), Dynamic: []string{"ds"}}},
		"import table t partition (ds='a') from '/x' location '/y'":                   {{Op: WriteImport, Table: tbl("t"), Partition: static("ds", "a")}},
		"drop materialized view if exists v":                                          {{Op: WriteDrop, Table: tbl("v")}},
		"alter table t add partition (ds='a', hr='1') partition (ds='b', hr='2')":     {{Op: WriteAlterPartition, Table: tbl("t"), Partition: static("ds", "a", "hr", "1")}, {Op: WriteAlterPartition, Table: tbl("t"), Partition: static("ds", "b", "hr", "2")}},
		"alter table t drop partition (ds >= 'a', hr = 3), partition (ds != 'b')":     {{Op: WriteAlterPartition, Table: tbl("t"), Partition: static("hr", "3"), Dynamic: []string{"ds"}}, {Op: WriteAlterPartition, Table: tbl("t"), Partition: static(), Dynamic: []string{"ds"}}},
		"alter table t archive partition (ds='a')":                                    {{Op: WriteAlterPartition, Table: tbl("t"), Partition: static("ds", "a")}},
		"alter table t unarchive partition (ds='a')":                                  {{Op: WriteAlterPartition, Table: tbl("t"), Partition: static("ds", "a")}},
		"alter table t partition (ds='a') compact 'major' and wait":                   {{Op: WriteCompact, Table: tbl("t"), Partition: static("ds", "a")}},
		"alter table t compact 'minor'":                                               {{Op: WriteCompact, Table: tbl("t")}},
		"alter table t partition (ds='a') set location '/x'":                          {{Op: WriteAlterPartition, Table: tbl("t"), Partition: static("ds", "a")}},
		"alter table t partition (ds='a') add columns (x int)":                        {{Op: WriteAlterColumns, Table: tbl("t"), Partition: static("ds", "a")}},
		"alter table t partition (ds, hr='3') change column x y bigint":               {{Op: WriteAlterColumns, Table: tbl("t"), Partition: static("hr", "3"), Dynamic: []string{"ds"}}},
		"alter table t change column x y bigint comment 'z' after w cascade":          {{Op: WriteAlterColumns, Table: tbl("t")}},
		"update t set x = 1 where partition_date = 'a'":                               {{Op: WriteUpdate, Table: tbl("t")}},
		"delete from t": {{Op: WriteDelete, Table: tbl("t")}},
		"merge into t using (select * from s) u on t.a = u.a when matched then update set b=1": {{Op: WriteMerge, Table: tbl("t")}},
	} {
		if got := Parse(sql).Writes; !reflect.DeepEqual(got, want) {
			t.Errorf("Parse(%q).Writes\n got %+v\nwant %+v", sql, got, want)
		}
	}
}

func TestOtherTargets(t *testing.T) {
	for sql, want := range map[string]int{
		"insert into t select 1":                                                                  0,
		"insert overwrite directory '/x' select * from t":                                         1,
		"insert overwrite local directory '/x' select * from t":                                   1,
		"insert into ${hiveconf:t} select 1":                                                      1,
		"from s insert overwrite directory '/x' select a insert into t select b":                  1,
		"from s insert into t select a insert into ${hiveconf:t} select b insert into u select c": 1,
		"select * from t": 0,
	} {
		if got := Parse(sql).OtherTargets; got != want {
			t.Errorf("Parse(%q).OtherTargets = %d, want %d", sql, got, want)
		}
	}
}

func TestAnalyze(t *testing.T) {
	tbl := TableName{Database: "d", Table: "t"}
	for sql, want := range map[string]*Analyze{
		"analyze table D.T compute statistics":                                            {Table: tbl},
		"ANALYZE TABLE `d`.`t` PARTITION (ds='a', hr) COMPUTE STATISTICS NOSCAN":          {Table: tbl, Partition: map[string]string{"ds": "a"}, Dynamic: []string{"hr"}, NoScan: true},
		"analyze table d.t compute statistics for columns":                                {Table: tbl, ForColumns: true},
		"analyze table d.t compute statistics for columns A, `b c`;":                      {Table: tbl, ForColumns: true, Columns: []string{"a", "b c"}},
		"analyze table d.t partition (ds='a') compute statistics for columns":             {Table: tbl, Partition: map[string]string{"ds": "a"}, ForColumns: true},
		"analyze table d.t cache metadata":                                                nil,
		"analyze table ${x} compute statistics":                                           nil,
		"analyze":                                                                         nil,
		"explain analyze table d.t compute statistics":                                    nil,
		"alter table d.t update statistics set ('numRows'='1')":                           {Table: tbl, ByHand: true},
		"alter table d.t partition (ds='a') update statistics for column x set ('a'='1')": {Table: tbl, Partition: map[string]string{"ds": "a"}, ByHand: true},
		"alter table d.t update columns":                                                  nil,
	} {
		if got := Parse(sql).Analyze; !reflect.DeepEqual(got, want) {
			t.Errorf("Parse(%q).Analyze\n got %+v\nwant %+v", sql, got, want)
		}
	}
}
