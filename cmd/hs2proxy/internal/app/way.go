package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/intercept/proxyheader"
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
		return w.to(*list[0]), nil
	}
	server, ok := w.Servers.ByID(id)
	if !ok {
		return client.Config{}, fmt.Errorf("%w by the name %s", errNoServer, id)
	}
	return w.to(*server), nil
}

func (w *Way) to(server upstream.Server) client.Config {
	c := ServiceConfig(w.cfg, server, w.TLS)
	if version := proxyVersion(w.cfg); version != 0 {
		c.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialAnnounced(ctx, network, address, version)
		}
	}
	return c
}

// proxyVersion is that of the PROXY header HiveServer2 is sent, 0 for none.
func proxyVersion(cfg config.Config) int {
	switch cfg.Upstream.ProxyProtocol {
	case "v1":
		return 1
	case "v2":
		return 2
	default:
		return 0
	}
}

// dialAnnounced begins a connection with the PROXY header of one that is our own.
func dialAnnounced(ctx context.Context, network, address string, version int) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(proxyheader.Append(nil, version, netip.AddrPort{}, netip.AddrPort{})); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("PROXY header: %w", err)
	}
	return conn, nil
}
