package tlsfiles

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

// read reads and checks all files.
func (p paths) read() (*material, error) {
	m := &material{}
	if p.cert != "" {
		if err := m.readPair(p.cert, p.key); err != nil {
			return nil, err
		}
	} else if p.key != "" {
		return nil, fmt.Errorf("key file %s without a certificate file", p.key)
	}
	if p.ca != "" {
		text, err := m.readFile(p.ca)
		if err != nil {
			return nil, fmt.Errorf("CA file: %w", err)
		}
		if m.ca, err = certificates(text); err != nil {
			return nil, fmt.Errorf("CA file %s: %w", p.ca, err)
		}
		m.pool = x509.NewCertPool()
		for _, c := range m.ca {
			m.pool.AddCert(c)
		}
	}
	return m, nil
}

func (m *material) readPair(certFile, keyFile string) error {
	certText, err := m.readFile(certFile)
	if err != nil {
		return fmt.Errorf("certificate file: %w", err)
	}
	if m.chain, err = certificates(certText); err != nil {
		return fmt.Errorf("certificate file %s: %w", certFile, err)
	}
	keyText := certText
	if keyFile == "" {
		keyFile = certFile
	} else if keyText, err = m.readFile(keyFile); err != nil {
		return fmt.Errorf("key file: %w", err)
	}
	defer clear(keyText)
	if err := plainKey(keyText); err != nil {
		return fmt.Errorf("key file %s: %w", keyFile, err)
	}
	pair, err := tls.X509KeyPair(certText, keyText)
	if err != nil {
		return fmt.Errorf("key file %s with certificate file %s: %w", keyFile, certFile, err)
	}
	m.cert = &pair
	return nil
}

// readFile remembers the file as it was before it was read: a change in between is seen as one.
func (m *material) readFile(path string) ([]byte, error) {
	s, err := see(path)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path) //nolint:gosec // the operator's own configuration
	if err != nil {
		return nil, err
	}
	m.seen = append(m.seen, s)
	return text, nil
}

// certificates reads every certificate; other blocks, such as a key in the same file, are passed over.
func certificates(text []byte) ([]*x509.Certificate, error) {
	var found []*x509.Certificate
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", len(found)+1, err)
		}
		found = append(found, c)
	}
	if len(found) == 0 {
		return nil, noPEM(text, "no certificate in PEM form (BEGIN CERTIFICATE)")
	}
	return found, nil
}

// plainKey says better than crypto/tls what is wrong with a file that holds no key it could use.
func plainKey(text []byte) error {
	found := false
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if !bytes.HasSuffix([]byte(block.Type), []byte("PRIVATE KEY")) {
			continue
		}
		found = true
		if block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "" {
			return errors.New("the key has a passphrase; write it without one (openssl pkey -in OLD -out NEW) and protect the file")
		}
	}
	if !found {
		return noPEM(text, "no private key in PEM form (BEGIN PRIVATE KEY)")
	}
	return nil
}

// noPEM recognises what HiveServer2 itself uses: Java's keystores.
func noPEM(text []byte, what string) error {
	switch {
	case len(text) == 0:
		return errors.New("the file is empty")
	case bytes.HasPrefix(text, []byte{0xfe, 0xed, 0xfe, 0xed}):
		return errors.New(what + ": this is a Java keystore (JKS); convert it with keytool -importkeystore -deststoretype PKCS12, then openssl pkcs12 -nodes")
	case text[0] == 0x30:
		return errors.New(what + ": this is binary (DER or PKCS #12); convert it with openssl x509 -inform DER, or openssl pkcs12 -nodes")
	default:
		return errors.New(what)
	}
}
