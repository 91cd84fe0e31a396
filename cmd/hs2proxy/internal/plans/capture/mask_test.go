package main

import (
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
	if want := len(strategies) * len(joinTypes); pairs != want {
		t.Errorf("%d pairs of strategy and type, want %d", pairs, want)
	}
	for names, want := range map[string]bool{"": true, "dphj_*": true, "dphj_inner": true, "smb_*": false} {
		if got := named(query{name: "dphj_inner"}, strings.Fields(names)); got != want {
			t.Errorf("%q takes it: %t", names, got)
		}
	}
}
