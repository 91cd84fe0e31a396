package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/store"
)

// printFinding prints a finding as explain does: what was found, what to try, where it is explained.
func printFinding(w io.Writer, f advisor.Finding) {
	fmt.Fprintf(w, "%s %s (%s): %s\n", f.Severity, f.Kind, f.Subject, f.Summary)
	if f.Advice != "" {
		fmt.Fprintf(w, "  try: %s\n", strings.ReplaceAll(f.Advice, "\n", "\n       "))
	}
	if f.Doc != "" {
		fmt.Fprintf(w, "  see: %s\n", f.Doc)
	}
}

// printFindings prints a report of findings that way, each with its query and how often and when it was seen.
func printFindings(w io.Writer, t store.Table) {
	if len(t.Rows) == 0 {
		fmt.Fprintln(w, "no findings")
		return
	}
	at := map[string]int{}
	for i, c := range t.Columns {
		at[c] = i
	}
	for _, row := range t.Rows {
		get := func(column string) string {
			if i, ok := at[column]; ok {
				return cell(row[i])
			}
			return ""
		}
		printFinding(w, advisor.Finding{
			Kind: advisor.FindingKind(get("kind")), Severity: advisor.Severity(get("severity")), Subject: get("subject"),
			Summary: get("summary"), Advice: get("advice"), Doc: get("doc"),
		})
		fmt.Fprintf(w, "  query %s on %s, seen %s times, first %s, last %s\n", get("fingerprint"), get("upstream"), get("times"), get("first_seen"), get("last_seen"))
		if by := get("muted_by"); by != "" {
			until := get("muted_until")
			if until == "" {
				until = "it is taken back"
			}
			fmt.Fprintf(w, "  muted by %s until %s: %s\n", by, until, get("reason"))
		}
	}
	if t.More {
		fmt.Fprintf(w, "and more: only the first %d are shown\n", store.MaxReportRows)
	}
}
