package app

import (
	"context"
	"net"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/admin"
)

// adminStop bounds how long requests to the admin port may finish at the end.
const adminStop = 2 * time.Second

// newAdmin makes the admin port, where there is one, and has the metrics read this proxy. What the port would tell of certificates
// is told in the log as well.
func (a *App) newAdmin() error {
	a.watchExpiry()
	source := a.source()
	a.metrics.Watch(source)
	if a.cfg.Admin.Listen == "" {
		return nil
	}
	var err error
	a.admin, err = admin.New(a.cfg.Admin, source, a.metrics, a.log)
	return err
}

// source is this proxy as the admin port sees it.
func (a *App) source() admin.Source {
	s := admin.Source{
		Relay: a.server, Counters: a.counters, QueueLength: a.queue.Len, Breaker: a.explainer.Breaker,
		RecordsWaiting: func() int { return 0 }, Redact: a.redact.Text,
		Kill: a.killer().kill, Discovery: a.way.Servers.Discovery, Limits: a.door.limiter.Stats,
	}
	for _, c := range a.certificates() {
		s.Certificates = append(s.Certificates, admin.Certificate{Side: c.side, NotAfter: c.files.NotAfter})
	}
	if a.store != nil {
		s.SchemaReady = a.schemaReady
		s.Refreshes = adminRefreshes{store: a.store, upstream: a.cfg.Upstream.Name}
		s.RecordsWaiting = func() int { return a.writer.Waiting() }
	}
	if a.spool != nil {
		s.Spool = a.spool
	}
	return s
}

func (a *App) schemaReady() bool {
	select {
	case <-a.ready:
		return true
	default:
		return false
	}
}

// AdminAddr is where the admin port listens, nil while it does not.
func (a *App) AdminAddr() net.Addr {
	if a.admin == nil {
		return nil
	}
	return a.admin.Addr()
}

func (a *App) stopAdmin(ctx context.Context) {
	if a.admin == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), adminStop)
	defer cancel()
	a.admin.Stop(ctx)
}
