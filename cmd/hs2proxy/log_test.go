package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/store"
)

// TestLogIsRedacted: texts of every depth go through the patterns; keys, numbers and the proxy's own words stay, and a line stays a
// line of JSON.
func TestLogIsRedacted(t *testing.T) {
	redact, err := store.NewRedactor([]store.Redaction{{Pattern: `mail-\w+`, With: `"<x>\`}, {Pattern: `info|started|77`, With: "gone"}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	log := zerolog.New(redactingWriter{&b, redact})
	log.Info().Err(errors.New("near 'mail-a'\n{\"k\": \"mail-b\"}")).Strs("list", []string{"mail-c", "kept"}).
		Dict("mail-key", zerolog.Dict().Str("level", "mail-d")).Int("n", 77).Str("empty", "").Str("last", `mail-e\`).Msg("started")
	var got map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || !strings.HasSuffix(b.String(), "}\n") {
		t.Fatalf("%v: %s", err, b.String())
	}
	const x = `"<x>\`
	if got["error"] != "near '"+x+"'\n{\"k\": \""+x+"\"}" || got["list"].([]any)[0] != x || got["list"].([]any)[1] != "kept" ||
		got["mail-key"].(map[string]any)["level"] != x || got["n"] != 77.0 || got["empty"] != "" || got["last"] != x+`\` {
		t.Errorf("got %s", b.String())
	}
	if got["level"] != "info" || got["message"] != "started" {
		t.Errorf("the proxy's own words: %s", b.String())
	}
}

func TestLogWithoutPatternsIsAsItCame(t *testing.T) {
	var b bytes.Buffer
	line := []byte(`{"odd":"\u003c"} and more` + "\n")
	if n, err := (redactingWriter{&b, nil}).Write(line); n != len(line) || err != nil || b.String() != string(line) {
		t.Errorf("%d, %v, %s", n, err, b.String())
	}
}

// FuzzRedactLine: nothing that is no JSON breaks it, and a pattern that matches nothing changes nothing.
func FuzzRedactLine(f *testing.F) {
	redact, err := store.NewRedactor([]store.Redaction{{Pattern: `never seen`, With: "x"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"a":"b\"c","d":["e"]}`))
	f.Add([]byte(`"\`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if got := redactLine(line, redact); !bytes.Equal(got, line) && !bytes.Contains(line, []byte("never")) && !bytes.Contains(line, []byte(`\u`)) {
			t.Errorf("%q became %q", line, got)
		}
	})
}
