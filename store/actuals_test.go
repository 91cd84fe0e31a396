package store_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/store"
)

// ran records a run of query f1 under its plan.
func (f *fixture) ran(sql, fingerprint string, at time.Time) intercept.Statement {
	f.t.Helper()
	s := session("hive-a")
	st := ended(statement(s, sql, fingerprint, at), intercept.StateFinished, time.Second)
	f.ok(f.RecordStatement(f.t.Context(), store.Observation{Session: s, Statement: st, Analysis: analysis("hive-a", fingerprint, t0, verdict(advisor.MapJoin, 1000))}))
	return st
}

func operators(rows ...int64) []advisor.OperatorActual {
	list := []advisor.OperatorActual{
		{ID: "MAPJOIN_22", Kind: "Map Join Operator", Vertex: "Map 1", Estimated: 40_000, Actual: rows[0]},
		{ID: "SEL_18", Kind: "Select Operator", Vertex: "Map 2", Estimated: 20_000, Actual: rows[1]},
	}
	return list
}

const actualRows = `SELECT string_agg(concat_ws(' ', operator_id, source, estimated_rows, actual_rows, q_error, q_error_max, runs, counted_at = $1), '; ' ORDER BY operator_id) FROM hs2proxy.operator_actuals`

// TestActuals: the latest count of each operator stays, with the number of runs and the worst; the same again changes nothing.
func TestActuals(t *testing.T) {
	f := newFixture(t, store.Options{})
	first, second := f.ran("SELECT 1", "f1", t0), f.ran("SELECT 1", "f1", t0.Add(time.Hour))
	a := store.Actuals{Upstream: "hive-a", StatementID: first.ID, Source: store.SourceCounters, Fingerprint: "f1", Operators: operators(40_000, 4_000_000), At: t0.Add(time.Minute)}
	a.Findings = []advisor.Finding{{Kind: "broadcast_actual_dwarfs_estimate", Severity: advisor.High, Subject: "join 0", Summary: "s", Evidence: map[string]any{"q_error": 200.0}}}
	f.ok(f.RecordActuals(t.Context(), a))
	want := "MAPJOIN_22 COUNTERS 40000 40000 1 1 1 t; SEL_18 COUNTERS 20000 4000000 200 200 1 t"
	f.want(want, actualRows, a.At)
	f.want("1 1", `SELECT concat_ws(' ', times, plan_id) FROM hs2proxy.findings WHERE kind = 'broadcast_actual_dwarfs_estimate' AND fingerprint = 'f1' AND advisor = 'movement'`)

	b, err := json.Marshal(a)
	f.ok(err)
	var spooled store.Actuals
	f.ok(json.Unmarshal(b, &spooled))
	f.ok(f.RecordActuals(t.Context(), spooled))
	f.want(want, actualRows, a.At)
	times := `SELECT string_agg(kind || ' ' || times, ', ' ORDER BY kind) FROM hs2proxy.findings WHERE kind LIKE 'broadcast%'`
	f.want("broadcast_actual_dwarfs_estimate 1", times) // however often a spool sends it
	more := spooled                                     // the rest of the counters, with what they tell beside
	more.Findings = append(slices.Clone(a.Findings), advisor.Finding{Kind: "broadcast_beyond", Severity: advisor.High, Subject: "join 1", Summary: "s"})
	_, err = f.Record(t.Context(), []store.Record{{Actuals: &more}, {Actuals: &spooled}, {Actuals: &more}})
	f.ok(err)
	f.want("broadcast_actual_dwarfs_estimate 1, broadcast_beyond 1", times)
	another := spooled
	another.StatementID, another.Operators = second.ID, nil
	for range 2 {
		f.ok(f.RecordActuals(t.Context(), another))
	}
	f.want("broadcast_actual_dwarfs_estimate 2, broadcast_beyond 1", times)
	f.exec(`DELETE FROM hs2proxy.findings`)
	f.ok(f.RecordActuals(t.Context(), another))
	f.want("broadcast_actual_dwarfs_estimate 1", times)

	a.StatementID, a.Operators, a.Findings, a.At = second.ID, operators(10_000, 20_000), nil, t0.Add(2*time.Hour)
	f.ok(f.RecordActuals(t.Context(), a))
	want = "MAPJOIN_22 COUNTERS 40000 10000 4 4 2 t; SEL_18 COUNTERS 20000 20000 1 200 2 t"
	f.want(want, actualRows, a.At)
	f.ok(f.RecordActuals(t.Context(), spooled)) // late from a spool
	f.want(want, actualRows, a.At)

	for _, nobody := range []string{"0a0b0c0d-0000-4000-8000-000000000099"} {
		a.StatementID = nobody
		f.ok(f.RecordActuals(t.Context(), a))
	}
	f.want(want, actualRows, t0.Add(2*time.Hour))
	f.exec(`DELETE FROM hs2proxy.plans`)
	f.want("0", `SELECT count(*) FROM hs2proxy.operator_actuals`)
}

// TestActualsOfExplainAnalyze: the plan is the analysis's own, recorded where it is new; it is no use of the query.
func TestActualsOfExplainAnalyze(t *testing.T) {
	f := newFixture(t, store.Options{})
	a := store.Actuals{
		Upstream: "hive-a", Source: store.SourceExplainAnalyze, Operators: operators(1, 1), At: t0.Add(time.Hour),
		Analysis: analysis("hive-a", "f7", t0, verdict(advisor.MapJoin, 1000)),
	}
	f.ok(f.RecordActuals(t.Context(), a))
	f.ok(f.RecordActuals(t.Context(), a))
	f.want("1", `SELECT DISTINCT runs FROM hs2proxy.operator_actuals WHERE statement_id IS NULL AND source = 'EXPLAIN_ANALYZE'`)
	a.At = a.At.Add(time.Hour)
	f.ok(f.RecordActuals(t.Context(), a))
	f.want("2", `SELECT DISTINCT runs FROM hs2proxy.operator_actuals`)
	f.want("1 0", `SELECT concat_ws(' ', (SELECT count(*) FROM hs2proxy.plans), (SELECT count(*) FROM hs2proxy.plan_uses))`)
	refused := a
	refused.Analysis = &store.Analysis{Upstream: "hive-a", Fingerprint: "f8", Error: "no such table"}
	f.ok(f.RecordActuals(t.Context(), refused))
	f.want("1", `SELECT count(*) FROM hs2proxy.plans`)
}

// TestReportEstimateErrors is the histogram, with the worst queries of each class.
func TestReportEstimateErrors(t *testing.T) {
	f := newFixture(t, store.Options{})
	for i, rows := range []int64{1000, 1500, 4000, 7000, 50_000, 500_000, 1_000_000, 900_000_000, 10_000, 2000} {
		st := f.ran("SELECT 1", "f"+string(rune('0'+i)), t0)
		f.ok(f.RecordActuals(t.Context(), store.Actuals{
			Upstream: "hive-a", StatementID: st.ID, Source: store.SourceCounters, At: t0.Add(time.Minute),
			Operators: []advisor.OperatorActual{{ID: "SEL_1", Kind: "Select Operator", Vertex: "Map 1", Estimated: 1000, Actual: rows}},
		}))
	}
	st := f.ran("SELECT 1", "f0", t0)
	f.ok(f.RecordActuals(t.Context(), store.Actuals{
		Upstream: "hive-a", StatementID: st.ID, Source: store.SourceCounters, At: t0.Add(time.Minute),
		Operators: []advisor.OperatorActual{{ID: "TS_0", Kind: "TableScan", Vertex: "Map 1", Estimated: 1000, Actual: 0}},
	}))
	f.want(`Select Operator|1000 and more|2|2|900000|{f7,f6}
Select Operator|100 to 1000|1|1|500|{f5}
Select Operator|10 to 100|2|2|50|{f4,f8}
Select Operator|5 to 10|1|1|7|{f3}
Select Operator|2 to 5|2|2|4|{f2,f9}
Select Operator|up to 2|1|1|1.5|{f1}
Select Operator|1|1|0|1|{f0}
TableScan|1000 and more|1|0|1000|{f0}`, `SELECT string_agg(concat_ws('|', operator, q_error, operators, underestimated, worst, worst_fingerprints), E'\n') FROM hs2proxy.report_estimate_errors`)
	report, err := f.Report(t.Context(), "report_estimate_errors")
	if err != nil || len(report.Rows) != 8 || report.Question == "" {
		t.Errorf("report %+v, %v", report, err)
	}
}
