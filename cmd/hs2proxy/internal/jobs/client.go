package jobs

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/migrations"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

const (
	// announceEvery is how often the elected leader looks for what waits, whatever else told of it.
	announceEvery = 30 * time.Second
	// rescueMargin is how much longer than its timeout a job may be running before River takes its proxy for gone. A refresh need not
	// wait for that: River has no sign of life of a running job, the refresh's lease has, and its end makes another attempt.
	rescueMargin = 10 * time.Minute
	// kept is how long River keeps ended jobs: long enough that no proxy, whatever its clock says, fires for a time that another has
	// done.
	kept = 24 * time.Hour
	// pollEvery bounds how late a job is noticed whose announcement was missed; where Postgres does not announce at all it is the rule.
	pollEvery = 2 * time.Second
	// callTimeout bounds a job that only reads and writes in Postgres.
	callTimeout = time.Minute
	// maxBackOff bounds the pause before a job is tried again that failed because Postgres was away.
	maxBackOff = time.Minute
	// fireWorkers is how many firings a proxy handles at a time.
	fireWorkers = 4
)

// Config is what a Client dispatches.
type Config struct {
	// Upstream is the key in hs2proxy.upstreams of the server that this proxy runs refreshes on, Concurrency how many at a time.
	Upstream    int64
	Concurrency int
	// AttemptTimeout ends an attempt at a refresh, everything before and after its ANALYZE included.
	AttemptTimeout time.Duration
	// Stranded is how long a proxy shows no sign of life before its jobs are replaced: a refresh's lease.
	Stranded time.Duration
	// PollOnly does without LISTEN, which a pooler between us and Postgres may not pass on.
	PollOnly bool
	// Attempt makes an attempt at the refresh that is next in turn; wait is how long to wait where none may run now though some wait.
	Attempt func(ctx context.Context) (wait time.Duration, err error)
	// Waiting are the attempts that no proxy is making.
	Waiting func(ctx context.Context) ([]store.WaitingRefresh, error)
	// Fire does what a firing of a schedule does.
	Fire func(ctx context.Context, f statscheck.Fired) error
	Log  zerolog.Logger
}

// Client is this proxy's part of the queue.
type Client struct {
	cfg   Config
	river *river.Client[pgx.Tx]

	mu struct {
		sync.Mutex
		pulse chan struct{} // closed and replaced when something may have changed
	}
}

// New returns a Client that is not started. River's tables must be there (store.Migrate).
func New(pool *pgxpool.Pool, cfg Config) (*Client, error) {
	c := &Client{cfg: cfg}
	c.mu.pulse = make(chan struct{})
	workers := river.NewWorkers()
	river.AddWorker(workers, &refreshWorker{client: c})
	river.AddWorker(workers, &fireWorker{client: c})
	river.AddWorker(workers, &announceWorker{client: c})
	var err error
	c.river, err = river.NewClient(riverpgxv5.New(pool), &river.Config{
		Schema: migrations.Schema, Logger: logger(cfg.Log), Workers: workers, PollOnly: cfg.PollOnly, FetchPollInterval: pollEvery,
		Queues: map[string]river.QueueConfig{
			refreshQueue(cfg.Upstream): {MaxWorkers: cfg.Concurrency},
			fireQueue(cfg.Upstream):    {MaxWorkers: fireWorkers},
			announceQueue:              {MaxWorkers: 1},
		},
		PeriodicJobs: []*river.PeriodicJob{river.NewPeriodicJob(river.PeriodicInterval(announceEvery),
			func() (river.JobArgs, *river.InsertOpts) { return announceArgs{}, nil }, &river.PeriodicJobOpts{ID: "announce", RunOnStart: true})},
		JobTimeout: callTimeout, RescueStuckJobsAfter: max(cfg.AttemptTimeout, callTimeout) + rescueMargin, RetryPolicy: backOff{},
		CompletedJobRetentionPeriod: kept, CancelledJobRetentionPeriod: kept, DiscardedJobRetentionPeriod: 7 * kept,
		// Only an owner may reindex, which proxies need not be, and the table is small.
		ReindexerIndexNames: []string{},
	})
	if err != nil {
		return nil, fmt.Errorf("the job queue: %w", err)
	}
	return c, nil
}

// Start begins to work, until Stop. It fails where Postgres does not answer or River's tables are missing; it may be tried again.
func (c *Client) Start(ctx context.Context) error {
	if err := c.river.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start the job queue: %w", err)
	}
	return nil
}

// Stop cancels what runs and waits for it until ctx ends; then it returns ctx's error. Refreshes that ran go back to the queue.
func (c *Client) Stop(ctx context.Context) error {
	if err := c.river.StopAndCancel(ctx); err != nil {
		return fmt.Errorf("stop the job queue: %w", err)
	}
	return nil
}

// pulse is closed when something may have changed since the call.
func (c *Client) pulse() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.pulse
}

func (c *Client) beat() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.mu.pulse)
	c.mu.pulse = make(chan struct{})
}
