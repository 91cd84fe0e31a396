package jobs_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/jobs"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

type withServer struct{ m *testing.M }

func (w withServer) Run() int { return storetest.Main(w.m) }

func TestMain(m *testing.M) { goleak.VerifyTestMain(withServer{m}) }

const upstream = "hive-a"

// proxy is one of several on a database: a client with a store and a worker of its own, whose refreshes do what the test says.
type proxy struct {
	*store.Store
	t      *testing.T
	client *jobs.Client
	worker *statscheck.Worker
	lease  time.Duration
	// run is one refresh; nil ends it at once.
	run func(ctx context.Context, r statscheck.Refresh) statscheck.Refresh
	// attempt stands before the worker; nil is the worker alone.
	attempt func(ctx context.Context) (time.Duration, error)
	fire    func(context.Context, statscheck.Fired) error
}

func (p *proxy) Claim(ctx context.Context) (statscheck.Refresh, bool, error) {
	r, err := p.ClaimRefresh(ctx, []string{upstream}, p.lease)
	if err != nil || r == nil {
		return statscheck.Refresh{}, false, err
	}
	return *r, true, nil
}

func (p *proxy) Due(ctx context.Context) (time.Duration, bool, error) {
	return p.RefreshDue(ctx, []string{upstream})
}

func (p *proxy) Finish(ctx context.Context, r statscheck.Refresh) error {
	return p.FinishRefresh(ctx, r)
}
func (p *proxy) Abandon(statscheck.Refresh) {}

func (p *proxy) Run(ctx context.Context, r statscheck.Refresh) statscheck.Refresh {
	if p.run == nil {
		return done(r)
	}
	return p.run(ctx, r)
}

func done(r statscheck.Refresh) statscheck.Refresh {
	r.State, r.Effect, r.EndedAt = statscheck.RefreshDone, statscheck.EffectNoChange, time.Now()
	return r
}

// until blocks a refresh until a channel is closed or its context ends, as an ANALYZE does.
func until(ctx context.Context, r statscheck.Refresh, end <-chan struct{}) statscheck.Refresh {
	select {
	case <-end:
		return done(r)
	case <-ctx.Done():
		r.State, r.Error = statscheck.RefreshRequested, statscheck.ErrInterrupted.Error()
		return r
	}
}

// open adds a proxy to a database; what it runs is to be set before it starts.
func open(t *testing.T, dsn, name string, change func(*jobs.Config)) *proxy {
	t.Helper()
	s, err := store.Open(t.Context(), dsn, store.Options{Instance: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	p := &proxy{Store: s, t: t, lease: time.Minute}
	p.worker = statscheck.NewWorker(statscheck.WorkerConfig{BusyPause: 50 * time.Millisecond}, p, p, zerolog.Nop())
	key, err := s.UpstreamKey(t.Context(), upstream)
	if err != nil {
		t.Fatal(err)
	}
	cfg := jobs.Config{
		Upstream: key, Concurrency: 1, AttemptTimeout: time.Hour, Stranded: 2 * time.Minute, Waiting: s.WaitingRefreshes, Log: zerolog.Nop(),
		Attempt: func(ctx context.Context) (time.Duration, error) {
			if p.attempt != nil {
				return p.attempt(ctx)
			}
			return p.worker.Work(ctx)
		},
		Fire: func(ctx context.Context, f statscheck.Fired) error { return p.fire(ctx, f) },
	}
	if change != nil {
		change(&cfg)
	}
	if p.client, err = jobs.New(s.Pool(), cfg); err != nil {
		t.Fatal(err)
	}
	return p
}

// start starts the client, which ends with the test.
func (p *proxy) start() {
	p.t.Helper()
	p.ok(p.client.Start(p.t.Context()))
	p.t.Cleanup(p.stop)
}

func (p *proxy) stop() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p.ok(p.client.Stop(ctx))
}

func (p *proxy) ok(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *proxy) announce() {
	p.t.Helper()
	p.ok(p.client.Announce(p.t.Context()))
}

// request asks for a refresh: as a schedule where there is no priority, else as a person.
func (p *proxy) request(table string, priority *float64) int64 {
	p.t.Helper()
	r := store.RefreshRequest{Upstream: upstream, Table: "shop." + table, Mode: statscheck.ModeBasic, RequestedBy: "ann", Reason: "test", Priority: priority}
	if priority == nil {
		r.RequestedBy, r.Schedule, r.WindowStart = "schedule nightly", "nightly", time.Now()
	}
	id, _, err := p.RequestRefresh(p.t.Context(), r)
	p.ok(err)
	return id
}

func (p *proxy) state(id int64) statscheck.RefreshState {
	p.t.Helper()
	r, err := p.Refresh(p.t.Context(), id)
	p.ok(err)
	return r.State
}

// one reads a single text.
func (p *proxy) one(sql string, args ...any) (out string) {
	p.t.Helper()
	rows, err := p.Pool().Query(p.t.Context(), "SELECT coalesce(("+sql+")::text, '')", args...)
	p.ok(err)
	out, err = pgx.CollectOneRow(rows, pgx.RowTo[string])
	p.ok(err)
	return out
}

func (p *proxy) exec(sql string, args ...any) {
	p.t.Helper()
	_, err := p.Pool().Exec(p.t.Context(), sql, args...)
	p.ok(err)
}

// eventually waits for a condition.
func (p *proxy) eventually(what string, met func() bool) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !met() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			p.t.Fatalf("%s has not come; jobs: %s", what, p.one(`SELECT jsonb_agg(to_jsonb(j) - 'unique_key') FROM hs2proxy.river_job j WHERE j.kind <> 'announce'`))
		}
	}
}

// list is appended to by several goroutines.
type list[T any] struct {
	mu  sync.Mutex
	all []T
}

func (l *list[T]) add(v T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, v)
}

func (l *list[T]) get() []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]T(nil), l.all...)
}
