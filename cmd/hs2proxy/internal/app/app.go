package app

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/admin"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/listen"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/spool"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/store"
)

// cacheSize is how many queries' plans and samples are remembered.
const cacheSize = 8192

// settingsMaxAge is how long the server's own settings are believed.
const settingsMaxAge = 30 * time.Minute

// App is one proxy. New makes it, Start runs it, Shutdown ends it; each once.
type App struct {
	cfg config.Config
	log zerolog.Logger
	// reload holds the configuration that runs; cfg is the one New was given.
	reload *reloader
	redact *store.Redactor

	listener *listen.Listener
	door     door
	way      *Way
	server   *intercept.Server
	queue    *intercept.Queue
	counters *pipeline.Counters
	metrics  *admin.Metrics
	admin    *admin.Server // nil: the port is off

	explainer *pipeline.Explainer
	facts     *pipeline.Server
	recorder  *pipeline.Recorder
	writer    *pipeline.Writer
	store     *store.Store
	spool     *spool.Spool // nil: records wait in memory only
	watch     *pipeline.Watch
	refresher *refresher
	replanner *pipeline.Replanner
	counter   *rowCounter // nil: no EXPLAIN ANALYZE on a schedule

	ready      chan struct{} // closed when Postgres has the schema
	background sync.WaitGroup
	stopOthers context.CancelFunc
	// closeAnalyzer closes our own connections to HiveServer2.
	closeAnalyzer func()
	serveErr      chan error
}

// New checks the configuration and builds everything; nothing is dialled but Postgres lazily, and nothing listens yet.
func New(ctx context.Context, cfg config.Config, log zerolog.Logger) (*App, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	a := &App{cfg: cfg, log: log, counters: &pipeline.Counters{}, metrics: admin.NewMetrics(), ready: make(chan struct{}), serveErr: make(chan error, 1)}
	a.queue = intercept.NewQueue(cfg.Relay.QueueSize)
	var err error
	if a.redact, err = store.NewRedactor(cfg.Database.Redact); err != nil {
		return nil, fmt.Errorf("database.%w", err)
	}
	if a.door, err = newDoor(cfg); err != nil {
		return nil, err
	}
	if a.way, err = NewWay(ctx, cfg, log); err != nil {
		return nil, err
	}
	built := false
	defer func() {
		if !built {
			a.closeAll()
		}
	}()
	if a.server, err = newRelay(cfg, a.way, a.door, a.queue, log); err != nil {
		return nil, err
	}
	grown := a.server.Rerouted
	a.way.grown.Store(&grown)

	cache, err := pipeline.NewCache(cacheSize, cfg.Explain.MaxAge, time.Now)
	if err != nil {
		return nil, err
	}
	samples, err := pipeline.NewSamples(cacheSize)
	if err != nil {
		return nil, err
	}
	explain := ExplainConfig(cfg, a.way.Login)
	explain.Observe = a.metrics.Explained
	var analyzer *pipeline.Analyzer
	analyzer, a.closeAnalyzer = NewAnalyzer(cfg, explain, log)
	a.explainer, a.facts = analyzer.Explainer, analyzer.Server
	if cfg.Database.URL != "" {
		if a.store, err = store.Open(ctx, cfg.Database.URL, store.Options{
			KeepLiterals: cfg.Database.KeepLiterals, AsyncCommit: cfg.Database.AsyncCommit, Redact: a.redact, RefreshesPerUpstream: cfg.Stats.Refresh.Concurrency, Logger: log,
		}); err != nil {
			return nil, fmt.Errorf("database.url: %w", err)
		}
		if err := a.openSpool(); err != nil {
			return nil, err
		}
		if cfg.Stats.Enabled {
			a.watch = pipeline.NewWatch(cfg.Upstream.Name, analyzer.Tables, cache, a.store, cfg.Stats.Thresholds, log, a.counters, time.Now)
			a.watch.UseSys(a.sysViews(explain.Login))
			analyzer.Known = a.watch
			a.replanner = &pipeline.Replanner{Analyzer: analyzer, Samples: samples, Cache: cache, Records: a.store, Log: log}
		}
		if cfg.Actuals.ExplainAnalyze.Enabled {
			if a.counter, err = newRowCounter(cfg, analyzer, samples, a.store, log); err != nil {
				return nil, err
			}
		}
		if cfg.Stats.Refresh.Enabled {
			if a.refresher, err = newRefresher(cfg, a.way.Login, a.store, a.watch, a.replanner, log); err != nil {
				return nil, err
			}
			a.refresher.ended = a.metrics.Refreshed
		}
	}
	recorderConfig := pipeline.RecorderConfig{
		Events: a.queue.Events(), Analyzer: analyzer, Cache: cache, Samples: samples, Workers: cfg.Explain.Concurrency, Record: a.record, Log: log,
	}
	if a.watch != nil {
		recorderConfig.Judged = a.watch.Judges
	}
	a.recorder = pipeline.NewRecorder(recorderConfig, a.counters)
	a.recorder.Silence(!cfg.Explain.Enabled)
	a.reload = newReloader(cfg, a.parts(cache)...)
	if err := a.newAdmin(); err != nil {
		return nil, err
	}
	built = true
	return a, nil
}

// record hands a record to the writer, or to the log where there is no database.
func (a *App) record(r pipeline.Record) {
	if a.writer != nil {
		a.writer.Add(r)
		return
	}
	if o := r.Observation; o != nil && pipeline.Logged(*o) {
		pipeline.LogObservation(a.log, o.Redacted(a.cfg.Database.KeepLiterals, a.redact))
	}
}

// Start listens and begins to relay. Postgres may be away: the schema is brought up to date when it is there.
func (a *App) Start(ctx context.Context) error {
	l, err := listen.Open(ctx, a.cfg.Listen, a.cfg.Relay.ReusePort)
	if err != nil {
		a.closeAll()
		return fmt.Errorf("listen: %w", err)
	}
	a.listener = l

	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	a.stopOthers = stop
	if a.store != nil {
		a.background.Go(func() { a.prepare(background, a.ready) })
		a.writer = a.startWriter(gate{a.store, a.ready})
		if a.watch != nil {
			a.watch.Start()
		}
		if a.refresher != nil {
			a.whenReady(background, a.refresher.run)
		}
		if a.counter != nil {
			a.whenReady(background, a.counter.run)
		}
		a.whenReady(background, a.keep)
		if a.watch != nil {
			a.whenReady(background, a.prove)
		}
	}
	a.recorder.Start()
	a.background.Go(func() {
		err := a.server.Serve(context.WithoutCancel(ctx), l)
		a.serveErr <- err
	})
	if a.admin != nil {
		a.admin.Start(ctx)
	}
	a.log.Info().Stringer("listen", l.Addr()).Stringer("upstream", a.cfg.Upstream).
		Bool("database", a.store != nil).Bool("refresh", a.refresher != nil).Msg("listening")
	return nil
}

// whenReady runs work in the background once Postgres has the schema.
func (a *App) whenReady(ctx context.Context, work func(context.Context)) {
	a.background.Go(func() {
		select {
		case <-a.ready:
			work(ctx)
		case <-ctx.Done():
		}
	})
}

func (a *App) recorded(o store.Observation) {
	if a.watch != nil {
		a.watch.Recorded(o)
	}
}

// Addr is where clients connect.
func (a *App) Addr() net.Addr { return a.listener.Addr() }

// Failed tells of a relay that stopped by itself.
func (a *App) Failed() <-chan error { return a.serveErr }

// Store is the store, nil without a database.
func (a *App) Store() *store.Store { return a.store }

// Counters are the pipeline's.
func (a *App) Counters() *pipeline.Counters { return a.counters }

// Shutdown stops in order: accepting, relays, queue, analyses, writes, refreshes, connections. Connections have until ctx
// ends; what the pipeline still holds then gets a few seconds more. The admin port answers until the end.
func (a *App) Shutdown(ctx context.Context) error {
	defer a.stopAdmin(ctx)
	if err := a.listener.Yield(ctx); err != nil {
		a.log.Info().Err(err).Msg("no other process takes new connections; they are refused from now on")
	}
	reported := a.reportDrain(ctx)
	err := a.server.Shutdown(ctx)
	reported()

	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	a.recorder.Stop(rest)
	if a.writer != nil {
		if left := a.writer.Stop(rest); left > 0 {
			a.log.Error().Int("records", left).Msg("Postgres did not take every record before the end")
		}
		if n := a.Spooled(); n > 0 {
			a.log.Warn().Int64("records", n).Msg("Postgres has not taken the spool; the next start replays it")
		}
	}
	a.stopOthers()
	a.background.Wait()
	if a.watch != nil {
		a.watch.Stop()
	}
	a.closeAll()
	stats := a.server.Stats()
	a.log.Info().Int64("connections", stats.Accepted).Int64("recorded", a.counters.Recorded.Load()).
		Int64("explained", a.counters.Explained.Load()).Msg("stopped")
	if err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	return nil
}

func (a *App) closeAll() {
	if a.closeAnalyzer != nil {
		a.closeAnalyzer()
	}
	a.way.Close()
	a.closeSpool()
	if a.store != nil {
		a.store.Close()
	}
}

// NewAnalyzer wires an analyzer with connections of its own, which the returned function closes.
func NewAnalyzer(cfg config.Config, explain pipeline.ExplainConfig, log zerolog.Logger) (*pipeline.Analyzer, func()) {
	explainer := pipeline.NewExplainer(explain, log)
	service := pipeline.NewService(explain.Login, nil)
	service.Guard = explainer.Guard
	a := &pipeline.Analyzer{
		Upstream: cfg.Upstream.Name, LLAPNodes: cfg.Upstream.LLAPNodes, Explainer: explainer,
		Release: cfg.Upstream.Release, Profiles: cfg.Releases,
		Server: pipeline.NewServer(service, settingsMaxAge, time.Now), Tables: pipeline.NewTables(service, cfg.Stats.MaxAge, time.Now), Log: log,
	}
	return a, func() {
		explainer.Close()
		service.Close()
	}
}

// ExplainConfig is what explaining may cost.
func ExplainConfig(cfg config.Config, login pipeline.Login) pipeline.ExplainConfig {
	return pipeline.ExplainConfig{
		Login: login, Timeout: cfg.Explain.Timeout, Concurrency: cfg.Explain.Concurrency, Rate: cfg.Explain.Rate,
		BreakerFailures: cfg.Explain.BreakerFailures, BreakerPause: cfg.Explain.BreakerPause, Witness: cfg.Explain.Witness,
	}
}
