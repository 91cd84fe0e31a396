package localhive

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKeytoolsWordsAreInTheError(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "keytool"), []byte("#!/bin/sh\necho 'keytool error: no such store'; exit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	err := WriteTrustStore(t.Context(), Java{Path: filepath.Join(dir, "java")}, filepath.Join(t.TempDir(), "trust.p12"), "c.pem")
	if err == nil || !strings.Contains(err.Error(), "-importcert") || !strings.Contains(err.Error(), "no such store") {
		t.Errorf("error %v, want keytool's command and words", err)
	}
}

// The certificate that Java's keytool makes is one that a client accepts for 127.0.0.1 when it trusts it, and only then.
func TestServersCertificate(t *testing.T) {
	java, err := FindJava(t.Context())
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	o := Options{Dir: t.TempDir(), TLS: true}
	l := layout{o.Dir}
	if err := os.MkdirAll(l.conf(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeKeys(t.Context(), o, java); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(l.trustStore()); err != nil {
		t.Error(err)
	}
	config, err := clientTLS(l.certificate())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(l.certificate())
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	for roots, accepted := range map[*x509.CertPool]bool{config.RootCAs: true, x509.NewCertPool(): false} {
		_, err = certificate.Verify(x509.VerifyOptions{Roots: roots, DNSName: config.ServerName})
		if (err == nil) != accepted {
			t.Errorf("the certificate: %v, want accepted %v", err, accepted)
		}
	}
	if _, err := clientTLS(filepath.Join(t.TempDir(), "none.pem")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing certificate: %v", err)
	}
}
