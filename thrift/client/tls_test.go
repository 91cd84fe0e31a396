package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/beltran/gohive/hiveserver"
)

// trust is a client's configuration for a test server's certificate (127.0.0.1 and example.com).
func trust(server *httptest.Server) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

// secured serves f behind SASL and TLS.
func secured(t *testing.T, f *fakeServer) Config {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	t.Cleanup(server.Close)
	serve := saslServer(f)
	config := listen(t, func(conn net.Conn) {
		secured := tls.Server(conn, server.TLS)
		if secured.HandshakeContext(t.Context()) == nil {
			serve(secured)
		}
	})
	config.TLS = trust(server)
	return config
}

func TestTLS(t *testing.T) {
	for _, transport := range []string{"binary", "http"} {
		for _, kind := range []string{"Conn", "Session"} {
			f := &fakeServer{}
			var config Config
			if transport == "http" {
				config = (&servlet{fakeServer: f, cookies: true}).start(t, true)
			} else {
				config = secured(t, f)
			}
			given := config.TLS.Clone()
			run := opener(t, kind, config)
			f.mu.Lock()
			f.columns = described("a", hiveserver.TTypeId_STRING_TYPE)
			f.batches = []*hiveserver.TRowSet{stringColumns([]string{strings.Repeat("x", 100_000)})}
			f.mu.Unlock()
			result, err := run("select 1")
			if err != nil || len(result.Rows) != 1 || len(*result.Rows[0][0]) != 100_000 {
				t.Errorf("%s, %s: %d rows, error %v", transport, kind, len(result.Rows), err)
			}
			if config.TLS.ServerName != given.ServerName {
				t.Errorf("the caller's configuration was changed: server name %q", config.TLS.ServerName)
			}

			config.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
			if _, err := Dial(t.Context(), config); err == nil || !strings.Contains(err.Error(), "unknown authority") {
				t.Errorf("%s: an unknown authority: %v", transport, err)
			}
			config.TLS = given.Clone()
			config.TLS.ServerName = "elsewhere.example.net"
			if _, err := Dial(t.Context(), config); err == nil || !strings.Contains(err.Error(), "elsewhere.example.net") {
				t.Errorf("%s: another server's certificate: %v", transport, err)
			}
		}
	}
}

func TestTLSOnAPlainPort(t *testing.T) {
	config := listen(t, func(conn net.Conn) {
		_, _ = io.WriteString(conn, saslMessage(saslBad, "what?"))
		_, _ = io.Copy(io.Discard, conn)
	})
	config.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	if _, err := Dial(t.Context(), config); err == nil || !strings.Contains(err.Error(), "TLS: ") {
		t.Errorf("error %v", err)
	}
}

// What DialContext sends in front comes before TLS, on every connection.
func TestDialContext(t *testing.T) {
	const header = "PROXY UNKNOWN\r\n"
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	t.Cleanup(server.Close)
	got := make(chan string, 2)
	config := listen(t, func(conn net.Conn) {
		first := make([]byte, len(header)+1)
		_, _ = io.ReadFull(conn, first)
		got <- string(first)
	})
	config.TLS = trust(server)
	config.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, network, address)
		if err == nil {
			_, err = io.WriteString(conn, header)
		}
		return conn, err
	}
	for _, config.Transport = range []string{"binary", "http"} {
		if _, err := Dial(t.Context(), config); err == nil {
			t.Errorf("%s: the server hung up, want an error", config.Transport)
		}
		if first := <-got; first != header+"\x16" {
			t.Errorf("%s: the connection begins with %q", config.Transport, first)
		}
	}
}
