package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// BenchmarkStore reads each report of a busy installation as `hs2proxy report` does, then deletes what is older than six of its seven
// days: first the hours, as the proxy does every hour, then a day at once, as after a pause.
func BenchmarkStore(b *testing.B) {
	size := storetest.BenchSize(b)
	dsn := storetest.DSN(b)
	start := time.Now()
	if err := storetest.Fill(b.Context(), dsn, size); err != nil {
		b.Fatal(err)
	}
	filled := time.Now()
	b.Logf("%d tables and %d statements a day for %d days, filled in %v", size.Tables, size.Statements, size.Days, filled.Sub(start).Round(time.Second))
	now := filled
	s, err := store.Open(b.Context(), dsn, store.Options{StatementTimeout: 10 * time.Minute, Now: func() time.Time { return now }})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	reports, err := s.Reports(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range reports {
		b.Run(r.Name, func(b *testing.B) { benchReport(b, s, r.Name) })
	}
	// The week began when the fill did, at most.
	now = start.Add(-24 * time.Hour)
	for _, step := range []time.Duration{time.Hour, 24 * time.Hour} {
		b.Run(fmt.Sprintf("retention/hours=%g", step.Hours()), func(b *testing.B) {
			var rows int64
			for b.Loop() {
				now = now.Add(step)
				deleted, err := s.Retention(b.Context(), keep(6*24*time.Hour))
				if err != nil {
					b.Fatal(err)
				}
				rows += deleted["statements"]
			}
			b.ReportMetric(float64(rows)/float64(b.N), "statements/op")
		})
	}
}

func keep(d time.Duration) store.Policy {
	return store.Policy{Statements: d, Sessions: d, Plans: 30 * d, Stats: 30 * d, Findings: 30 * d, Refreshes: 30 * d}
}

func benchReport(b *testing.B, s *store.Store, name string) {
	var rows int
	took := make([]time.Duration, 0, 16)
	for b.Loop() {
		began := time.Now()
		t, err := s.Report(b.Context(), name)
		if err != nil {
			b.Fatal(err)
		}
		took, rows = append(took, time.Since(began)), len(t.Rows)
	}
	b.ReportMetric(slices.Max(took).Seconds(), "max-s/op")
	b.ReportMetric(float64(rows), "rows")
}
