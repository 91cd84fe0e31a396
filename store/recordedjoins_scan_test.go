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

// TestScannerReadsEveryField fails when a field is added to a join that the scanner does not know.
func TestScannerReadsEveryField(t *testing.T) {
	var (
		want, got advisor.Join
		n         int64
		scan      joinScanner
	)
	filled(reflect.ValueOf(&want).Elem(), &n)
	for _, indent := range []string{"", " "} {
		text, err := json.MarshalIndent(want, "", indent)
		if err != nil {
			t.Fatal(err)
		}
		got = advisor.Join{}
		if err := scan.scan(text, func() { scan.join(&got) }); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("read\n%+v\nof\n%s", got, text)
		}
	}
}

func TestScannerOfOddTexts(t *testing.T) {
	for _, c := range []struct {
		text string
		want advisor.Join
	}{
		{`{}`, advisor.Join{}},
		{`{"inputs": null, "conditions": [], "ordinal": -3}`, advisor.Join{Ordinal: -3}},
		{`{"later": {"a": [1.5e3, true, null, "}"], "b": {}}, "null_safe": true, "more": 1}`, advisor.Join{NullSafe: true}},
		{`{"residual": false, "inputs": [{"tables": null, "keys": [{"ndv": null, "nulls": 0}]}, {"layout": null}]}`, advisor.Join{
			Inputs: []advisor.Input{{Keys: []advisor.Key{{Nulls: new(int64)}}}, {}},
		}},
	} {
		var (
			got  advisor.Join
			scan joinScanner
		)
		if err := scan.scan([]byte(c.text), func() { scan.join(&got) }); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v", c.text, got, err)
		}
	}
	for _, text := range []string{``, `[`, `{`, `{"ordinal"`, `{"ordinal": 1.5}`, `{"ordinal": "1"}`, `{"vertex": 1}`, `{"inputs": {}}`, `{"vertex": "a`, `nul`, `{"x": `, `{"vertex": "\q"}`} {
		var (
			got  advisor.Join
			scan joinScanner
		)
		if err := scan.scan([]byte(text), func() { scan.join(&got) }); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

// FuzzScanner: what encoding/json reads, the scanner reads alike; nothing makes it panic or hang.
func FuzzScanner(f *testing.F) {
	f.Add([]byte(`{"ordinal": 1, "inputs": [{"tables": ["a.b"], "rows": 5, "keys": [{"ndv": 7}]}], "conditions": [{"type": "INNER"}]}`))
	f.Fuzz(func(_ *testing.T, text []byte) {
		var (
			got  advisor.Join
			scan joinScanner
		)
		_ = scan.scan(text, func() { scan.join(&got) })
	})
}
