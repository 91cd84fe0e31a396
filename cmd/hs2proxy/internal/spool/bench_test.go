package spool

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/store"
)

// benchRecord is a join of three tables with its analysis.
func benchRecord() pipeline.Record {
	r := record(1, 400)
	input := advisor.Input{
		Tables: []string{"sales.orders"}, BasicStats: "COMPLETE", ColumnStats: "COMPLETE",
		Keys:    []advisor.Key{{Expr: "customer_id (type: bigint)", Type: "bigint", Table: "sales.orders", Column: "customer_id"}},
		Columns: []advisor.Column{{Name: "_col0", Type: "bigint"}, {Name: "_col1", Type: "string"}, {Name: "_col2", Type: "double"}},
	}
	join := advisor.JoinVerdict{Join: advisor.Join{Vertex: "Map 1", Inputs: []advisor.Input{input, input}}}
	join.Decision.Attempts = make([]advisor.Attempt, 5)
	r.Observation.Analysis = &store.Analysis{
		Fingerprint: "0123456789abcdef", Joins: []advisor.JoinVerdict{join, join}, Tables: []string{"sales.orders", "sales.customers"},
		Settings: map[string]string{"hive.auto.convert.join": "true", "hive.execution.engine": "tez"},
	}
	return r
}

func BenchmarkEncode(b *testing.B) {
	r := benchRecord()
	n := 0
	for b.Loop() {
		text, err := encode(r, false, nil)
		if err != nil {
			b.Fatal(err)
		}
		n = len(text)
	}
	b.ReportMetric(float64(n), "B/record")
}

// BenchmarkAppend is one batch, encoded, written and synced.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			s := benchSpool(b)
			batch := make([]pipeline.Record, size)
			for i := range batch {
				batch[i] = benchRecord()
			}
			for b.Loop() {
				if _, err := s.Append(batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size*b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// BenchmarkReplay is reading and forgetting one record.
func BenchmarkReplay(b *testing.B) {
	s := benchSpool(b)
	batch := make([]pipeline.Record, 4096)
	for i := range batch {
		batch[i] = benchRecord()
	}
	for b.Loop() {
		number, _, err := s.Front(1)
		if err == nil && number == 0 {
			b.StopTimer()
			if _, err := s.Append(batch); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			continue
		}
		if err != nil || s.Pop(number) != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen finds the end of a spool a process left, with a full last segment.
func BenchmarkOpen(b *testing.B) {
	dir := newDir(b)
	l := openLog(b, dir, 256<<20)
	payload := []byte(strings.Repeat("x", 4<<10))
	for range 4000 {
		if _, err := l.Append([][]byte{payload, payload}); err != nil {
			b.Fatal(err)
		}
	}
	closeLog(b, l)
	for b.Loop() {
		closeLog(b, openLog(b, dir, 256<<20))
	}
}

func benchSpool(b *testing.B) *Spool {
	b.Helper()
	s, err := Open(Options{Dir: newDir(b), Limit: 256 << 20, Log: zerolog.Nop(), Counters: &pipeline.Counters{}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}
