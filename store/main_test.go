package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

type withServer struct{ m *testing.M }

func (w withServer) Run() int { return storetest.Main(w.m) }

func TestMain(m *testing.M) { goleak.VerifyTestMain(withServer{m}) }

// t0 is a fixed moment within the last week, so that what reports count of seven days is there.
var t0 = time.Now().UTC().Truncate(time.Hour).Add(-24 * time.Hour)

// fixture is a store on a database of its own, with a plain connection to look into it.
type fixture struct {
	*store.Store
	t   *testing.T
	dsn string
	db  *pgx.Conn
	now time.Time
}

func newFixture(t *testing.T, o store.Options) *fixture {
	t.Helper()
	f := &fixture{t: t, dsn: storetest.DSN(t), now: t0}
	if o.Now == nil {
		o.Now = func() time.Time { return f.now }
	}
	f.Store = f.open(o)
	f.db = f.connect(f.dsn)
	return f
}

func (f *fixture) open(o store.Options) *store.Store {
	f.t.Helper()
	s, err := store.Open(f.t.Context(), f.dsn, o)
	f.ok(err)
	f.t.Cleanup(s.Close)
	return s
}

func (f *fixture) connect(dsn string) *pgx.Conn {
	f.t.Helper()
	c, err := pgx.Connect(f.t.Context(), dsn)
	f.ok(err)
	f.t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func (f *fixture) ok(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// one reads a single value as text; "∅" for NULL, "-" for no row.
func (f *fixture) one(sql string, args ...any) string {
	f.t.Helper()
	rows, err := f.db.Query(f.t.Context(), "SELECT coalesce(("+sql+")::text, '∅')", args...)
	f.ok(err)
	v, err := pgx.CollectOneRow(rows, pgx.RowTo[string])
	f.ok(err)
	return v
}

func (f *fixture) want(want, sql string, args ...any) {
	f.t.Helper()
	if got := f.one(sql, args...); got != want {
		f.t.Errorf("%s\n got %s\nwant %s", sql, got, want)
	}
}

func (f *fixture) exec(sql string, args ...any) {
	f.t.Helper()
	_, err := f.db.Exec(f.t.Context(), sql, args...)
	f.ok(err)
}

// report reads a view as one map per row.
func (f *fixture) report(name string) []map[string]any {
	f.t.Helper()
	r, err := f.Report(f.t.Context(), name)
	f.ok(err)
	out := make([]map[string]any, len(r.Rows))
	for i, row := range r.Rows {
		out[i] = map[string]any{}
		for c, v := range row {
			out[i][r.Columns[c]] = v
		}
	}
	return out
}

func session(upstream string) intercept.Session {
	return intercept.Session{
		Handle: intercept.SessionHandle{GUID: [16]byte(uuid.New()), Secret: [16]byte([]byte("SECRETSECRETSECR"))}, Upstream: upstream, User: "ana",
		ClientAddr: "10.0.0.7:5123", Auth: "SASL PLAIN", ClientProtocol: 10, Database: "shop", OpenedAt: t0,
		Configuration: map[string]string{"use:database": "shop", "set:hiveconf:hive.execution.engine": "tez", "my.password": "hunter2"},
		Settings:      map[string]string{"hive.auto.convert.join": "true", "fs.s3a.access.key": "AKIAHUNTER2"},
	}
}

func statement(s intercept.Session, sql, fingerprint string, at time.Time) intercept.Statement {
	return intercept.Statement{
		ID: uuid.Must(uuid.NewV7()).String(), SessionID: s.Handle.ID(), OperationID: uuid.NewString(), SQL: sql,
		Info:     hiveql.Info{Kind: hiveql.KindSelect, Explainable: true, Fingerprint: fingerprint, Normalized: "SELECT … " + fingerprint},
		Database: "shop", StartedAt: at, State: intercept.StateRunning,
	}
}

func ended(st intercept.Statement, state intercept.State, took time.Duration) intercept.Statement {
	st.State, st.EndedAt = state, st.StartedAt.Add(took)
	return st
}

func ptr[T any](v T) *T { return &v }

// verdict is a join of sales with a dimension table whose hash table takes small bytes.
func verdict(strategy advisor.Strategy, small int64) advisor.JoinVerdict {
	big := 0
	if strategy == advisor.MergeJoin {
		big = -1
	}
	return advisor.JoinVerdict{
		Join: advisor.Join{
			OperatorID: "MAPJOIN_25", Vertex: "Map 1", Strategy: strategy, Conditions: []advisor.Condition{{Type: advisor.Inner, Left: 0, Right: 1}},
			BigTable: big, OutputRows: 1000, OutputBytes: 64000,
			Inputs: []advisor.Input{
				{
					Position: 0, Tables: []string{"shop.sales"}, Alias: "s", Rows: 100000, DataSize: 8000000, BasicStats: "COMPLETE", ColumnStats: "COMPLETE",
					Keys: []advisor.Key{{Expr: "item_id (type: bigint)", Type: "bigint", Table: "shop.sales", Column: "item_id", NDV: ptr(int64(500))}},
				},
				{
					Position: 1, Tables: []string{"shop.items"}, Alias: "i", Rows: small / 10, DataSize: small, BasicStats: "COMPLETE", ColumnStats: "PARTIAL",
					Keys: []advisor.Key{{Expr: "concat(id, 'hunter2')", Type: "bigint", Table: "shop.items", Column: "id"}},
				},
			},
		},
		Decision: advisor.Decision{
			Strategy: strategy, BigTable: big, Budget: 10000000, OnlineDataSizes: []int64{9000000, small},
			Attempts: []advisor.Attempt{{Strategy: advisor.MapJoin, Check: "size", OK: strategy == advisor.MapJoin, Left: &small, Right: ptr(int64(10000000))}},
			Reason:   fmt.Sprintf("%d bytes against a budget of 10000000", small), Margin: &advisor.Margin{Factor: 10000000 / float64(small), Next: advisor.MergeJoin},
			Uncertain: []string{"node count"},
		},
		Verdict: advisor.Verdict{Planned: strategy, Simulated: strategy, Agrees: true},
	}
}

func analysis(upstream, fingerprint string, at time.Time, joins ...advisor.JoinVerdict) *store.Analysis {
	return &store.Analysis{
		Upstream: upstream, HiveVersion: "4.0.1", Fingerprint: fingerprint, Database: "shop", PlanText: "STAGE DEPENDENCIES: 'hunter2'",
		Settings: map[string]string{"hive.auto.convert.join.noconditionaltask.size": "10000000"}, Joins: joins,
		Tables: []string{"shop.items", "shop.sales"}, ExplainedAt: at, Duration: 80 * time.Millisecond, Cause: store.CauseFirst,
	}
}

// SaveStaleness records what holds for a table, as a check of it and of all its partitions does.
func (f *fixture) SaveStaleness(ctx context.Context, upstream, table string, holds []statscheck.Staleness, health statscheck.Health) error {
	c := store.Checked{Holds: holds, Health: health, By: "a check", All: true}
	return f.SaveChecked(ctx, upstream, table, c)
}
