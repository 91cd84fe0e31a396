package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// BenchmarkWhatIf is the command over 100,000 joins on record, 5,000 with -short: read from Postgres, replayed, reported; ns/op is for
// all of them.
func BenchmarkWhatIf(b *testing.B) {
	dsn := storetest.DSN(b)
	joins := recordMany(b, dsn, storetest.BenchJoins())
	b.Setenv("HS2PROXY_DATABASE__URL", dsn)
	for _, c := range []struct {
		name string
		cmd  whatifCmd
	}{
		{"setting", whatifCmd{Set: map[string]string{"hive.auto.convert.join": "false"}}},
		{"table", whatifCmd{Table: []string{"golden.small:rows=20x"}, Set: map[string]string{"hive.optimize.dynamic.partition.hashjoin": "true"}}},
		{"sweep", whatifCmd{Sweep: []string{"budget=100kB..2GB"}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			cmd := c.cmd
			cmd.Limit, cmd.Format = 50, "text"
			var out bytes.Buffer
			b.ReportAllocs()
			for b.Loop() {
				out.Reset()
				if err := cmd.print(b.Context(), &out); err != nil {
					b.Fatal(err)
				}
			}
			if want := fmt.Sprintf(" of %d joins change\n", joins); !strings.Contains(out.String(), want) || strings.Contains(out.String(), " 0"+want) {
				b.Fatalf("no %q in\n%s", want, &out)
			}
		})
	}
}

// recordMany records the plans captured from Hive and copies of them until there are that many joins, and tells how many there are.
func recordMany(b *testing.B, dsn string, least int) int {
	b.Helper()
	s, err := store.Open(b.Context(), dsn, store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	paths, err := filepath.Glob("../../advisor/explain/testdata/golden-hive/*.txtar")
	if err != nil || len(paths) == 0 {
		b.Fatalf("no captured plans: %v", err)
	}
	joins := 0
	for _, path := range paths {
		a := capturedPlan(b, path)
		if len(a.Joins) == 0 {
			continue
		}
		if err := s.RecordPlan(b.Context(), a); err != nil {
			b.Fatal(err)
		}
		joins += len(a.Joins)
	}
	copies := (least + joins - 1) / joins
	storetest.CopyPlans(b, dsn, copies-1)
	return copies * joins
}

// capturedPlan is the analysis of a captured plan under the settings that it was captured with.
func capturedPlan(b *testing.B, path string) store.Analysis {
	b.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	archive := txtar.Parse(text)
	a := store.Analysis{
		Upstream: "hive", HiveVersion: "4.0.1", Fingerprint: filepath.Base(path), Database: "golden", Cause: store.CauseFirst, ExplainedAt: time.Now(),
		PlanText: string(archive.Files[0].Data), Settings: map[string]string{},
	}
	for line := range strings.Lines(string(archive.Comment)) {
		if name, value, ok := strings.Cut(strings.TrimPrefix(strings.Trim(line, ";\n"), "SET "), "="); ok && strings.HasPrefix(line, "SET ") {
			a.Settings[name] = value
		}
	}
	plan, err := explain.Parse(a.PlanText)
	if err != nil {
		b.Fatal(err)
	}
	settings := advisor.NewSettings(a.Settings)
	for _, j := range advisor.Joins(plan) {
		a.Joins = append(a.Joins, advisor.Judge(j, settings))
		for _, in := range j.Inputs {
			a.Tables = append(a.Tables, in.Tables...)
		}
	}
	return a
}
