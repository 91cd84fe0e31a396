package tlsfiles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestErrors: each names the file and what is wrong with it.
func TestErrors(t *testing.T) {
	ca, f := newAuthority(t, "ca", later), newFolder(t)
	cert, key := f.pair(ca, "good", "proxy", 0)
	_, other := f.pair(ca, "other", "proxy", 0)
	write := func(name, text string) string { return f.write(name, []byte(text), 0) }
	var (
		gone      = f.path("gone")
		empty     = write("empty", "")
		text      = write("text", "not PEM at all")
		jks       = write("jks", "\xfe\xed\xfe\xed\x00\x00\x00\x02")
		der       = f.write("der", ca.cert.Raw, 0)
		broken    = f.write("broken", block("CERTIFICATE", []byte("nothing")), 0)
		encrypted = f.write("encrypted", block("ENCRYPTED PRIVATE KEY", []byte("secret")), 0)
		legacy    = write("legacy", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n")
		badKey    = f.write("badkey", block("PRIVATE KEY", []byte("nothing")), 0)
	)
	for name, test := range map[string]struct {
		cert, key, ca string
		want          []string
	}{
		"no certificate file":  {gone, key, "", []string{"certificate file", gone}},
		"no key file":          {cert, gone, "", []string{"key file", gone}},
		"no CA file":           {cert, key, gone, []string{"CA file", gone}},
		"empty certificate":    {empty, key, "", []string{"certificate file " + empty, "empty"}},
		"empty key":            {cert, empty, "", []string{"key file " + empty, "empty"}},
		"empty CA":             {cert, key, empty, []string{"CA file " + empty, "empty"}},
		"text for certificate": {text, key, "", []string{text, "BEGIN CERTIFICATE"}},
		"text for key":         {cert, text, "", []string{text, "BEGIN PRIVATE KEY"}},
		"Java keystore":        {jks, key, "", []string{jks, "keytool"}},
		"Java truststore":      {cert, key, jks, []string{jks, "keytool"}},
		"binary certificate":   {der, key, "", []string{der, "openssl"}},
		"broken certificate":   {broken, key, "", []string{broken, "certificate 1"}},
		"broken CA":            {cert, key, broken, []string{broken, "certificate 1"}},
		"key with passphrase":  {cert, encrypted, "", []string{encrypted, "passphrase"}},
		"the older form of it": {cert, legacy, "", []string{legacy, "passphrase"}},
		"broken key":           {cert, badKey, "", []string{badKey}},
		"another one's key":    {cert, other, "", []string{cert, other, "match"}},
		"the key alone":        {key, key, "", []string{key, "BEGIN CERTIFICATE"}},
		"no key in it":         {cert, "", "", []string{cert, "BEGIN PRIVATE KEY"}},
	} {
		s, serverErr := Server(ServerFiles{Cert: test.cert, Key: test.key, ClientCA: test.ca})
		c, clientErr := Client(ClientFiles{Cert: test.cert, Key: test.key, CA: test.ca})
		for _, err := range []error{serverErr, clientErr} {
			for _, want := range test.want {
				if err == nil || s != nil || c != nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want %q", name, err, want)
				}
			}
		}
	}
	if _, err := Client(ClientFiles{Key: key}); err == nil || !strings.Contains(err.Error(), key) {
		t.Errorf("a key without a certificate: %v", err)
	}
	if _, err := Server(ServerFiles{ClientCA: f.write("ca.pem", ca.pem, 0)}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server without a certificate: %v", err)
	}
}

func TestChanged(t *testing.T) {
	ca, f := newAuthority(t, "ca", later), newFolder(t)
	cert, key := f.pair(ca, "server", "proxy", 0)
	authorities := f.write("ca.pem", ca.pem, 0)
	s := mustServer(t, ServerFiles{Cert: cert, Key: key, ClientCA: authorities})
	wants := func(what string, want bool) {
		t.Helper()
		if got := s.Changed(); got != want {
			t.Errorf("%s: changed is %v", what, got)
		}
		if err := s.Reload(); err != nil {
			t.Fatal(err)
		}
		if s.Changed() {
			t.Errorf("%s: changed after the reload", what)
		}
	}
	wants("nothing", false)
	f.write("ca.pem", ca.pem, time.Minute)
	wants("another time", true)
	f.write("ca.pem", append([]byte("# a comment\n"), ca.pem...), time.Minute)
	wants("another size", true)

	f.write("ca.new", append([]byte("# a comment\n"), ca.pem...), time.Minute)
	if err := os.Rename(f.path("ca.new"), authorities); err != nil {
		t.Fatal(err)
	}
	wants("another file, same time and size", true)

	if err := os.Rename(key, key+".away"); err != nil {
		t.Fatal(err)
	}
	if !s.Changed() {
		t.Error("a file that is gone")
	}
	if err := os.Rename(key+".away", key); err != nil {
		t.Fatal(err)
	}
	wants("a file that is back", false)
}

// TestKubernetes: a secret's files are links through "..data", which is switched to another folder at once.
func TestKubernetes(t *testing.T) {
	ca, f := newAuthority(t, "ca", later), newFolder(t)
	version := func(name, host string) {
		cert, key := ca.issue(t, host, begin, later)
		if err := os.Mkdir(f.path(name), 0o700); err != nil {
			t.Fatal(err)
		}
		f.write(filepath.Join(name, "tls.crt"), cert, 0)
		f.write(filepath.Join(name, "tls.key"), key, 0)
	}
	link := func(target, name string) {
		if err := os.Symlink(target, f.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	version("..one", "one")
	link("..one", "..data")
	link("..data/tls.crt", "tls.crt")
	link("..data/tls.key", "tls.key")
	s := mustServer(t, ServerFiles{Cert: f.path("tls.crt"), Key: f.path("tls.key")})

	version("..two", "two")
	if s.Changed() {
		t.Error("changed before the switch")
	}
	link("..two", "..data_tmp")
	if err := os.Rename(f.path("..data_tmp"), f.path("..data")); err != nil {
		t.Fatal(err)
	}
	if !s.Changed() {
		t.Error("the switch is not seen")
	}
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if err := handshake(t, s.Config(), trusting(ca, "two")).err(); err != nil {
		t.Error(err)
	}
}

func TestWarnings(t *testing.T) {
	ca, old, f := newAuthority(t, "ca", later), newAuthority(t, "old", begin.Add(time.Hour)), newFolder(t)
	certText, keyText := ca.issue(t, "proxy", begin, begin.Add(2*time.Hour))
	cert, key := f.write("server.crt", append(certText, ca.pem...), 0), f.write("server.key", keyText, 0)
	both := f.write("both.pem", append(append([]byte{}, old.pem...), ca.pem...), 0)
	s := mustServer(t, ServerFiles{Cert: cert, Key: key, ClientCA: both})
	if got, want := s.NotAfter(), begin.Add(2*time.Hour); !got.Equal(want) {
		t.Errorf("expires at %v, want the leaf's %v", got, want)
	}
	expired := begin.Add(2*time.Hour + time.Second)
	for name, test := range map[string]struct {
		now  time.Time
		want []string // parts, one for each warning
	}{
		"good":                {begin, nil},
		"at the last moment":  {begin.Add(2 * time.Hour), nil},
		"expired":             {expired, []string{"server.crt: \"CN=proxy\" expired at " + begin.Add(2*time.Hour).UTC().Format(time.RFC3339)}},
		"everything expired":  {later.Add(time.Second), []string{"CN=proxy", "CN=ca", "both.pem: no authority in it is valid now"}},
		"not valid as of yet": {begin.Add(-time.Second), []string{"CN=proxy\" is not valid before", "CN=ca", "both.pem"}},
	} {
		got := s.Warnings(test.now)
		if len(got) != len(test.want) {
			t.Errorf("%s: %q", name, got)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], test.want[i]) {
				t.Errorf("%s: %q, want %q", name, got[i], test.want[i])
			}
		}
	}

	// An expired certificate is a warning, not an error: refusing to start would not help anybody.
	deadCert, deadKey := ca.issue(t, "proxy", begin.Add(-2*time.Hour), begin.Add(-time.Hour))
	f.write("server.crt", deadCert, time.Minute)
	f.write("server.key", deadKey, time.Minute)
	if err := s.Reload(); err != nil || len(s.Warnings(begin)) != 1 {
		t.Errorf("%v, %q", err, s.Warnings(begin))
	}
}
