package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
)

// writeCertificate writes a certificate for localhost with its key behind it.
func writeCertificate(t *testing.T, file string, until time.Time) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: until.Add(-365 * 24 * time.Hour), NotAfter: until,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestExpiryIsTold: once at the start and once after each reload, and in the metrics all the time.
func TestExpiryIsTold(t *testing.T) {
	hive, file := startFake(t), filepath.Join(t.TempDir(), "proxy.pem")
	end := time.Now().Add(expirySoon - time.Hour).Truncate(time.Second)
	writeCertificate(t, file, end)
	a, out := start(t, hive.Addr(), "", func(c *config.Config) {
		adminOn(c)
		c.Clients.TLS.CertFile, c.Clients.TLS.KeyFile = file, file
		c.Upstream.TLS.Enabled = true // without a certificate of ours
	})
	defer stop(t, a)
	const soon, invalid = "certificate expires soon", "certificate is not valid"
	told := func(what string) int { return strings.Count(out.String(), what) }
	if told(soon) != 1 || told(invalid) != 0 || !strings.Contains(out.String(), `"field":"clients.tls"`) || !strings.Contains(out.String(), `"days_left":20`) {
		t.Errorf("at the start:\n%s", out)
	}
	const series = `hs2proxy_certificate_expiry_timestamp_seconds{side="clients"}`
	waitFor(t, func() bool { return metric(t, a, series) == float64(end.Unix()) })
	if got := metric(t, a, `hs2proxy_certificate_expiry_timestamp_seconds{side="upstream"}`); got != -1 {
		t.Errorf("a certificate that there is not expires at %g", got)
	}

	past := time.Now().Add(-time.Hour).Truncate(time.Second)
	writeCertificate(t, file, past)
	if _, _, err := a.Reload(a.Config()); err != nil {
		t.Fatal(err)
	}
	if told(soon) != 1 || told(invalid) != 1 {
		t.Errorf("after a reload with an expired one:\n%s", out)
	}
	if got := metric(t, a, series); got != float64(past.Unix()) {
		t.Errorf("the metric is %g after the reload, want %d", got, past.Unix())
	}
	writeCertificate(t, file, time.Now().Add(365*24*time.Hour))
	if _, _, err := a.Reload(a.Config()); err != nil {
		t.Fatal(err)
	}
	if told(soon) != 1 || told(invalid) != 1 {
		t.Errorf("a good one is warned of:\n%s", out)
	}
}

// fakeCertificate ends at a time, with what is wrong with it.
type fakeCertificate struct {
	end      time.Time
	warnings []string
}

func (f fakeCertificate) NotAfter() time.Time         { return f.end }
func (f fakeCertificate) Warnings(time.Time) []string { return f.warnings }

func TestWhenExpiryIsTold(t *testing.T) {
	now := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		fakeCertificate
		want int
	}{
		"none":           {},
		"far":            {fakeCertificate{end: now.Add(expirySoon)}, 0},
		"soon":           {fakeCertificate{end: now.Add(expirySoon - 1)}, 1},
		"expired":        {fakeCertificate{end: now.Add(-1), warnings: []string{"expired", "the next one too"}}, 2},
		"authority only": {fakeCertificate{warnings: []string{"no authority is valid"}}, 1},
	} {
		out := &logs{}
		tellExpiry(zerolog.New(out), []certificate{{"clients.tls", "clients", c.fakeCertificate}}, now)
		if got := strings.Count(out.String(), "\n"); got != c.want {
			t.Errorf("%s: %d lines, want %d:\n%s", name, got, c.want, out)
		}
	}
}
