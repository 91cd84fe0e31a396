package tlsfiles

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// authority signs certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

var begin = time.Now().Add(-time.Hour).Truncate(time.Second)

func newAuthority(t testing.TB, name string, until time.Time) *authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: begin, NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a := &authority{key: newKey(t)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pem = block("CERTIFICATE", der)
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// issue makes a certificate for host, good for both sides.
func (a *authority) issue(t testing.TB, host string, from, until time.Time) (cert, key []byte) {
	t.Helper()
	private := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host}, NotBefore: from, NotAfter: until,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, private.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return block("CERTIFICATE", der), block("PRIVATE KEY", text)
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// folder is a folder of PEM files.
type folder struct {
	testing.TB
	dir string
}

func newFolder(t testing.TB) folder { return folder{t, t.TempDir()} }

func (f folder) path(name string) string { return filepath.Join(f.dir, name) }

// write writes a file and gives it a time of its own, for two writes may fall on one tick of the file system's clock.
func (f folder) write(name string, content []byte, age time.Duration) string {
	f.Helper()
	path := f.path(name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		f.Fatal(err)
	}
	at := begin.Add(-age)
	if err := os.Chtimes(path, at, at); err != nil {
		f.Fatal(err)
	}
	return path
}

// pair writes a certificate of the authority for host, and its key.
func (f folder) pair(a *authority, name, host string, age time.Duration) (cert, key string) {
	f.Helper()
	certText, keyText := a.issue(f, host, begin, begin.Add(48*time.Hour))
	return f.write(name+".crt", certText, age), f.write(name+".key", keyText, age)
}

// outcome is what both sides make of a handshake and the byte each sends after it.
type outcome struct {
	client, server       error
	clientSees, seenByUs tls.ConnectionState
}

func (o outcome) err() error { return errors.Join(o.client, o.server) }

func handshake(t testing.TB, server, client *tls.Config) outcome {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // the test is over
	var o outcome
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			o.server = err
			return
		}
		secure := tls.Server(conn, server)
		o.server = exchange(secure)
		o.seenByUs = secure.ConnectionState()
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	secure := tls.Client(conn, client)
	o.client = exchange(secure)
	o.clientSees = secure.ConnectionState()
	<-done
	return o
}

// exchange sends a byte and waits for one: with TLS 1.3 a client learns only then that its certificate was refused.
func exchange(conn *tls.Conn) error {
	defer conn.Close() //nolint:errcheck // the other side may be gone
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte{1}); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, 1))
	return err
}
