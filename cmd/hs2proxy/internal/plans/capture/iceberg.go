package main

import (
	"fmt"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// iceberg are plans over Iceberg tables. Their row counts come from the snapshot and cannot be set, so these tables hold rows, few
// of them, and the budgets fit.
func iceberg() set {
	var setup []string
	for _, t := range []struct {
		name, clause, columns string
		count                 int
	}{
		{"ice_big", "", "", 4000},
		{"ice_small", "", "", 200},
		{"ice_days", "PARTITIONED BY SPEC (ds)", ", if(pos % 2 = 0, '2026-01-01', '2026-01-02')", 4000},
		{"ice_buckets", "PARTITIONED BY SPEC (bucket(4, k))", "", 200},
	} {
		columns := "k BIGINT, v STRING"
		if t.columns != "" {
			columns += ", ds STRING"
		}
		setup = append(setup,
			fmt.Sprintf("CREATE TABLE %s (%s) %s STORED BY ICEBERG", t.name, columns, t.clause),
			fmt.Sprintf("INSERT INTO %s SELECT pos, concat('v', pos)%s FROM (SELECT posexplode(split(space(%d), ' ')) AS (pos, x)) n", t.name, t.columns, t.count-1))
	}
	mapJoin := []string{"SET hive.auto.convert.join.noconditionaltask.size=100000"}
	return set{
		kind: "iceberg", witnessed: true, setup: setup,
		probe: "CREATE TABLE ice_probe (k INT) STORED BY ICEBERG", drop: "DROP TABLE ice_probe",
		queries: []query{
			{"iceberg_map_join", mapJoin, "SELECT a.v, b.v FROM ice_big a JOIN ice_small b ON a.k = b.k", advisor.MapJoin, advisor.Inner},
			{"iceberg_dphj", []string{
				"SET hive.auto.convert.join.noconditionaltask.size=2000", "SET hive.optimize.dynamic.partition.hashjoin=true",
				"SET hive.exec.reducers.bytes.per.reducer=50000",
			}, "SELECT a.v, b.v FROM ice_big a LEFT OUTER JOIN ice_small b ON a.k = b.k", advisor.DPHJ, advisor.LeftOuter},
			{"iceberg_merge_join", []string{"SET hive.auto.convert.join.noconditionaltask.size=2000"}, "SELECT a.v, b.v FROM ice_big a JOIN small b ON a.k = b.k", advisor.MergeJoin, advisor.Inner},
			// Hive 4.0 makes no bucket map join of a bucket transform.
			{"iceberg_bucket_transform", []string{
				"SET hive.auto.convert.join.noconditionaltask.size=2000", "SET hive.convert.join.bucket.mapjoin.tez=true",
			}, "SELECT a.v, b.v FROM ice_buckets a JOIN ice_buckets b ON a.k = b.k", advisor.MergeJoin, advisor.Inner},
			{name: "iceberg_partition_pruning", settings: append([]string{"SET hive.tez.dynamic.partition.pruning=true"}, mapJoin...), sql: "SELECT d.v, s.v FROM ice_days d JOIN ice_small s ON d.k = s.k WHERE d.ds = '2026-01-01'"},
			{name: "iceberg_update", settings: mapJoin, sql: "UPDATE ice_big SET v = 'x' WHERE k IN (SELECT k FROM ice_small)"},
			{name: "iceberg_merge", settings: mapJoin, sql: "MERGE INTO ice_big t USING ice_small s ON t.k = s.k WHEN MATCHED AND s.v = 'x' THEN DELETE " +
				"WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.v)"},
		},
	}
}
