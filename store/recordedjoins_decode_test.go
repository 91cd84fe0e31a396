package store

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// filled gives every field that JSON shows a value of its own, lists two elements.
func filled(v reflect.Value, n *int64) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				filled(v.Field(i), n)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		filled(v.Index(0), n)
		filled(v.Index(1), n)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem(), n)
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d \"\\ ä\n<&", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(*n * 1_000_000_007)
	default:
		panic("no such kind in a join: " + v.Kind().String())
	}
}

// decodeJoin reads a join from one text, as decode does.
func decodeJoin(text []byte) (advisor.Join, error) {
	var j RecordedJoin
	err := j.decode(text, []byte("null"), nil)
	return j.Join, err
}

// TestDecodeReadsEveryField: of a join, and of its inputs, which are kept apart.
func TestDecodeReadsEveryField(t *testing.T) {
	var (
		want advisor.Join
		n    int64
	)
	filled(reflect.ValueOf(&want).Elem(), &n)
	inputs, err := json.Marshal(want.Inputs)
	if err != nil {
		t.Fatal(err)
	}
	for _, indent := range []string{"", " "} {
		text, err := json.MarshalIndent(want, "", indent)
		if err != nil {
			t.Fatal(err)
		}
		var got RecordedJoin
		if err := got.decode(text, inputs, nil); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Join, want) {
			t.Errorf("read\n%+v\nof\n%s", got.Join, text)
		}
	}
}

func TestDecodeOfOddTexts(t *testing.T) {
	for _, c := range []struct {
		text string
		want advisor.Join
	}{
		{`{}`, advisor.Join{}},
		{`{"inputs": null, "conditions": [], "ordinal": -3}`, advisor.Join{Ordinal: -3, Conditions: []advisor.Condition{}}},
		{`{"later": {"a": [1.5e3, true, null, "}"], "b": {}}, "null_safe": true, "more": 1}`, advisor.Join{NullSafe: true}},
	} {
		if got, err := decodeJoin([]byte(c.text)); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v", c.text, got, err)
		}
	}
	inputs := `[{"tables": null, "keys": [{"ndv": null, "nulls": 0}]}, {"layout": null}]`
	var got RecordedJoin
	want := []advisor.Input{{Keys: []advisor.Key{{Nulls: new(int64)}}}, {}}
	if err := got.decode([]byte(`{"residual": false}`), []byte(inputs), nil); err != nil || !reflect.DeepEqual(got.Join, advisor.Join{Inputs: want}) {
		t.Errorf("%s: %+v, %v", inputs, got.Join, err)
	}
	for _, text := range []string{``, `[`, `{`, `{"ordinal"`, `{"ordinal": 1.5}`, `{"ordinal": "1"}`, `{"vertex": 1}`, `{"inputs": {}}`, `{"vertex": "a`, `nul`, `{"x": `, `{"vertex": "\q"}`} {
		if got, err := decodeJoin([]byte(text)); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

// FuzzDecode: nothing makes the reader panic or hang.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"ordinal": 1, "inputs": [{"tables": ["a.b"], "rows": 5, "keys": [{"ndv": 7}]}], "conditions": [{"type": "INNER"}]}`))
	f.Fuzz(func(_ *testing.T, text []byte) { _, _ = decodeJoin(text) })
}
