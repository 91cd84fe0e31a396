package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/app"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/listen"
)

// soon is how long before its end a certificate is worth a warning.
const soon = 30 * 24 * time.Hour

// chain is what the doctor asks of TLS files that could be read.
type chain interface {
	NotAfter() time.Time
	Warnings(now time.Time) []string
}

// certificates reads the TLS files as serve would.
func (d *doctor) certificates() {
	if t := d.cfg.Clients.TLS; t.CertFile != "" {
		files, err := app.ClientsTLS(d.cfg)
		d.chain("TLS for clients", t.CertFile, files, err, "correct the files of clients.tls; they must be PEM and readable for the service")
	}
	if t := d.cfg.Upstream.TLS; t.Enabled {
		files, err := app.UpstreamTLS(d.cfg)
		d.chain("TLS files for upstream", t.CertFile, files, err, "correct the files of upstream.tls; they must be PEM and readable for the service")
	}
}

func (d *doctor) chain(name, file string, c chain, err error, mend string) {
	if err != nil {
		d.print(check{name: name, err: err, mend: mend})
		return
	}
	warnings := c.Warnings(d.now())
	for _, w := range warnings {
		d.warn(name, w, "put a certificate that is valid now in its place and reload")
	}
	detail := "readable"
	if end := c.NotAfter(); !end.IsZero() {
		left := end.Sub(d.now())
		detail = fmt.Sprintf("%s is valid until %s", file, end.UTC().Format(time.DateOnly))
		if left < soon && len(warnings) == 0 {
			d.warn(name, fmt.Sprintf("%s, %d days from now", detail, int(left/(24*time.Hour))), "put a newer certificate in its place and reload")
			return
		}
	}
	if len(warnings) == 0 {
		d.print(check{name: name, detail: detail})
	}
}

func (d *doctor) listener(ctx context.Context) {
	l, err := listen.Open(ctx, d.cfg.Listen, d.cfg.Relay.ReusePort)
	detail := d.cfg.Listen + " is free"
	if d.cfg.Relay.ReusePort {
		detail = d.cfg.Listen + " is free, or shared by a running hs2proxy"
	}
	if err == nil {
		_ = l.Close()
	}
	d.print(check{
		name: "listen", detail: detail, err: err,
		mend: "stop what holds the port (a running hs2proxy does), or change listen",
	})
}

// admin only warns: the relay runs without its admin port, which is tried again until it is free.
func (d *doctor) admin(ctx context.Context) {
	address := d.cfg.Admin.Listen
	if address == "" {
		d.warn("admin port", "turned off: no metrics, no health checks, no list of sessions", "set admin.listen")
		return
	}
	l, err := listen.Open(ctx, address, false)
	if err != nil {
		d.warn("admin port", oneLine(err), "stop what holds the port (a running hs2proxy does), or change admin.listen")
		return
	}
	_ = l.Close()
	who := "for this machine"
	if !d.cfg.Admin.Loopback() {
		who = "for others too, with the token"
	}
	d.print(check{name: "admin port", detail: address + " is free, " + who})
}
