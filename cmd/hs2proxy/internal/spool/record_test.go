package spool

import (
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/store"
)

// fill puts a text of its own, 'mark:path', into every string of a value, one element into every list and map, and bytes
// 0xAB into arrays.
func fill(v reflect.Value, path string) {
	switch v.Kind() { //nolint:exhaustive // the rest is numbers
	case reflect.String:
		v.SetString("'mark:" + path + ":'")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), path)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), path)
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(0xAB)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, path+".key")
		if value.Kind() == reflect.Interface {
			value.Set(reflect.ValueOf("'mark:" + path + ":'"))
		} else {
			fill(value, path)
		}
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)))
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				fill(v.Field(i), strings.TrimPrefix(path+"."+f.Name, "."))
			}
		}
	}
}

var marks = regexp.MustCompile(`mark:([^:]*):`)

// marksIn are the paths whose texts are in b.
func marksIn(b []byte) []string {
	var out []string
	for _, m := range marks.FindAllSubmatch(b, -1) {
		out = append(out, string(m[1]))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Every text that reaches the disk is listed here, so that a field added later is thought of: names, what Postgres keeps
// anyway, and text without literals. Not: configuration and settings of the client's own naming, the statement as sent,
// what was read from it, its overlay, the plan's text, key expressions' literals.
// Partitions are named by their values, as Hive's own catalogue names them.
var onDiskAlways = []string{
	"Analyzed.Columns", "Analyzed.Partition", "Analyzed.Table", "Contradictions.Contradiction.Kind", "Contradictions.Contradiction.Words", "Contradictions.Table", "DroppedDatabase",
	"Session.Auth", "Session.ClientAddr", "Session.ClientName", "Session.Configuration.key", "Session.Database", "Session.Server", "Session.Settings.key",
	"Session.Upstream", "Session.User",
	"Statement.Database", "Statement.ID", "Statement.Info.Fingerprint", "Statement.Info.Kind", "Statement.Info.Normalized",
	"Statement.OperationID", "Statement.SQLState", "Statement.SessionID", "Statement.State",
	"Writes.Op", "Writes.Partitions", "Writes.StatementID", "Writes.Table", "Writes.Upstream",
}

func TestWhatReachesTheDisk(t *testing.T) {
	for _, keep := range []bool{false, true} {
		var o store.Observation
		fill(reflect.ValueOf(&o).Elem(), "")
		o.Session.Handle.GUID = [16]byte{} // no secret
		literal := "'a literal'"
		o.Statement.SQL = "SELECT " + literal
		o.Statement.ErrorMessage = "near " + literal
		o.Analysis.Error = "near " + literal
		b, err := encode(pipeline.Record{Observation: &o}, keep, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(b), "a literal"); got != keep {
			t.Errorf("keep %v: the literal is on disk: %v", keep, got)
		}
		if strings.Contains(string(b), "171") { // 0xAB
			t.Errorf("keep %v: a handle's secret is on disk: %s", keep, b)
		}
		var got []string
		for _, path := range marksIn(b) {
			switch {
			case strings.HasPrefix(path, "Findings."), strings.HasPrefix(path, "Analysis.Findings."), strings.HasPrefix(path, "Analysis.Joins."): // words of ours, with names
			case path == "Analysis.PlanText" && keep:
			case strings.HasPrefix(path, "Analysis."):
				if slices.Contains([]string{"PlanText", "Error"}, strings.TrimPrefix(path, "Analysis.")) {
					t.Errorf("keep %v: %s is on disk", keep, path)
				}
			default:
				got = append(got, path)
			}
		}
		if !slices.Equal(got, onDiskAlways) {
			t.Errorf("keep %v: on disk:\n%s\nwant:\n%s", keep, strings.Join(got, "\n"), strings.Join(onDiskAlways, "\n"))
		}
		if expr := "mark:Analysis.Joins.Join.Inputs.Keys.Expr:"; strings.Contains(string(b), expr) != keep {
			t.Errorf("keep %v: the literal of a key expression: %v", keep, !keep)
		}
	}
}

func TestSessionOnDiskHoldsNoSecret(t *testing.T) {
	var s intercept.Session
	fill(reflect.ValueOf(&s).Elem(), "Session")
	s.Handle.GUID = [16]byte{}
	s.Configuration = map[string]string{"password": "hunter2", "set:hiveconf:hive.x.token": "hunter3", "use:database": "shop"}
	s.Settings = map[string]string{"fs.s3a.secret.key": "hunter4", "hive.execution.engine": "tez"}
	b, err := encode(pipeline.Record{Session: &s}, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(b); strings.Contains(text, "hunter") || strings.Contains(text, "171") || !strings.Contains(text, "tez") || !strings.Contains(text, "shop") {
		t.Errorf("on disk: %s", text)
	}
	if s.Configuration["password"] != "hunter2" || s.Handle.Secret == [16]byte{} {
		t.Error("the original was changed")
	}
}

func TestRecordsComeBackAsTheyWere(t *testing.T) {
	var o store.Observation
	fill(reflect.ValueOf(&o).Elem(), "")
	o.Analysis.Findings[0].Evidence = map[string]any{"bytes": int64(math.MaxInt64), "text": "x"}
	rows := int64(7)
	o.Statement.OperatorCounters = "" // they are recorded apart
	o.Writes[0].Rows, o.Statement.ModifiedRows = &rows, &rows
	o = o.Redacted(true, nil)
	for _, r := range []pipeline.Record{{Observation: &o}, {Session: &o.Session}} {
		b, err := encode(r, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decode(b)
		if err != nil {
			t.Fatal(err)
		}
		again, err := encode(back, true, nil)
		if err != nil || string(again) != string(b) {
			t.Errorf("%v\nfirst:  %s\nsecond: %s", err, b, again)
		}
		if r.Observation != nil {
			if n := back.Observation.Analysis.Findings[0].Evidence["bytes"]; n != json.Number("9223372036854775807") {
				t.Errorf("evidence became %v", n)
			}
			back.Observation.Analysis.Findings[0].Evidence = o.Analysis.Findings[0].Evidence
		}
		if !reflect.DeepEqual(back, r) {
			t.Errorf("got  %+v\nwant %+v", back, r)
		}
	}
}

func TestNumbersThatJSONCannotHold(t *testing.T) {
	o := store.Observation{Analysis: &store.Analysis{
		Joins: []advisor.JoinVerdict{{Decision: advisor.Decision{Margin: &advisor.Margin{Factor: math.Inf(1)}}}},
		Findings: []advisor.Finding{
			{Summary: "plain", Evidence: map[string]any{"x": math.NaN()}},
			{Summary: "deep", Evidence: map[string]any{"x": []float64{math.Inf(-1)}}},
		},
	}}
	b, err := encode(pipeline.Record{Observation: &o}, false, nil)
	if err != nil || !strings.Contains(string(b), "deep") {
		t.Errorf("%s, %v", b, err)
	}
	if o.Analysis.Findings[1].Evidence == nil {
		t.Error("the original was changed")
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, text := range []string{"", "{}", `{"v":1}`, `{"v":2,"session":{}}`, `{"v":1,"session":{},"observation":{}}`, `{"v":1,"session":7}`} {
		if _, err := decode([]byte(text)); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
	if _, err := encode(pipeline.Record{}, true, nil); err == nil {
		t.Error("an empty record was taken")
	}
}

func FuzzDecode(f *testing.F) {
	b, err := encode(record(1, 10), false, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"v":1,"session":{"Settings":{"a":"b"}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decode(b)
		if err != nil {
			return
		}
		if _, err := encode(r, false, nil); err != nil {
			t.Errorf("what was decoded cannot be encoded: %v", err)
		}
	})
}

// TestActualsOnDisk: counted rows come back as they were.
func TestActualsOnDisk(t *testing.T) {
	a := store.Actuals{
		Upstream: "main", StatementID: "1", Source: store.SourceCounters, Fingerprint: "f", At: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC),
		Operators: []advisor.OperatorActual{{ID: "TS_0", Kind: "TableScan", Vertex: "Map 1", Estimated: 1 << 60, Actual: 0}},
	}
	b, err := encode(pipeline.Record{Actuals: &a}, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	back, err := decode(b)
	if err != nil || back.Actuals == nil || back.Observation != nil || !reflect.DeepEqual(*back.Actuals, a) {
		t.Errorf("got %+v, %v", back.Actuals, err)
	}
	for _, text := range []string{`{"v":1}`, `{"v":1,"actuals":{},"session":{}}`} {
		if _, err := decode([]byte(text)); err == nil {
			t.Errorf("%s was decoded", text)
		}
	}
}
