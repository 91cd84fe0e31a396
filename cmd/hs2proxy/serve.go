package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/app"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/version"
)

type serveCmd struct {
	configFlags
	Listen   string `help:"Address to listen on, in place of the configuration's." placeholder:"HOST:PORT"`
	Upstream string `help:"HiveServer2, in place of the configuration's." placeholder:"HOST:PORT"`
}

// Run relays until SIGTERM or SIGINT, then drains.
func (c serveCmd) Run(ctx context.Context) error {
	cfg, err := c.load()
	if err != nil {
		return err
	}
	if c.Listen != "" {
		cfg.Listen = c.Listen
	}
	if c.Upstream != "" {
		cfg.Upstream.Address = c.Upstream
	}
	if err := cfg.Validate(); err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	log := newLogger(cfg.Log)
	a, err := app.New(ctx, cfg, log)
	if err != nil {
		return err
	}
	if err := a.Start(ctx); err != nil {
		return err
	}
	log.Info().Str("version", version.String()).Msg("started")
	select {
	case <-ctx.Done():
		log.Info().Dur("timeout", cfg.Relay.DrainTimeout).Msg("stopping: no new connections; running ones may finish")
	case err = <-a.Failed():
		log.Error().Err(err).Msg("accepting connections failed; stopping")
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.Relay.DrainTimeout)
	defer cancel()
	if serr := a.Shutdown(drain); serr != nil && err == nil {
		log.Warn().Err(serr).Msg("stopped with connections cut")
	}
	return err
}

func newLogger(c config.Log) zerolog.Logger {
	level, err := zerolog.ParseLevel(c.Level)
	if err != nil { // Validate has refused it before
		level = zerolog.InfoLevel
	}
	zerolog.DurationFieldUnit = time.Second
	zerolog.TimeFieldFormat = time.RFC3339Nano
	if c.Format == "console" {
		return zerolog.New(zerolog.ConsoleWriter{Out: os.Stderr, TimeFormat: time.TimeOnly, NoColor: !terminal(os.Stderr)}).Level(level).With().Timestamp().Logger()
	}
	return zerolog.New(os.Stderr).Level(level).With().Timestamp().Logger()
}
