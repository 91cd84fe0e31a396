package tlsfiles

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

var later = begin.Add(48 * time.Hour)

// trusting is a client that knows the authority.
func trusting(a *authority, host string, own ...tls.Certificate) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &tls.Config{RootCAs: pool, ServerName: host, Certificates: own}
}

func mustServer(t *testing.T, files ServerFiles) *ServerTLS {
	t.Helper()
	s, err := Server(files)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func load(t *testing.T, cert, key string) tls.Certificate {
	t.Helper()
	c, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestServer(t *testing.T) {
	ca, f := newAuthority(t, "ca", later), newFolder(t)
	cert, key := f.pair(ca, "server", "proxy", 0)
	s := mustServer(t, ServerFiles{Cert: cert, Key: key})
	client := trusting(ca, "proxy")
	client.NextProtos = []string{"h2", "http/1.1"}
	o := handshake(t, s.Config(), client)
	if o.err() != nil || o.clientSees.NegotiatedProtocol != "" {
		t.Errorf("%v, protocol %q", o.err(), o.clientSees.NegotiatedProtocol)
	}
	if got := s.NotAfter(); !got.Equal(begin.Add(48 * time.Hour)) {
		t.Errorf("expires at %v", got)
	}
	if w := s.Warnings(time.Now()); len(w) != 0 {
		t.Error(w)
	}
	for version, good := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		client := trusting(ca, "proxy")
		client.MinVersion, client.MaxVersion = tls.VersionTLS10, version
		if err := handshake(t, s.Config(), client).err(); (err == nil) != good {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
	}
}

// TestServerOneFile: certificate and key in one file, as HAProxy has them.
func TestServerOneFile(t *testing.T) {
	ca, f := newAuthority(t, "ca", later), newFolder(t)
	cert, key := ca.issue(t, "proxy", begin, later)
	both := f.write("both.pem", append(key, cert...), 0)
	if err := handshake(t, mustServer(t, ServerFiles{Cert: both}).Config(), trusting(ca, "proxy")).err(); err != nil {
		t.Error(err)
	}
}

func TestServerClientCA(t *testing.T) {
	ca, clients, strangers, f := newAuthority(t, "ca", later), newAuthority(t, "clients", later), newAuthority(t, "strangers", later), newFolder(t)
	cert, key := f.pair(ca, "server", "proxy", 0)
	s := mustServer(t, ServerFiles{Cert: cert, Key: key, ClientCA: f.write("clients.pem", clients.pem, 0)})
	good := load2(f.pair(clients, "good", "alice", 0))(t)
	bad := load2(f.pair(strangers, "bad", "mallory", 0))(t)

	for name, test := range map[string]struct {
		own  []tls.Certificate
		good bool
	}{"none": {nil, false}, "known": {[]tls.Certificate{good}, true}, "unknown": {[]tls.Certificate{bad}, false}} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			client := trusting(ca, "proxy", test.own...)
			client.MaxVersion = version
			o := handshake(t, s.Config(), client)
			if (o.server == nil) != test.good || (o.client == nil) != test.good {
				t.Errorf("%s, %s: %v", name, tls.VersionName(version), o.err())
			}
			if test.good && o.seenByUs.VerifiedChains[0][0].Subject.CommonName != "alice" {
				t.Errorf("the client is %v", o.seenByUs.VerifiedChains[0][0].Subject)
			}
		}
	}

	// The authority changes: a client with a session to resume is judged anew.
	client := trusting(ca, "proxy", good)
	client.ClientSessionCache = tls.NewLRUClientSessionCache(8)
	config := s.Config()
	for range 2 {
		if o := handshake(t, config, client); o.err() != nil || o.clientSees.DidResume {
			t.Errorf("%v, resumed: %v", o.err(), o.clientSees.DidResume)
		}
	}
	f.write("clients.pem", strangers.pem, time.Minute)
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if o := handshake(t, config, client); o.server == nil {
		t.Error("a client of the authority taken away is let in")
	}
	client.Certificates = []tls.Certificate{bad}
	if o := handshake(t, config, client); o.err() != nil {
		t.Errorf("a client of the new authority: %v", o.err())
	}
}

// load2 takes what pair gives.
func load2(cert, key string) func(*testing.T) tls.Certificate {
	return func(t *testing.T) tls.Certificate { t.Helper(); return load(t, cert, key) }
}

// TestServerReload: the same Config follows; after an error the certificate before is still shown.
func TestServerReload(t *testing.T) {
	ca, f := newAuthority(t, "ca", later), newFolder(t)
	cert, key := f.pair(ca, "server", "old", 0)
	s := mustServer(t, ServerFiles{Cert: cert, Key: key})
	config := s.Config()
	shows := func(host string) {
		t.Helper()
		if err := handshake(t, config, trusting(ca, host)).err(); err != nil {
			t.Errorf("want the certificate of %s: %v", host, err)
		}
		if c, err := config.GetCertificate(nil); err != nil || c.Leaf.Subject.CommonName != host {
			t.Errorf("GetCertificate: %v, %v", c, err)
		}
	}
	shows("old")

	// The certificate is replaced, its key not yet.
	newCert, newKey := ca.issue(t, "new", begin, begin.Add(24*time.Hour))
	f.write("server.crt", newCert, time.Minute)
	if err := s.Reload(); err == nil || !strings.Contains(err.Error(), cert) || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "match") {
		t.Errorf("half of a pair: %v", err)
	}
	if !s.Changed() {
		t.Error("a reload that failed is not wanted again")
	}
	shows("old")
	f.write("server.key", newKey, time.Minute)
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	shows("new")
	if s.Changed() || !s.NotAfter().Equal(begin.Add(24*time.Hour)) {
		t.Errorf("changed: %v, expires %v", s.Changed(), s.NotAfter())
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(); err == nil || !strings.Contains(err.Error(), key) {
		t.Errorf("the key is gone: %v", err)
	}
	shows("new")
}

// TestReloadAtOnce: handshakes and reloads at the same time; each handshake has a certificate and its key.
func TestReloadAtOnce(t *testing.T) {
	ca, f := newAuthority(t, "ca", later), newFolder(t)
	cert, key := f.pair(ca, "server", "proxy", 0)
	s := mustServer(t, ServerFiles{Cert: cert, Key: key})
	config := s.Config()
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for range 20 {
				if err := s.Reload(); err != nil {
					t.Error(err)
				}
				_, _, _ = s.Changed(), s.NotAfter(), s.Warnings(begin)
			}
		})
		all.Go(func() {
			for range 5 {
				if err := handshake(t, config, trusting(ca, "proxy")).err(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
