package app

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/spool"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

const (
	// statementsPerOp is how many statements one operation of the benchmark is, in ten sessions.
	statementsPerOp = 500
	// benchWaiting bounds the statements on their way, far below what the writer would put on disk for being slow.
	benchWaiting = 1000
	benchQueries = 1024
)

// BenchmarkSustainedStatements brings statements of a busy installation from the relay's queue into Postgres by the way they take in
// production: recorder, writer with its spool, store. Most are joins whose plans are on record, one in twenty of them is new to the
// database, and every tenth statement is a counted INSERT.
func BenchmarkSustainedStatements(b *testing.B) {
	size := storetest.BenchSize(b)
	dsn := storetest.DSN(b)
	if err := storetest.Fill(b.Context(), dsn, size); err != nil {
		b.Fatal(err)
	}
	s, err := store.Open(b.Context(), dsn, store.Options{AsyncCommit: os.Getenv("HS2PROXY_BENCH_ASYNC_COMMIT") == "1"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	r := newRecording(b, s)
	for i := range benchQueries {
		if i%20 == 0 {
			continue
		}
		if err := s.RecordPlan(b.Context(), *knownJoin(r.queries[i].Fingerprint, i, catalogueDefaults())); err != nil {
			b.Fatal(err)
		}
	}
	db, err := pgx.Connect(b.Context(), dsn)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close(context.WithoutCancel(b.Context())) })
	n, start := 0, time.Now()
	own, theirs := cpuSeconds("self"), backendSeconds(b, db)
	for b.Loop() { // the function is called once: filling takes minutes
		for range statementsPerOp / 50 {
			n += r.session(b, size.Tables)
		}
	}
	r.wait(b, n)
	b.ReportMetric(float64(n)/time.Since(start).Seconds(), "statements/s")
	b.ReportMetric(1e3*(cpuSeconds("self")-own)/float64(n), "proxy-ms/statement")
	if after := backendSeconds(b, db); after > theirs {
		b.ReportMetric(1e3*(after-theirs)/float64(n), "postgres-ms/statement")
	}
	r.stop(b)
	c := r.counters
	b.ReportMetric(float64(c.Spooled.Load()), "spooled")
	if c.Reused.Load()+c.Skipped.Load() == 0 || c.RecordDropped.Load()+c.RecordFailed.Load() > 0 || r.queue.Dropped() > 0 {
		b.Fatalf("%d reused, %d dropped, %d refused, %d events lost",
			c.Reused.Load(), c.RecordDropped.Load(), c.RecordFailed.Load(), r.queue.Dropped())
	}
}

// cpuSeconds is the time that a process of this machine had on its processors; 0 where that cannot be told.
func cpuSeconds(process string) float64 {
	const ticks = 100 // a second, in /proc (proc(5))
	stat, err := os.ReadFile(filepath.Join("/proc", process, "stat"))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticks
}

// backendSeconds is cpuSeconds of the store's connections together; 0 for a server on another machine.
func backendSeconds(b *testing.B, db *pgx.Conn) (sum float64) {
	b.Helper()
	rows, err := db.Query(b.Context(), `SELECT pid::text FROM pg_stat_activity WHERE application_name = 'hs2proxy' AND datname = current_database()`)
	if err != nil {
		b.Fatal(err)
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		b.Fatal(err)
	}
	for _, pid := range pids {
		sum += cpuSeconds(pid)
	}
	return sum
}

// recordingRig is the way of a statement from the queue to the store.
type recordingRig struct {
	queue    *intercept.Queue
	recorder *pipeline.Recorder
	writer   *pipeline.Writer
	counters *pipeline.Counters
	// room has an element for each statement on its way.
	room    chan struct{}
	queries []hiveql.Info
	texts   []string
}

func newRecording(b *testing.B, s *store.Store) *recordingRig {
	b.Helper()
	r := &recordingRig{queue: intercept.NewQueue(1 << 16), counters: &pipeline.Counters{}, room: make(chan struct{}, benchWaiting)}
	sp, err := spool.Open(spool.Options{Dir: filepath.Join(b.TempDir(), "spool"), Limit: 256 << 20, Log: zerolog.Nop(), Counters: r.counters})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := sp.Close(); err != nil {
			b.Error(err)
		}
	})
	cache, err := pipeline.NewCache(benchQueries, time.Hour, time.Now)
	if err != nil {
		b.Fatal(err)
	}
	samples, err := pipeline.NewSamples(benchQueries)
	if err != nil {
		b.Fatal(err)
	}
	r.writer = pipeline.StartSpooledWriter(s, sp, zerolog.Nop(), r.counters, func(store.Observation) { <-r.room })
	r.recorder = pipeline.NewRecorder(pipeline.RecorderConfig{
		Events: r.queue.Events(), Analyzer: &pipeline.Analyzer{}, Cache: cache, Samples: samples, Record: r.writer.Add, Log: zerolog.Nop(),
	}, r.counters)
	settings := catalogueDefaults()
	for i := range benchQueries {
		sql := fmt.Sprintf("SELECT a.id, sum(b.amount) FROM table_%d a JOIN table_%d b ON a.id = b.customer_id WHERE a.created > '2026-01-01' GROUP BY a.id", i, i+1)
		info := hiveql.Parse(sql)
		r.texts, r.queries = append(r.texts, sql), append(r.queries, info)
		cache.Put(info.Fingerprint+"\nsales\n", knownJoin(info.Fingerprint, i, settings))
	}
	r.recorder.Start()
	return r
}

func catalogueDefaults() map[string]string {
	settings := map[string]string{}
	for _, s := range advisor.Catalogue() {
		settings[s.Name] = s.Default
	}
	return settings
}

// knownJoin is what was found of a join of two tables.
func knownJoin(fingerprint string, i int, settings map[string]string) *store.Analysis {
	tables := []string{fmt.Sprintf("db%d.table_%d", i%50, i), fmt.Sprintf("db%d.table_%d", (i+1)%50, i+1)}
	join := advisor.JoinVerdict{
		Join: advisor.Join{
			OperatorID: "MAPJOIN_25", Vertex: "Map 1", Strategy: advisor.MapJoin, Conditions: []advisor.Condition{{Type: advisor.Inner, Left: 0, Right: 1}},
			Inputs: []advisor.Input{
				{Position: 0, Tables: tables[:1], Rows: 1e6, DataSize: 8e7, BasicStats: "COMPLETE", ColumnStats: "COMPLETE"},
				{Position: 1, Tables: tables[1:], Rows: 1e4, DataSize: 8e5, BasicStats: "COMPLETE", ColumnStats: "COMPLETE"},
			},
		},
		Decision: advisor.Decision{Strategy: advisor.MapJoin, Budget: 1e7, OnlineDataSizes: []int64{9e7, 9e5}, Reason: "900 KB against a budget of 10 MB"},
		Verdict:  advisor.Verdict{Planned: advisor.MapJoin, Simulated: advisor.MapJoin, Agrees: true},
	}
	return &store.Analysis{
		Upstream: "hive-1", HiveVersion: "4.0.1", Fingerprint: fingerprint, Database: "sales", Settings: settings, Joins: []advisor.JoinVerdict{join},
		Findings: []advisor.Finding{{
			Kind: "missing_statistics", Severity: "MEDIUM", Subject: tables[0], Summary: "no column statistics", Evidence: map[string]any{"table": tables[0]}, Advice: "ANALYZE",
		}},
		Tables: tables, ExplainedAt: time.Now(), Duration: 80 * time.Millisecond, Cause: store.CauseFirst,
	}
}

// session is one of fifty statements, of which popular ones come often.
func (r *recordingRig) session(b *testing.B, tables int) int {
	b.Helper()
	at := time.Now().UTC()
	s := intercept.Session{
		Handle: intercept.SessionHandle{GUID: [16]byte(uuid.New())}, Upstream: "hive-1", User: "ana", ClientAddr: "10.0.0.7:5123", Auth: "SASL PLAIN",
		ClientProtocol: 10, Database: "sales", OpenedAt: at,
	}
	offer := func(kind intercept.EventKind, st *intercept.Statement) {
		own := s
		r.queue.Offer(intercept.Event{Kind: kind, Session: &own, Statement: st})
	}
	offer(intercept.SessionOpened, nil)
	for i := range 50 {
		select {
		case r.room <- struct{}{}:
		case <-b.Context().Done():
			b.Fatal(b.Context().Err())
		}
		q := int(benchQueries * math.Pow(rand.Float64(), 3))
		st := intercept.Statement{
			ID: uuid.Must(uuid.NewV7()).String(), SessionID: s.Handle.ID(), OperationID: uuid.NewString(), SQL: r.texts[q], Database: "sales", StartedAt: at, State: intercept.StateRunning,
		}
		if i%10 == 9 {
			st.SQL = fmt.Sprintf("INSERT INTO db%d.table_%d VALUES (1, 'x')", q%50, q%tables)
		}
		ended := st
		ended.State, ended.EndedAt = intercept.StateFinished, at.Add(time.Second)
		if i%10 == 9 {
			rows := int64(1)
			ended.ModifiedRows = &rows
		}
		offer(intercept.StatementStarted, &st)
		offer(intercept.StatementEnded, &ended)
	}
	s.ClosedAt = at.Add(time.Minute)
	offer(intercept.SessionClosed, nil)
	return 50
}

// wait returns once all statements are recorded.
func (r *recordingRig) wait(b *testing.B, n int) {
	b.Helper()
	for range benchWaiting { // room for all others means that none is on its way
		select {
		case r.room <- struct{}{}:
		case <-b.Context().Done():
			b.Fatalf("of %d statements some were not recorded: %v", n, b.Context().Err())
		}
	}
}

func (r *recordingRig) stop(b *testing.B) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.Context()), time.Minute)
	defer cancel()
	r.recorder.Stop(ctx)
	if left := r.writer.Stop(ctx); left > 0 {
		b.Errorf("%d records were left", left)
	}
}
