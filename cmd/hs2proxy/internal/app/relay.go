package app

import (
	"fmt"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/limit"
	"github.com/hs2proxy/hs2proxy/intercept/tlsfiles"
	"github.com/hs2proxy/hs2proxy/thrift"
)

// door is what stands between the clients and the relay.
type door struct {
	tls     *tlsfiles.ServerTLS // nil: TLS is passed through
	limiter *limit.Limiter
}

func newDoor(cfg config.Config) (door, error) {
	secure, err := ClientsTLS(cfg)
	return door{tls: secure, limiter: limit.New(LimitConfig(cfg))}, err
}

// newRelay wires the relay.
func newRelay(cfg config.Config, way *Way, d door, sink intercept.Sink, log zerolog.Logger) (*intercept.Server, error) {
	trusted, err := cfg.Clients.Networks()
	if err != nil {
		return nil, err
	}
	c := intercept.Config{
		Servers: way.Servers, Loops: cfg.Relay.Loops, DialTimeout: cfg.Upstream.DialTimeout, LoginTimeout: cfg.Clients.LoginTimeout,
		Limits: thrift.Limits{MaxCallBytes: cfg.Relay.CallLimit, MaxReplyBytes: cfg.Relay.ReplyLimit, CopyBytes: cfg.Relay.CopyLimit},

		TLSRequired: cfg.Clients.TLS.Required, Trusted: trusted, ReadProxyHeader: cfg.Clients.ProxyProtocol,
		SendProxyHeader: proxyVersion(cfg), Limiter: d.limiter,
	}
	if d.tls != nil {
		c.ClientTLS = d.tls.Config()
	}
	if way.TLS != nil {
		c.ServerTLS = way.TLS.Config
	}
	tracker := intercept.NewTracker(intercept.TrackerConfig{
		Upstream: cfg.Upstream.Name, KeepSessionsOnDisconnect: cfg.Upstream.KeepSessions,
	}, sink)
	server, err := intercept.NewServer(c, tracker, log)
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	return server, nil
}

// reachParts are what a reload changes at the door and on the way.
func (a *App) reachParts() []part {
	failed := func(err error) {
		a.log.Error().Err(err).Msg("certificates not changed")
	}
	parts := []part{limits(a.door.limiter)}
	if !a.way.discovered() {
		parts = append(parts, servers(a.way.Servers))
	}
	if a.door.tls != nil {
		parts = append(parts, certificates("clients.tls", func() error { _, err := ClientsTLS(a.cfg); return err }, a.door.tls.Reload, failed))
	}
	if a.way.TLS != nil {
		parts = append(parts, certificates("upstream.tls", func() error { _, err := UpstreamTLS(a.cfg); return err }, a.way.TLS.Reload, failed))
	}
	return parts
}
