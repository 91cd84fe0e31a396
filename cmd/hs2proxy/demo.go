package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/app"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/sample"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store/localpg"
)

type demoCmd struct {
	Keep    bool          `help:"Leave everything running at the end, to look around; Ctrl-C ends it."`
	Timeout time.Duration `default:"20m" help:"Give up after this long (the first run downloads Hive)."`
	Verbose bool          `short:"v" help:"Show the proxy's own log."`
}

// Run shows the main job, start to end.
func (c demoCmd) Run(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	d := &demo{out: os.Stdout, db: sample.Database, log: zerolog.Nop()}
	if c.Verbose {
		d.log = newLogger(config.Log{Level: "info", Format: "console"})
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	if err := d.start(ctx); err != nil {
		return err
	}
	if err := d.show(ctx); err != nil {
		return err
	}
	if !c.Keep {
		return nil
	}
	fmt.Fprintf(d.out, "\nproxy       jdbc:hive2://%s/%s   (any user and password)\nHiveServer2 jdbc:hive2://%s\nPostgres    %s\nCtrl-C ends it.\n",
		d.proxy.Addr(), d.db, d.hive.Address(), d.postgres.DSN())
	<-ctx.Done()
	return nil
}

// demo is what runs meanwhile.
type demo struct {
	out  io.Writer
	db   string
	log  zerolog.Logger
	step *progress

	postgres *localpg.Server
	hive     *localhive.Server
	proxy    *app.App
}

func (d *demo) start(ctx context.Context) error {
	d.step = &progress{w: d.out}
	var err error
	d.step.begin("Postgres")
	if d.postgres, err = localpg.Start(ctx, localpg.Options{Progress: d.step.note}); err != nil {
		return d.step.failed(err)
	}
	d.step.done("ready")

	d.step.begin("HiveServer2 (Hive 4.0.1 on Tez, local mode)")
	cache, err := os.UserCacheDir()
	if err != nil {
		return d.step.failed(err)
	}
	d.hive, err = localhive.Start(ctx, localhive.Options{Dir: filepath.Join(cache, "hs2proxy", "demo-hive"), Progress: d.step.note})
	if err != nil {
		return d.step.failed(err)
	}
	d.step.done("ready at " + d.hive.Address())

	d.step.begin("hs2proxy")
	cfg := demoConfig(d.hive.Address(), d.postgres.DSN())
	if d.proxy, err = app.New(ctx, cfg, d.log); err != nil {
		return d.step.failed(err)
	}
	if err := d.proxy.Start(ctx); err != nil {
		d.proxy = nil
		return d.step.failed(err)
	}
	d.step.done("listening on " + d.proxy.Addr().String())
	return nil
}

// demoConfig is a production configuration with a nervous clock: statistics are believed for a second, and a schedule
// looks for stale ones every five.
func demoConfig(hive, dsn string) config.Config {
	cfg := config.Default()
	cfg.Listen, cfg.Admin.Listen = "127.0.0.1:0", ""
	cfg.Upstream.Name, cfg.Upstream.Address = "demo", hive
	cfg.Explain.Rate = 50
	cfg.Database.URL = dsn
	cfg.Stats.MaxAge = time.Second
	cfg.Stats.Refresh.Enabled = true
	cfg.Stats.Refresh.Schedules = []statscheck.Schedule{{Name: "demo", Cron: "@every 5s", Tables: []string{sample.Database + ".*"}}}
	return cfg
}

// stop ends what runs, in the reverse order.
func (d *demo) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	var errs []error
	if d.proxy != nil {
		errs = append(errs, d.proxy.Shutdown(ctx))
	}
	if d.hive != nil {
		errs = append(errs, d.hive.Stop(ctx))
	}
	if d.postgres != nil {
		errs = append(errs, d.postgres.Stop())
	}
	return errors.Join(errs...)
}
