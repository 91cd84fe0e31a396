package store_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/store"
)

// secretObservation has a secret or a literal wherever one can be.
func secretObservation() store.Observation {
	const sql = "CREATE TABLE shop.out AS SELECT * FROM shop.items i JOIN shop.orders o ON i.x = o.x AND i.name = 'literal-1'"
	s := session("hive-a")
	s.Configuration["password"], s.Settings["fs.s3a.secret.key"] = "secret-1", "secret-2"
	st := ended(statement(s, sql, "f1", t0), intercept.StateError, time.Second)
	st.OperationSecret = [16]byte([]byte("operation-secret"))
	st.Settings = map[string]string{"fs.s3a.access.key": "secret-3"}
	st.ConfOverlay = map[string]string{"token": "secret-4"}
	st.ErrorCode, st.ErrorMessage = 1, "near 'literal-1' in "+sql
	st.Info = hiveql.Info{
		Kind: hiveql.KindCTAS, Normalized: strings.ReplaceAll(sql, "'literal-1'", "?"), Fingerprint: "f1", Query: "SELECT 'literal-1'",
		Writes: []hiveql.Write{{Partition: map[string]string{"p": "literal-1"}}}, Set: &hiveql.Assignment{Key: "k", Value: "secret-5"},
	}
	v := verdict(advisor.MapJoin, 1000)
	v.Join.Inputs[0].Keys[0].Expr = "concat(x, 'literal-1')"
	v.Decision.Margin = &advisor.Margin{Factor: math.Inf(1), Next: advisor.MergeJoin}
	a := analysis("hive-a", "f1", t0, v)
	a.PlanText = "predicate: name = 'literal-1'"
	a.Settings["fs.azure.account.key.x"] = "secret-6"
	a.Findings = []advisor.Finding{{Kind: "K1", Severity: advisor.Low, Subject: "join 0", Evidence: map[string]any{"n": int64(1<<62 + 1), "odd": math.NaN()}}}
	return store.Observation{Session: s, Statement: st, Analysis: a, Writes: []store.TableWrite{{Table: "shop.out", Rows: ptr(int64(1))}}}
}

func TestRecordingWhatWasRedactedIsRecordingTheWhole(t *testing.T) {
	for _, keep := range []bool{false, true} {
		direct, spooled := newFixture(t, store.Options{KeepLiterals: keep}), newFixture(t, store.Options{KeepLiterals: keep})
		o := secretObservation()
		b, err := json.Marshal(o.Redacted(keep))
		direct.ok(err)
		if o.Session.Handle.Secret == [16]byte{} || o.Statement.Info.Query == "" || o.Session.Configuration["password"] != "secret-1" ||
			o.Analysis.PlanText == "" || !math.IsInf(o.Analysis.Joins[0].Decision.Margin.Factor, 1) || !strings.Contains(o.Analysis.Joins[0].Join.Inputs[0].Keys[0].Expr, "literal") {
			t.Error("the original was changed")
		}
		if text := string(b); strings.Contains(text, "secret-") || strings.Contains(text, "literal-1") != keep {
			t.Errorf("keep %v: %s", keep, text)
		}
		var back store.Observation
		d := json.NewDecoder(strings.NewReader(string(b)))
		d.UseNumber()
		direct.ok(d.Decode(&back))
		direct.ok(direct.RecordStatement(t.Context(), o))
		spooled.ok(spooled.RecordStatement(t.Context(), back))
		if a, b := direct.snapshot(), spooled.snapshot(); a != b {
			t.Errorf("keep %v: direct:\n%s\nspooled:\n%s", keep, a, b)
		}
	}
}
