package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/app"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/version"
	"github.com/hs2proxy/hs2proxy/store"
)

type serveCmd struct {
	configFlags
	Listen   string `help:"Address to listen on, in place of the configuration's." placeholder:"HOST:PORT"`
	Upstream string `help:"HiveServer2, or several with commas between them, in place of the configuration's." placeholder:"HOST:PORT"`
}

// Run relays until SIGTERM or SIGINT, then drains. SIGHUP has it read its configuration again.
func (c serveCmd) Run(ctx context.Context) error {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	cfg, err := c.configuration()
	if err != nil {
		return err
	}
	redact, err := store.NewRedactor(cfg.Database.Redact)
	if err != nil {
		return err
	}
	s := &serving{flags: c, redact: redact, log: redactedLogger(cfg.Log, redact), socket: os.Getenv("NOTIFY_SOCKET")}
	spareProcessor(&cfg.Relay)
	rarerCollection()
	if s.app, err = app.New(ctx, cfg, s.log); err != nil {
		return err
	}
	if err := s.app.Start(ctx); err != nil {
		return err
	}
	s.log.Info().Str("version", version.String()).Msg("started")
	s.notify(notifyReady)
	for {
		select {
		case <-hangup:
			s.reload()
			continue
		case <-ctx.Done():
			s.log.Info().Dur("timeout", s.app.Config().Relay.DrainTimeout).Msg("stopping: no new connections; running ones may finish")
		case err = <-s.app.Failed():
			s.log.Error().Err(err).Msg("accepting connections failed; stopping")
		}
		break
	}
	s.notify(notifyStopping)
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.app.Config().Relay.DrainTimeout)
	defer cancel()
	if serr := s.app.Shutdown(drain); serr != nil && err == nil {
		s.log.Warn().Err(serr).Msg("stopped with connections cut")
	}
	return err
}

// configuration is the file's, with the environment and then the flags over it, validated.
func (c serveCmd) configuration() (config.Config, error) {
	cfg, err := c.load()
	if err != nil {
		return cfg, err
	}
	if c.Listen != "" {
		cfg.Listen = c.Listen
	}
	if c.Upstream != "" {
		cfg.Upstream.SetServers(c.Upstream)
	}
	if err := cfg.Validate(); err != nil {
		return cfg, fmt.Errorf("configuration: %w", err)
	}
	return cfg, nil
}

// serving is a proxy that runs, with what a reload needs.
type serving struct {
	flags  serveCmd
	app    *app.App
	log    zerolog.Logger
	redact *store.Redactor // the log's
	socket string          // of systemd
}

// reload reads file, environment and flags again and applies what can be applied. A configuration that is not valid changes
// nothing.
func (s *serving) reload() {
	s.notify(notifyReloading)
	defer s.notify(notifyReady)
	next, err := s.flags.configuration()
	if err != nil {
		s.log.Error().Err(err).Msg("reload refused, nothing changes")
		return
	}
	if next.Relay.Loops == 0 { // as at the start
		next.Relay.Loops = s.app.Config().Relay.Loops
	}
	applied, restart, err := s.app.Reload(next)
	if err != nil {
		s.log.Error().Err(err).Msg("reload refused, nothing changes")
		return
	}
	if err := s.redact.Set(next.Database.Redact); err != nil { // Reload has taken it
		s.log.Error().Err(err).Msg("redaction of the log not changed")
	}
	setLevel(next.Log)
	for _, field := range restart {
		s.log.Warn().Str("field", field).Msg("reload: the field needs a restart; what it was before stays in force")
	}
	s.log.Info().Strs("changed", applied).Strs("need_restart", restart).Msg("reloaded")
}

func (s *serving) notify(state string) {
	if err := sdNotify(s.socket, state); err != nil {
		s.log.Warn().Err(err).Str("state", state).Msg("systemd not told")
	}
}
