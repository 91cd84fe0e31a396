package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive"
)

// certificate is the proxy's own, signed by itself, for 127.0.0.1.
type certificate struct {
	Trust
	keyFile string
}

func newCertificate(t *testing.T, java localhive.Java) certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hs2proxy"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := certificate{Trust{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "trust.p12")}, filepath.Join(dir, "key.pem")}
	for file, block := range map[string]*pem.Block{
		c.CAFile:  {Type: "CERTIFICATE", Bytes: signed},
		c.keyFile: {Type: "PRIVATE KEY", Bytes: pkcs8},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := localhive.WriteTrustStore(t.Context(), java, c.TrustStore, c.CAFile); err != nil {
		t.Fatal(err)
	}
	return c
}
