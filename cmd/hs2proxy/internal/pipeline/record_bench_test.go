package pipeline

import (
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/store"
)

// BenchmarkRecord measures what the recorder does for a query from OpenSession to CloseSession whose plan is known, under as many
// settings as a server has.
func BenchmarkRecord(b *testing.B) {
	cache, err := NewCache(64, time.Hour, time.Now)
	if err != nil {
		b.Fatal(err)
	}
	samples, err := NewSamples(64)
	if err != nil {
		b.Fatal(err)
	}
	settings := map[string]string{}
	for _, s := range advisor.Catalogue() {
		settings[s.Name] = "true"
	}
	st := intercept.Statement{ID: "1", SQL: joinSQL, Info: hiveql.Parse(joinSQL), Database: "default", Settings: map[string]string{}, State: intercept.StateRunning}
	cache.Put(cacheKey(&st), &store.Analysis{Fingerprint: st.Info.Fingerprint, Database: st.Database, Settings: settings, ExplainedAt: time.Now()})
	var recorded int
	counters := &Counters{}
	r := NewRecorder(RecorderConfig{
		Analyzer: &Analyzer{}, Cache: cache, Samples: samples, Record: func(Record) { recorded++ }, Log: quiet(),
	}, counters)
	session := intercept.Session{User: "bench", Database: "default", OpenedAt: time.Now()}
	b.ReportAllocs()
	for b.Loop() {
		start, end := st, st
		end.State = intercept.StateFinished
		r.event(intercept.Event{Kind: intercept.SessionOpened, Session: &session})
		r.event(intercept.Event{Kind: intercept.StatementStarted, Session: &session, Statement: &start})
		r.event(intercept.Event{Kind: intercept.StatementEnded, Session: &session, Statement: &end})
		r.event(intercept.Event{Kind: intercept.SessionClosed, Session: &session})
	}
	if recorded != 3*b.N || counters.Reused.Load() != int64(b.N) {
		b.Fatalf("%d records, %d reused in %d cycles", recorded, counters.Reused.Load(), b.N)
	}
}
