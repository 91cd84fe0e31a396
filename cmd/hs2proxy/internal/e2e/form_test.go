package e2e

import (
	"testing"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// form is a way from a client through the proxy to HiveServer2.
type form string

const (
	// plain is without TLS on either side.
	plain form = "plain"
	// ended is TLS to the proxy, and none from there to HiveServer2.
	ended form = "TLS ended"
	// passed is TLS to HiveServer2, which the proxy does not read.
	passed form = "TLS passed through"
	// again is TLS to the proxy, and TLS of its own from there.
	again form = "TLS ended and begun again"
	// begun is TLS from the proxy to HiveServer2 only.
	begun form = "TLS begun"
)

// serverTLS: HiveServer2 speaks TLS.
func (f form) serverTLS() bool { return f == passed || f == again || f == begun }

// clientTLS: the client speaks TLS.
func (f form) clientTLS() bool { return f == ended || f == passed || f == again }

// front is the proxy of one form: a single one for both transports, or, where it cannot tell them apart, one for each.
type front struct {
	form         form
	binary, http *proxied
	trust        *Trust // of clients that speak TLS
	runs         []observedRun
}

// observedRun is a client's run that the proxy should have recorded.
type observedRun struct {
	client client
	target Target
}

// newFront makes the proxy of a form; start starts it.
func newFront(t *testing.T, f form, hive *localhive.Server, own certificate) *front {
	t.Helper()
	out := &front{form: f}
	if f.clientTLS() {
		out.trust = &own.Trust
	}
	p := &proxied{hive: hive}
	p.cfg = p.config(t)
	switch f {
	case passed:
		out.trust = serverTrust(hive)
	case ended:
		p.cfg.Clients.TLS.CertFile, p.cfg.Clients.TLS.KeyFile = own.CAFile, own.keyFile
	case again:
		p.cfg.Clients.TLS.CertFile, p.cfg.Clients.TLS.KeyFile = own.CAFile, own.keyFile
		p.cfg.Upstream.TLS.Enabled, p.cfg.Upstream.TLS.CAFile = true, hive.CertFile()
	case begun:
		p.cfg.Upstream.TLS.Enabled, p.cfg.Upstream.TLS.CAFile = true, hive.CertFile()
	case plain:
	}
	out.binary, out.http = p, p
	if f == passed {
		out.http = &proxied{hive: hive, cfg: p.cfg}
		out.http.cfg.Upstream.Address = hive.HTTPAddress()
		out.http.cfg.Database.URL = storetest.DSN(t)
		for _, q := range []*proxied{p, out.http} {
			q.cfg.Upstream.HTTPAddress = ""
		}
	}
	return out
}

// proxies are those of the form: one, or one for each transport.
func (f *front) proxies() []*proxied {
	switch {
	case f.http == f.binary, f.http.cfg.Upstream.Address == "":
		return []*proxied{f.binary}
	default:
		return []*proxied{f.binary, f.http}
	}
}

func (f *front) start(t *testing.T) {
	t.Helper()
	for _, p := range f.proxies() {
		p.start(t)
	}
}

// observed: the proxy can read what is said.
func (f form) observed() bool { return f != passed }

// serverTrust is what a client of HiveServer2 itself trusts; nil without TLS.
func serverTrust(hive *localhive.Server) *Trust {
	if hive.CertFile() == "" {
		return nil
	}
	return &Trust{CAFile: hive.CertFile(), TrustStore: hive.TrustStore()}
}

// target is a target seen through the proxy.
func (f *front) target(direct Target) Target {
	p := f.binary
	if direct.HTTP {
		p = f.http
	}
	direct.Address, direct.TLS = p.proxy.Addr().String(), f.trust
	return direct
}

// stop drains the proxies; everything they saw is in the database afterwards.
func (f *front) stop(t *testing.T) {
	t.Helper()
	for _, p := range f.proxies() {
		p.stop(t)
	}
}
