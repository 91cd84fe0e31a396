package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive"
	thriftclient "github.com/hs2proxy/hs2proxy/thrift/client"
)

// Our own connections over TLS with a password that is checked, on both transports, where HiveServer2 also wants its XSRF header.
func TestOwnConnectionsOverTLS(t *testing.T) {
	if os.Getenv("HS2PROXY_E2E") != "1" || os.Getenv("HS2PROXY_E2E_FULL") != "1" {
		t.Skip("set HS2PROXY_E2E=1 and HS2PROXY_E2E_FULL=1 to connect to a real HiveServer2 over TLS")
	}
	hive, err := localhive.Start(t.Context(), localhive.Options{
		Dir: t.TempDir(), Auth: localhive.AuthCustom, Users: map[string]string{"hs2proxy": "s3cret"}, HTTP: true, TLS: true,
		Conf: map[string]string{"hive.server2.xsrf.filter.enabled": "true"}, Progress: func(s string) { t.Log(s) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hive.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	certificate, err := os.ReadFile(hive.CertFile())
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(certificate) {
		t.Fatal("the server's certificate cannot be read")
	}
	for transport, address := range map[string]string{"binary": hive.Address(), "http": hive.HTTPAddress()} {
		t.Run(transport, func(t *testing.T) {
			config := thriftclient.Config{
				Address: address, Transport: transport, TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
				Auth: "CUSTOM", User: "hs2proxy", Password: "s3cret", DialTimeout: 30 * time.Second, CallTimeout: time.Minute,
			}
			testOwnConnections(t, config)
			config.Password = "wrong"
			var refusal *thriftclient.Error
			if _, err := thriftclient.Dial(t.Context(), config); !errors.As(err, &refusal) || refusal.SQLState != "08004" {
				t.Errorf("a wrong password: %v, want HiveServer2's refusal", err)
			}
		})
	}
}
