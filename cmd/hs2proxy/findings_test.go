package main

import (
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/store"
)

func TestParseUntil(t *testing.T) {
	now := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct{ text, want, err string }{
		{"", "0001-01-01T00:00:00Z", ""},
		{"2026-12-02", "2026-12-02T00:00:00Z", ""},
		{"2026-12-01T12:00:00+01:00", "2026-12-01T12:00:00+01:00", ""},
		{"2026-12-01", "", "is past"},
		{"2026-12-01T10:00:00Z", "", "is past"},
		{"tomorrow", "", "write a day"},
		{"01.02.2027", "", "write a day"},
	} {
		got, err := parseUntil(c.text, now)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: %v, want an error with %q", c.text, err, c.err)
			}
			continue
		}
		if err != nil || got.Format(time.RFC3339) != c.want {
			t.Errorf("%q: %v %v, want %s", c.text, got, err, c.want)
		}
	}
}

func TestPrintFindings(t *testing.T) {
	var b strings.Builder
	at := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	printFindings(&b, store.Table{
		Columns: []string{"upstream", "severity", "kind", "subject", "summary", "reason", "muted_by", "muted_until", "times", "first_seen", "last_seen", "fingerprint", "doc"},
		Rows: [][]any{
			{"hive-a", "LOW", "near_flip", "join 0", "it flips", "known", "ana", nil, int64(3), at, at.Add(time.Hour), "f1", "docs/x.md#near_flip"},
		},
	})
	const want = `LOW near_flip (join 0): it flips
  see: docs/x.md#near_flip
  query f1 on hive-a, seen 3 times, first 2026-12-01 10:00:00Z, last 2026-12-01 11:00:00Z
  muted by ana until it is taken back: known
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	printFindings(&b, store.Table{})
	if b.String() != "no findings\n" {
		t.Errorf("empty: %q", b.String())
	}
	b.Reset()
	printFinding(&b, advisor.Finding{Kind: "k", Severity: advisor.High, Subject: "s", Summary: "x", Advice: "SET a=1;\nSET b=2;"})
	if b.String() != "HIGH k (s): x\n  try: SET a=1;\n       SET b=2;\n" {
		t.Errorf("advice of two lines: %q", b.String())
	}
}
