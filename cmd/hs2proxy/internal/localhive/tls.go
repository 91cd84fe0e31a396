package localhive

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// StorePassword opens the key store of a server and every trust store this package writes. It protects nothing: the
// keys are made for one test.
const StorePassword = "changeit"

// keytool runs the JDK's (and JRE's) keytool.
func keytool(ctx context.Context, java Java, args ...string) error {
	program := filepath.Join(filepath.Dir(java.resolved()), "keytool")
	out, err := exec.CommandContext(ctx, program, append(args, "-storepass", StorePassword)...).CombinedOutput() //nolint:gosec // beside the Java that was found
	if err != nil {
		return fmt.Errorf("keytool %s: %w\n%s", args[0], err, out)
	}
	return nil
}

// writeKeys makes the key of a server with TLS and its certificate, signed by itself, for localhost and 127.0.0.1.
func writeKeys(ctx context.Context, o Options, java Java) error {
	if !o.TLS {
		return nil
	}
	l := layout{o.Dir}
	err := keytool(ctx, java, "-genkeypair", "-alias", "hs2", "-keyalg", "EC", "-groupname", "secp256r1", "-validity", "3650",
		"-storetype", "PKCS12", "-keystore", l.keyStore(), "-dname", "CN=localhost", "-ext", "SAN=dns:localhost,ip:"+host)
	if err != nil {
		return err
	}
	if err := keytool(ctx, java, "-exportcert", "-rfc", "-alias", "hs2", "-keystore", l.keyStore(), "-file", l.certificate()); err != nil {
		return err
	}
	return WriteTrustStore(ctx, java, l.trustStore(), l.certificate())
}

// WriteTrustStore makes a Java trust store (PKCS12, StorePassword) of a certificate in a PEM file.
func WriteTrustStore(ctx context.Context, java Java, store, certificate string) error {
	if err := os.Remove(store); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("replace a trust store: %w", err)
	}
	return keytool(ctx, java, "-importcert", "-noprompt", "-alias", "ca", "-storetype", "PKCS12", "-keystore", store, "-file", certificate)
}

// clientTLS trusts the certificate in a PEM file and nothing else.
func clientTLS(certificate string) (*tls.Config, error) {
	pem, err := os.ReadFile(certificate) //nolint:gosec // in the server's own folder
	if err != nil {
		return nil, fmt.Errorf("read HiveServer2's certificate: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", certificate)
	}
	return &tls.Config{RootCAs: roots, ServerName: host, MinVersion: tls.VersionTLS12}, nil
}
