package jsonl

import (
	"bytes"
	"compress/gzip"
	"errors"
	"slices"
	"strings"
	"testing"
)

type numbered struct{ N int }

func TestRead(t *testing.T) {
	const text = "{\"n\":1}\n\n{\"n\":2}"
	var zipped bytes.Buffer
	zw := gzip.NewWriter(&zipped)
	if _, err := zw.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{text, zipped.String()} {
		var got []int
		if err := Read(strings.NewReader(in), func(v *numbered) error { got = append(got, v.N); return nil }); err != nil {
			t.Error(err)
		}
		if !slices.Equal(got, []int{1, 2}) {
			t.Errorf("read %v", got)
		}
	}
}

func TestReadStops(t *testing.T) {
	stop := errors.New("enough")
	for in, want := range map[string]string{
		"{\"n\":1}\n{\"n\":":              "object 2: unexpected EOF",
		"{\"n\":1}\n{\"n\":2}\n{\"n\":3}": "object 2: enough",
		"\x1f\x8bno gzip":                 "gzip: ",
	} {
		err := Read(strings.NewReader(in), func(v *numbered) error {
			if v.N == 2 {
				return stop
			}
			return nil
		})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
}
