package app

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/intercept/tlsfiles"
	"github.com/hs2proxy/hs2proxy/intercept/upstream"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

const (
	// probePeriod is how often a server that is down is tried, so that no client has to.
	probePeriod = 5 * time.Second
	// discoveryTimeout is how long a start waits for ZooKeeper's first list; it goes on without.
	discoveryTimeout = 5 * time.Second
)

// Way is how the HiveServer2s of the upstream are reached: which there are, and TLS. Clients' connections and our own share it.
type Way struct {
	cfg     config.Config
	Servers *upstream.Set
	TLS     *tlsfiles.ClientTLS // nil: none of our own
	// grown is called when another server is listed.
	grown atomic.Pointer[func()]
}

// NewWay reads the files and finds the servers. Close ends it.
func NewWay(ctx context.Context, cfg config.Config, log zerolog.Logger) (*Way, error) {
	secure, err := UpstreamTLS(cfg)
	if err != nil {
		return nil, err
	}
	opts := upstream.Options{Probe: probePeriod, ProbeTimeout: cfg.Upstream.DialTimeout, Log: log}
	w := &Way{cfg: cfg, TLS: secure}
	opts.OnChange = w.changed
	z := cfg.Upstream.ZooKeeper
	if z.Ensemble == "" {
		w.Servers, err = upstream.NewStatic(ServerList(cfg), opts)
	} else {
		ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
		defer cancel()
		w.Servers, err = upstream.NewZooKeeper(ctx, upstream.ZKConfig{Ensemble: z.Ensemble, Namespace: z.Namespace}, opts)
	}
	if err != nil {
		return nil, fmt.Errorf("upstream: %w", err)
	}
	return w, nil
}

func (w *Way) changed(c upstream.Change) {
	if grown := w.grown.Load(); grown != nil && (c.Kind == upstream.Joined || c.Kind == upstream.Moved) {
		(*grown)()
	}
}

// Close stops following the servers.
func (w *Way) Close() { _ = w.Servers.Close() }

// discovered reports whether ZooKeeper tells the servers.
func (w *Way) discovered() bool { return w.cfg.Upstream.ZooKeeper.Ensemble != "" }

var errNoServer = errors.New("no HiveServer2 is known")

// Login is a pipeline.Login.
func (w *Way) Login(id string) (client.Config, error) {
	if id == "" {
		t := upstream.Binary
		if w.cfg.Service.Transport == config.TransportHTTP {
			t = upstream.HTTP
		}
		list := w.Servers.Candidates(t)
		if len(list) == 0 {
			return client.Config{}, errNoServer
		}
		return ServiceConfig(w.cfg, *list[0], w.TLS), nil
	}
	server, ok := w.Servers.ByID(id)
	if !ok {
		return client.Config{}, fmt.Errorf("%w by the name %s", errNoServer, id)
	}
	return ServiceConfig(w.cfg, *server, w.TLS), nil
}
