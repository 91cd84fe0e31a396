package e2e

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/app"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// proxied is a HiveServer2, a proxy in front of it and a database behind it.
type proxied struct {
	hive  *localhive.Server
	proxy *app.App
	cfg   config.Config
}

func requireE2E(t *testing.T) {
	t.Helper()
	if os.Getenv("HS2PROXY_E2E") != "1" {
		t.Skip("set HS2PROXY_E2E=1 to run real clients through the proxy to a real HiveServer2")
	}
}

// startHive starts a HiveServer2 of the test's own.
func startHive(t *testing.T, o localhive.Options) *localhive.Server {
	t.Helper()
	requireE2E(t)
	o.Dir, o.Progress = t.TempDir(), func(s string) { t.Log(s) }
	hive, err := localhive.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hive.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return hive
}

// config is a proxy in front of a HiveServer2 without TLS, on a port of its own, with a database of its own.
func (p *proxied) config(t *testing.T) config.Config {
	t.Helper()
	cfg := config.Default()
	cfg.Listen, cfg.Admin.Listen = "127.0.0.1:0", ""
	cfg.Upstream.Address, cfg.Upstream.HTTPAddress = p.hive.Address(), p.hive.HTTPAddress()
	cfg.Service.Auth = string(p.hive.Auth())
	if p.hive.Auth() == localhive.AuthCustom {
		cfg.Service.User, cfg.Service.Password = "e2e", "e2e-secret"
	}
	cfg.Explain.Rate = 100
	cfg.Database.URL = storetest.DSN(t)
	return cfg
}

func (p *proxied) start(t *testing.T) {
	t.Helper()
	log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)
	proxy, err := app.New(t.Context(), p.cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	if err := proxy.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.proxy = proxy
}

// stop drains the proxy; everything it saw is in the database afterwards.
func (p *proxied) stop(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	if err := p.proxy.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// statements reads what was recorded.
func (p *proxied) statements(t *testing.T) []map[string]any {
	t.Helper()
	s, err := store.Open(t.Context(), p.cfg.Database.URL, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	table, err := s.Report(t.Context(), "statements")
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for _, row := range table.Rows {
		m := map[string]any{}
		for i, c := range table.Columns {
			m[c] = row[i]
		}
		out = append(out, m)
	}
	return out
}
