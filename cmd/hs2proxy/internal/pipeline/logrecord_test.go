package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/store"
)

func TestLogObservation(t *testing.T) {
	final := intercept.Statement{State: intercept.StateFinished}
	analysis := func(change func(*store.Analysis)) *store.Analysis {
		a := &store.Analysis{
			Fingerprint: "f",
			Joins: []advisor.JoinVerdict{{
				Join: advisor.Join{Ordinal: 2, Vertex: "Map 1"}, Decision: advisor.Decision{Reason: "8 < 10"},
				Verdict: advisor.Verdict{Planned: advisor.MapJoin, Simulated: advisor.MergeJoin},
			}},
			Findings: []advisor.Finding{
				{Kind: advisor.NearFlip, Severity: advisor.High, Subject: "join 2", Summary: "s", Advice: "a"},
				{Kind: advisor.CrossProduct, Severity: advisor.Info},
			},
		}
		if change != nil {
			change(a)
		}
		return a
	}
	tests := map[string]struct {
		o    store.Observation
		want []map[string]any
	}{
		"running":      {store.Observation{Statement: intercept.Statement{State: intercept.StateRunning}, Analysis: analysis(nil)}, nil},
		"not analysed": {store.Observation{Statement: final}, nil},
		"reused":       {store.Observation{Statement: final, Analysis: analysis(func(a *store.Analysis) { a.Reused = true })}, nil},
		"reused, and its end tells something": {
			store.Observation{
				Statement: final, Analysis: analysis(func(a *store.Analysis) { a.Reused = true }),
				Findings: []advisor.Finding{{Kind: advisor.MapJoinMemory, Severity: advisor.High, Subject: "join 2", Summary: "s", Advice: "a"}},
			},
			[]map[string]any{{
				"level": "warn", "fingerprint": "f", "kind": "map_join_memory", "severity": "HIGH", "subject": "join 2", "summary": "s", "advice": "a",
				"message": "finding",
			}},
		},
		"refused": {
			store.Observation{Statement: final, Analysis: analysis(func(a *store.Analysis) { a.Error = "no table" })},
			[]map[string]any{{"level": "info", "fingerprint": "f", "error": "no table", "message": "query not explained"}},
		},
		"joins and findings": {
			store.Observation{Statement: final, Analysis: analysis(nil)},
			[]map[string]any{
				{
					"level": "info", "fingerprint": "f", "join": 2.0, "vertex": "Map 1", "planned": "MAP_JOIN", "simulated": "MERGE_JOIN",
					"agrees": false, "reason": "8 < 10", "message": "join",
				},
				{
					"level": "warn", "fingerprint": "f", "kind": "near_flip", "severity": "HIGH", "subject": "join 2", "summary": "s", "advice": "a",
					"message": "finding",
				},
				{
					"level": "info", "fingerprint": "f", "kind": "cross_product", "severity": "INFO", "subject": "", "summary": "", "advice": "",
					"message": "finding",
				},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			LogObservation(zerolog.New(&out), test.o)
			var got []map[string]any
			for d := json.NewDecoder(&out); d.More(); {
				var line map[string]any
				if err := d.Decode(&line); err != nil {
					t.Fatal(err)
				}
				got = append(got, line)
			}
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("got  %v\nwant %v", got, test.want)
			}
		})
	}
}
