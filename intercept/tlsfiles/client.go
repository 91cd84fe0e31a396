package tlsfiles

import (
	"crypto/tls"
	"time"
)

// ClientFiles are the paths of what a connection to HiveServer2 needs, PEM all of them; each may be empty.
type ClientFiles struct {
	// CA is the authorities of HiveServer2's certificate; empty: those of the system, which are read once per process.
	CA string
	// Cert is our certificate, followed by the intermediate ones, where HiveServer2 (or what stands before it) asks for one.
	Cert string
	// Key is the certificate's private key, without a passphrase; empty: it is in Cert.
	Key string
	// ServerName is the name HiveServer2's certificate must carry; empty: the one given to Config.
	ServerName string
}

// ClientTLS is TLS towards HiveServer2. Its methods may be called from several goroutines.
type ClientTLS struct {
	set        *set
	serverName string
}

// Client reads the files. An error names the file and what is wrong with it.
func Client(files ClientFiles) (*ClientTLS, error) {
	s, err := newSet(paths{cert: files.Cert, key: files.Key, ca: files.CA}, clientConfig)
	if err != nil {
		return nil, err
	}
	return &ClientTLS{s, files.ServerName}, nil
}

// Config is the configuration for one connection to the host serverName (no port), with the files as they were at the last
// good Reload. Ask for each connection again; the caller owns the result.
func (c *ClientTLS) Config(serverName string) *tls.Config {
	config := c.set.config().Clone()
	if config.ServerName = c.serverName; config.ServerName == "" {
		config.ServerName = serverName
	}
	return config
}

// Reload reads all files again. On an error, which names the file, the ones before stay in use.
func (c *ClientTLS) Reload() error { return c.set.reload() }

// Changed reports whether a file is another one, or has another size or time, than when it was last loaded, or is gone. It
// stays true until a Reload succeeds.
func (c *ClientTLS) Changed() bool { return c.set.changed() }

// NotAfter is when the first certificate of our chain expires; zero without one.
func (c *ClientTLS) NotAfter() time.Time { return c.set.notAfter() }

// Warnings are what is wrong with the files in use at the time now, and for the operator to read: certificates that have
// expired, or are not valid yet.
func (c *ClientTLS) Warnings(now time.Time) []string { return c.set.warnings(now) }

func clientConfig(m *material) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: m.pool}
	if m.cert != nil {
		c.Certificates = []tls.Certificate{*m.cert}
	}
	return c
}
