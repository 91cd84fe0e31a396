package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestMask: what tells of the machine or the time is taken out, what a parser reads stays.
func TestMask(t *testing.T) {
	text := `      DagId: someone_20261201052104_973badd3-5bc1-45f3-bfde-b5ff8f61292f:1
              file:/home/someone/dir/warehouse/golden.db/big [a]
                    location file:/home/someone/dir/warehouse_external/days/ds=1
                      input format: org.apache.hadoop.hive.ql.io.orc.OrcInputFormat
                    last_modified_by someone
                    last_modified_time 1796102419
                    transient_lastDdlTime 1796102419
                            directory: file:/home/someone/dir/scratch/hive_2026-12-01_05-21-04_973_1-1/-mr-10001/.hive-staging/-ext-10002
                  base file name: 381f4735-916e-4adc-a9b5-1c7f5dc30256
                  base file name: big
                    columns k,v
                    location file:/home/someone/dir/scratch/hive/someone/3c58654d-9d84-4d35-8dc2-aa5f052f0e0b/_tmp_space.db/merge_tmp_table
                    uuid 8a98aaea-035b-4b3b-9a06-88158e9a1bd7
                    current-schema {"type":"struct"}
                    current-snapshot-id 4192351323246275637
                    previous_metadata_location file:/home/someone/dir/external/golden.db/ice/metadata/00000-d6d2e1fc-a614-4692-b213-525c8f0bfe3b.metadata.json
                    iceberg.mr.serialized.table.golden.ice rO0ABXNyACRvcmc` + "\r" + `
Y2ViZXJnL3V0aWwvU2VyaWFsaXphYmxlU3VwcGxpZXI7TAAK
eyJuYW1lIjoia19idWNrZXQiLCJ0cmFuc2Zvcm0==
                    iceberg.mr.table.location file:/home/someone/dir/external/golden.db/ice
                    snapshot-count 1
                    table_type ICEBERG
{"CBOPlan":"{\"rels\":[\"x\"]}","STAGE PLANS":{"transient_lastDdlTime":"1796102419"}}

`
	want := `      DagId: hive_0
              file:/warehouse/golden.db/big [a]
                    location file:/warehouse/days/ds=1
                    last_modified_by hive
                    last_modified_time 0
                    transient_lastDdlTime 0
                            directory: file:/scratch/-mr-10001/.hive-staging/-ext-10002
                  base file name: 0
                  base file name: big
                    columns k,v
                    location file:/scratch/_tmp_space.db/merge_tmp_table
                    current-schema {"type":"struct"}
                    iceberg.mr.serialized.table.golden.ice c2VyaWFs
aXplZA==
                    table_type ICEBERG
{"STAGE PLANS":{"transient_lastDdlTime":"0"}}
`
	if got := mask(text); got != want {
		t.Errorf("masked\n%swant\n%s", got, want)
	}
}

// TestQueries: every strategy and join type has a query, under a name of its own that its file can have.
func TestQueries(t *testing.T) {
	seen := map[string]bool{}
	pairs := 0
	for _, q := range queries() {
		if seen[q.name] || strings.Trim(q.name, "abcdefghijklmnopqrstuvwxyz_") != "" {
			t.Errorf("name %q", q.name)
		}
		seen[q.name] = true
		if q.strategy != "" {
			pairs++
		}
		if strings.Contains(q.sql, "%") {
			t.Errorf("%s: %s", q.name, q.sql)
		}
	}
	for _, s := range []set{acid(), iceberg()} {
		for _, q := range s.queries {
			if !strings.HasPrefix(q.name, s.kind+"_") || seen[q.name] || strings.Contains(q.sql, "%") {
				t.Errorf("%s: %+v", s.kind, q)
			}
			seen[q.name] = true
		}
	}
	files, err := filepath.Glob("../../../../../advisor/explain/testdata/golden-hive/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden plans: %v", err)
	}
	for _, file := range files {
		if !seen[strings.TrimSuffix(filepath.Base(file), ".txtar")] {
			t.Errorf("%s has no query", file)
		}
	}
	if want := len(strategies) * len(joinTypes); pairs != want {
		t.Errorf("%d pairs of strategy and type, want %d", pairs, want)
	}
	for names, want := range map[string]bool{"": true, "dphj_*": true, "dphj_inner": true, "smb_*": false} {
		if got := named(query{name: "dphj_inner"}, strings.Fields(names)); got != want {
			t.Errorf("%q takes it: %t", names, got)
		}
	}
}
