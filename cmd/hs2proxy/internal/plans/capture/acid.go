package main

import "github.com/hs2proxy/hs2proxy/advisor"

const (
	fullACID   = "TBLPROPERTIES ('transactional'='true')"
	insertOnly = "TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only')"
)

// acid are plans over transactional tables. Of delta files and compactions no form of EXPLAIN tells: EXTENDED names a table's folder.
func acid() set {
	var setup []string
	for _, t := range []struct{ name, clause, properties, like string }{
		{"acid_big", "", fullACID, "big"},
		{"acid_small", "", fullACID, "small"},
		{"acid_big_bucketed", "CLUSTERED BY (k) INTO 4 BUCKETS", fullACID, "big"},
		{"acid_small_bucketed", "CLUSTERED BY (k) INTO 4 BUCKETS", fullACID, "small"},
		{"only_big", "CLUSTERED BY (k) SORTED BY (k) INTO 4 BUCKETS", insertOnly, "big"},
		{"only_small", "CLUSTERED BY (k) SORTED BY (k) INTO 4 BUCKETS", insertOnly, "small"},
	} {
		setup = append(setup, table(t.name, t.clause, t.properties, rows[t.like])...)
	}
	by := map[advisor.Strategy][]string{}
	for _, s := range strategies {
		by[s.strategy] = s.settings
	}
	merge := []string{"SET hive.auto.convert.join.noconditionaltask.size=150000"}
	return set{
		kind: "acid", witnessed: true, setup: setup,
		probe: "CREATE TABLE acid_probe (k INT) STORED AS ORC " + fullACID, drop: "DROP TABLE acid_probe",
		queries: []query{
			{"acid_map_join", by[advisor.MapJoin], "SELECT a.v, b.v FROM acid_big a JOIN acid_small b ON a.k = b.k", advisor.MapJoin, advisor.Inner},
			{"acid_bucket_map_join", by[advisor.BucketMapJoin], "SELECT a.v, b.v FROM acid_big_bucketed a JOIN acid_small_bucketed b ON a.k = b.k", advisor.BucketMapJoin, advisor.Inner},
			{"acid_dphj", by[advisor.DPHJ], "SELECT a.v, b.v FROM acid_big a LEFT OUTER JOIN acid_small b ON a.k = b.k", advisor.DPHJ, advisor.LeftOuter},
			{"acid_merge_join", merge, "SELECT a.v, b.v FROM acid_big a JOIN small b ON a.k = b.k", advisor.MergeJoin, advisor.Inner},
			{"acid_insert_only_smb", by[advisor.SMB], "SELECT a.v, b.v FROM only_big a JOIN only_small b ON a.k = b.k", advisor.SMB, advisor.Inner},
			{"acid_insert_only_semi", by[advisor.MapJoin], "SELECT a.v FROM only_big a LEFT SEMI JOIN acid_small b ON a.k = b.k", advisor.BucketMapJoin, advisor.LeftSemi},
			{name: "acid_update", settings: by[advisor.MapJoin], sql: "UPDATE acid_big SET v = 'x' WHERE k IN (SELECT k FROM small)"},
			{name: "acid_merge", settings: merge, sql: "MERGE INTO acid_big t USING acid_small s ON t.k = s.k WHEN MATCHED AND s.v = 'x' THEN DELETE " +
				"WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.v)"},
		},
	}
}
