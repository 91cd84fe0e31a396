package tlsfiles

import (
	"crypto/tls"
	"errors"
	"time"
)

// ServerFiles are the paths of what the proxy shows to its clients, PEM all of them.
type ServerFiles struct {
	// Cert is the certificate, followed by the intermediate ones.
	Cert string
	// Key is the certificate's private key, without a passphrase; empty: it is in Cert.
	Key string
	// ClientCA is the authorities of client certificates. If it is given, each client must show one; empty: none is asked for.
	ClientCA string
}

// ServerTLS is TLS towards clients. Its methods may be called from several goroutines.
type ServerTLS struct{ set *set }

// Server reads the files. An error names the file and what is wrong with it.
func Server(files ServerFiles) (*ServerTLS, error) {
	if files.Cert == "" {
		return nil, errors.New("TLS towards clients needs a certificate file")
	}
	s, err := newSet(paths{cert: files.Cert, key: files.Key, ca: files.ClientCA}, serverConfig)
	if err != nil {
		return nil, err
	}
	return &ServerTLS{s}, nil
}

// Config is one configuration for all handshakes: each uses the files as they were at the last good Reload.
func (s *ServerTLS) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return s.set.config(), nil
		},
		// Never asked while GetConfigForClient answers; tls.Listen and net/http want one to be there.
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return &s.set.config().Certificates[0], nil
		},
	}
}

// Reload reads all files again. On an error, which names the file, the ones before stay in use.
func (s *ServerTLS) Reload() error { return s.set.reload() }

// Changed reports whether a file is another one, or has another size or time, than when it was last loaded, or is gone. It
// stays true until a Reload succeeds.
func (s *ServerTLS) Changed() bool { return s.set.changed() }

// NotAfter is when the first certificate of the chain in use expires.
func (s *ServerTLS) NotAfter() time.Time { return s.set.notAfter() }

// Warnings are what is wrong with the files in use at the time now, and for the operator to read: certificates that have
// expired, or are not valid yet. Connections are served with them all the same; clients will refuse.
func (s *ServerTLS) Warnings(now time.Time) []string { return s.set.warnings(now) }

// serverConfig makes no ALPN: HiveServer2 offers none either, and without it HTTP clients speak HTTP/1.1.
func serverConfig(m *material) *tls.Config {
	c := &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{*m.cert},
	}
	if m.pool != nil {
		// No tickets: a resumed session would not be judged by the authorities of today.
		c.ClientAuth, c.ClientCAs, c.SessionTicketsDisabled = tls.RequireAndVerifyClientCert, m.pool, true
	}
	return c
}
