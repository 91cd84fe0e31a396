package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pires/go-proxyproto"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/app"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
	"github.com/hs2proxy/hs2proxy/intercept/upstream"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// newDoctor writes into the buffer.
func newDoctor(change func(*config.Config)) (*doctor, *bytes.Buffer) {
	out := &bytes.Buffer{}
	d := &doctor{cfg: config.Default(), timeout: 10 * time.Second, out: out, now: time.Now}
	change(&d.cfg)
	return d, out
}

// certificate writes a certificate of 127.0.0.1, its own authority, and its key.
func certificate(t *testing.T, lasts time.Duration) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hive"}, NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(lasts),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func wants(t *testing.T, out *bytes.Buffer, lines ...string) {
	t.Helper()
	for _, want := range lines {
		mark, rest, _ := strings.Cut(want, " ")
		found := false
		for line := range strings.Lines(out.String()) {
			found = found || strings.HasPrefix(line, mark) && strings.Contains(line, rest)
		}
		if !found {
			t.Errorf("no line %q in\n%s", want, out)
		}
	}
}

func TestDoctorReadsCertificates(t *testing.T) {
	for lasts, want := range map[time.Duration]string{
		100 * 24 * time.Hour: "ok TLS for clients", 10*24*time.Hour + time.Hour: "warn , 10 days from now; mend: put a newer", -time.Hour: "warn expired at",
	} {
		cert, key := certificate(t, lasts)
		d, out := newDoctor(func(c *config.Config) { c.Clients.TLS = config.ClientsTLS{CertFile: cert, KeyFile: key} })
		d.certificates()
		wants(t, out, want)
		if d.failed != 0 || d.checks != 1 {
			t.Errorf("%d checks, %d failed", d.checks, d.failed)
		}
	}
	d, out := newDoctor(func(c *config.Config) {
		c.Clients.TLS = config.ClientsTLS{CertFile: "/nowhere/cert.pem", KeyFile: "/nowhere/key.pem"}
		c.Upstream.TLS = config.UpstreamTLS{Enabled: true, CAFile: "/nowhere/ca.pem"}
	})
	d.certificates()
	wants(t, out, "FAIL /nowhere/cert.pem", "FAIL /nowhere/ca.pem")
	if d.failed != 2 {
		t.Errorf("%d failed", d.failed)
	}
}

// secured ends TLS in front of an address, as HiveServer2 with hive.server2.use.SSL does; announced, as a balancer before it that wants
// a PROXY header first.
func secured(t *testing.T, certFile, keyFile, to string, announced bool) string {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if announced {
		l = &proxyproto.Listener{Listener: l, ConnPolicy: func(proxyproto.ConnPolicyOptions) (proxyproto.Policy, error) { return proxyproto.REQUIRE, nil }}
	}
	l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { relay(c, to) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

func relay(c net.Conn, to string) {
	defer func() { _ = c.Close() }()
	up, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer func() { _ = up.Close() }()
	var wg sync.WaitGroup
	for _, way := range [][2]net.Conn{{c, up}, {up, c}} {
		wg.Go(func() {
			b := make([]byte, 4096)
			for {
				n, err := way[0].Read(b)
				if err != nil {
					_, _ = c.Close(), up.Close()
					return
				}
				if _, err := way[1].Write(b[:n]); err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestDoctorSpeaksTLSUpstream: with the right authority, with the wrong one, and where there is none to speak it with.
func TestDoctorSpeaksTLSUpstream(t *testing.T) {
	hive := fakeHive(t)
	cert, key := certificate(t, 20*24*time.Hour)
	address := secured(t, cert, key, hive.Addr(), false)
	try := func(address string, files config.UpstreamTLS) (*bytes.Buffer, bool) {
		d, out := newDoctor(func(c *config.Config) { c.Upstream.Address, c.Upstream.TLS = address, files })
		secure, err := app.UpstreamTLS(d.cfg)
		if err != nil {
			t.Fatal(err)
		}
		session, login := d.server(t.Context(), upstream.Server{ID: "a", Binary: address, HTTP: address}, secure)
		if session != nil {
			if login.Address != address {
				t.Errorf("logged in to %s", login.Address)
			}
			_ = session.Close()
		}
		return out, session != nil
	}
	out, in := try(address, config.UpstreamTLS{Enabled: true, CAFile: cert})
	wants(t, out, "ok accepts connections", "ok speaks TLS 1.3", "warn ends in 19 days", "ok logs in to "+address+" as hs2proxy (NONE, binary)")
	if !in {
		t.Error("no session")
	}
	other, _ := certificate(t, time.Hour)
	out, in = try(address, config.UpstreamTLS{Enabled: true, CAFile: other})
	wants(t, out, "FAIL mend: set upstream.tls.ca_file")
	if in {
		t.Error("logged in to a server that was not verified")
	}
	out, _ = try(hive.Addr(), config.UpstreamTLS{Enabled: true, CAFile: cert})
	wants(t, out, "FAIL upstream TLS")
	out, in = try(hive.Addr(), config.UpstreamTLS{})
	wants(t, out, "ok logs in to")
	if !in {
		t.Error("no session without TLS")
	}
}

// TestDoctorAnnouncesItself: every connection begins with the PROXY header that is configured, TLS comes after it.
func TestDoctorAnnouncesItself(t *testing.T) {
	hive := fakeHive(t)
	cert, key := certificate(t, 100*24*time.Hour)
	address := secured(t, cert, key, hive.Addr(), true)
	for version, want := range map[string]string{"v1": "ok logs in to", "v2": "ok logs in to", "": "FAIL upstream TLS"} {
		d, out := newDoctor(func(c *config.Config) {
			c.Upstream.ProxyProtocol, c.Upstream.TLS = version, config.UpstreamTLS{Enabled: true, CAFile: cert}
		})
		secure, err := app.UpstreamTLS(d.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if session, _ := d.server(t.Context(), upstream.Server{ID: "a", Binary: address, HTTP: address}, secure); session != nil {
			_ = session.Close()
		}
		wants(t, out, want)
	}
}

// TestDoctorTriesEveryServer: one that is down does not keep the others from being checked.
func TestDoctorTriesEveryServer(t *testing.T) {
	hive := fakeHive(t)
	http, err := hs2test.Start(hs2test.Config{HTTP: true})
	if err != nil {
		t.Fatal(err)
	}
	defer http.Close()
	d, out := newDoctor(func(c *config.Config) {
		c.Upstream.SetServers("127.0.0.1:1," + hive.Addr())
		c.Upstream.Servers[1].HTTPAddress = http.Addr()
	})
	d.upstream(t.Context())
	wants(t, out, "FAIL 127.0.0.1:1", "ok "+hive.Addr()+" accepts", "ok "+http.Addr()+" accepts", "ok logs in to "+hive.Addr())

	d.cfg.Service.Transport = config.TransportHTTP
	out.Reset()
	d.upstream(t.Context())
	wants(t, out, "ok logs in to "+http.Addr()+" as hs2proxy (NONE, http)")
}

func TestDoctorOfSettings(t *testing.T) {
	for _, c := range []struct {
		value string
		keep  bool
		want  string
	}{
		{"true", false, ""},
		{"false", true, ""},
		{"", true, ""},
		{"false", false, "keep_sessions_on_disconnect to true"},
		{"true", true, "keep_sessions_on_disconnect to false"},
	} {
		d, out := newDoctor(func(cfg *config.Config) { cfg.Upstream.KeepSessions = c.keep })
		d.settings(map[string]string{"hive.execution.engine": "tez", closeOnDisconnect: c.value})
		if c.want == "" && out.Len() > 0 || !strings.Contains(out.String(), c.want) {
			t.Errorf("%+v: %s", c, out)
		}
	}
}

// answering answers every statement alike.
type answering struct {
	rows []string
	err  error
}

func (a answering) Query(context.Context, string) (client.Result, error) {
	res := client.Result{}
	for _, r := range a.rows {
		res.Rows = append(res.Rows, []*string{&r})
	}
	return res, a.err
}

func TestDoctorOfSys(t *testing.T) {
	for name, c := range map[string]struct {
		hive answering
		want []string
	}{
		"none":     {answering{err: &client.Error{Code: 10001, Message: "Table not found sequence_table"}}, []string{"ok", "there is no sys database"}},
		"no right": {answering{err: &client.Error{Code: 40000, Message: "Permission denied"}}, []string{"warn", "Permission denied", "GRANT SELECT", "sys_views"}},
		"a job":    {answering{rows: []string{"Stage-0", "Fetch Operator", "Stage-1"}}, []string{"warn", "Tez job"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, out := newDoctor(func(*config.Config) {})
			d.sys(t.Context(), c.hive)
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is not in: %s", want, out)
				}
			}
		})
	}
}

func TestDoctorOfTheAdminPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for listen, want := range map[string]string{
		"": "warn turned off", "127.0.0.1:0": "ok for this machine", l.Addr().String(): "warn address already in use", ":0": "ok for others too",
	} {
		d, out := newDoctor(func(c *config.Config) { c.Admin.Listen, c.Admin.Token = listen, "0123456789abcdef" })
		d.admin(context.Background())
		wants(t, out, want)
	}
}

func TestDoctorOfKerberos(t *testing.T) {
	hive := fakeHive(t)
	d, out := newDoctor(func(c *config.Config) {
		c.Upstream.Address = hive.Addr()
		c.Service.Auth, c.Service.Principal, c.Service.KeytabFile = config.AuthKerberos, "hs2proxy@EXAMPLE.COM", "/nowhere/keytab"
		c.Service.ServerPrincipal = "hive/_HOST@EXAMPLE.COM"
	})
	d.upstream(t.Context())
	wants(t, out, "ok accepts connections", "FAIL mend: check service.keytab_file")
}
