package store

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// RandomVerdict is a verdict with a random value, or none, in every field of its join and its attempts, for tests that read it again.
func RandomVerdict(r *rand.Rand) advisor.JoinVerdict {
	var v advisor.JoinVerdict
	randomValue(r, reflect.ValueOf(&v.Join).Elem())
	randomValue(r, reflect.ValueOf(&v.Decision.Attempts).Elem())
	strategies := []advisor.Strategy{advisor.MapJoin, advisor.BucketMapJoin, advisor.DPHJ, advisor.SMB, advisor.MergeJoin, advisor.Unknown}
	v.Join.Strategy, v.Verdict.Simulated = strategies[r.IntN(len(strategies))], strategies[r.IntN(len(strategies))]
	types := []advisor.JoinType{advisor.Inner, advisor.LeftOuter, advisor.RightOuter, advisor.FullOuter, advisor.LeftSemi, advisor.Anti, advisor.Cross}
	for i := range v.Join.Conditions {
		v.Join.Conditions[i].Type = types[r.IntN(len(types))]
	}
	v.Decision.Budget, v.Join.BigTable = r.Int64(), r.IntN(4)-1
	return v
}

var randomTexts = []string{"", "golden.small", "golden.big", "_col0", "bigint", "COMPLETE", "k = 'x'", "ä\u2028\n\"\\<&", "\x00 \\u0000", "\xff\xfe", "\u00e4\xc3"}

func randomValue(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				randomValue(r, v.Field(i))
			}
		}
	case reflect.Slice:
		n := r.IntN(5) - 1 // −1: nil
		if n < 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			randomValue(r, v.Index(i))
		}
	case reflect.Pointer:
		if r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			randomValue(r, v.Elem())
		}
	case reflect.String:
		v.SetString(randomTexts[r.IntN(len(randomTexts))])
	case reflect.Bool:
		v.SetBool(r.IntN(2) > 0)
	case reflect.Int, reflect.Int64:
		v.SetInt([]int64{-1, 0, 1, r.Int64N(1000), -r.Int64(), r.Int64()}[r.IntN(6)])
	default:
		panic("no such kind in a join: " + v.Kind().String())
	}
}

var formTime = time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC)

func llapIf(yes bool) map[string]string {
	if yes {
		return map[string]string{"hive.execution.mode": "LLAP"}
	}
	return nil
}

func readForm(b []byte) (out []RecordedJoin, err error) {
	f := formReader()
	n, _ := f.open(b, formTime)
	for range n {
		var j RecordedJoin
		f.recorded(&j)
		out = append(out, j)
	}
	return out, f.err
}

// readPlain reads a row as joinsInJSON does.
func readPlain(t *testing.T, row joinRow, llap bool) RecordedJoin {
	t.Helper()
	var detail struct {
		Join json.RawMessage `json:"join"`
	}
	if err := json.Unmarshal(row.detail, &detail); err != nil {
		t.Fatal(err)
	}
	j := RecordedJoin{Simulated: row.verdict.Verdict.Simulated, Budget: row.verdict.Decision.Budget}
	attempts := row.attempts
	if !llap {
		attempts = nil
	}
	if err := j.decode(detail.Join, row.inputs, attempts); err != nil {
		t.Fatal(err)
	}
	return j
}

func TestReplayFormSaysWhatJSONSays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- the same every time
	for i := range 500 {
		var (
			rows []joinRow
			want []RecordedJoin
			llap = i%2 > 0
		)
		for n := range i % 4 {
			v := RandomVerdict(r)
			if i < 8 { // every field has a value of its own
				number := int64(1000 * i)
				filled(reflect.ValueOf(&v.Join).Elem(), &number)
				filled(reflect.ValueOf(&v.Decision.Attempts).Elem(), &number)
			}
			row, err := newJoinRow(n, v, i%3 > 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			rows, want = append(rows, row), append(want, readPlain(t, row, llap))
		}
		b := replayForm(formTime, llapIf(llap), rows)
		got, err := readForm(b)
		if err != nil || !reflect.DeepEqual(got, want) {
			g, _ := json.Marshal(got)
			w, _ := json.Marshal(want)
			t.Fatalf("%v, read\n%s\nJSON says\n%s", err, g, w)
		}
	}
}

// TestReplayFormIsOfOneTime: what is of another form or time is not taken, and what is cut short is told.
func TestReplayFormIsOfOneTime(t *testing.T) {
	row, err := newJoinRow(0, RandomVerdict(rand.New(rand.NewPCG(3, 4))), true, nil) // #nosec G404 -- the same every time
	if err != nil {
		t.Fatal(err)
	}
	b := replayForm(formTime, llapIf(true), []joinRow{row})
	f := formReader()
	if n, ok := f.open(b, formTime); n != 1 || !ok {
		t.Errorf("%d joins, %v", n, ok)
	}
	if _, ok := f.open(b, formTime.Add(time.Microsecond)); ok {
		t.Error("a form of another time is taken")
	}
	for _, other := range [][]byte{nil, {}, {formNumber + 1}, append([]byte{formNumber + 1}, b[1:]...)} {
		if _, ok := f.open(other, formTime); ok {
			t.Errorf("%v is taken for a form", other)
		}
	}
	for n := range b[1:] {
		if joins, err := readForm(b[:n+1]); err == nil {
			t.Errorf("of %d bytes of %d: %+v", n+1, len(b), joins)
		}
	}
}

// FuzzReplayForm: nothing makes the reader panic, hang or take much memory.
func FuzzReplayForm(f *testing.F) {
	row, err := newJoinRow(0, RandomVerdict(rand.New(rand.NewPCG(5, 6))), true, nil) // #nosec G404 -- the same every time
	if err != nil {
		f.Fatal(err)
	}
	f.Add(replayForm(formTime, llapIf(true), []joinRow{row, row}))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = readForm(b) })
}
