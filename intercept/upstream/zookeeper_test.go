package upstream

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A ZooKeeper over TLS gets the session's request only when its certificate is right. The whole of discovery is tested with a
// real ZooKeeper where one can be started, in cmd/hs2proxy/internal/localzk.
func TestZooKeeperOverTLS(t *testing.T) {
	web := httptest.NewTLSServer(nil) // for its certificate, which is for example.com
	defer web.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	lengths := make(chan uint32, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			var length [4]byte
			if _, err := io.ReadFull(conn, length[:]); err == nil {
				lengths <- binary.BigEndian.Uint32(length[:])
			}
			_ = conn.Close()
		}
	}()
	defer func() { _ = l.Close(); <-done }()
	roots := web.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs

	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if n := <-lengths; n < 40 || n > 50 {
			t.Errorf("the first message has %d bytes, a ConnectRequest has 44 or 45", n)
		}
		cancel()
	}()
	cfg := ZKConfig{Ensemble: l.Addr().String(), TLS: &tls.Config{RootCAs: roots, ServerName: "example.com", MinVersion: tls.VersionTLS12}}
	if _, err := NewZooKeeper(ctx, cfg, Options{}); err == nil {
		t.Error("a server that says nothing was taken for ZooKeeper")
	}
	<-ctx.Done()

	told := make(chan error, 100)
	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		err := <-told
		if !strings.Contains(err.Error(), "certificate") || !strings.Contains(err.Error(), "connect to ZooKeeper "+cfg.Ensemble) {
			t.Errorf("told %v", err)
		}
		cancel()
	}()
	cfg.TLS = &tls.Config{RootCAs: roots, ServerName: "other.example.org", MinVersion: tls.VersionTLS12}
	_, err = NewZooKeeper(ctx, cfg, Options{OnChange: func(c Change) {
		if c.Kind == Lost {
			told <- c.Err
		}
	}})
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("error %v", err)
	}
	<-ctx.Done()
}
