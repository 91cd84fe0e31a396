package client

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/krberror"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// ticketConfig is a configuration for KERBEROS with files of its own: krb5.conf with a KDC at kdc, and a keytab of hs2proxy.
func ticketConfig(t *testing.T, kdc string) Config {
	t.Helper()
	b, err := testKeys().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Address: "127.0.0.1:1", Auth: "KERBEROS", Principal: "hs2proxy@" + testRealm, ServerPrincipal: "hive/_HOST@" + testRealm,
		KeytabFile: file(t, "keytab", string(b)),
		Krb5Conf: file(t, "krb5.conf", "include /nowhere\n[libdefaults]\n default_realm = "+testRealm+"\n udp_preference_limit = 1\n"+
			"[realms]\n "+testRealm+" = {\n  kdc = "+kdc+"\n }\n"),
	}
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What is wrong with the files is said before anybody is asked.
func TestKerberosFiles(t *testing.T) {
	tests := map[string]struct {
		change func(*testing.T, *Config)
		want   string
	}{
		"no krb5.conf":     {func(_ *testing.T, c *Config) { c.Krb5Conf = "/nowhere/krb5.conf" }, "read /nowhere/krb5.conf"},
		"no keytab":        {func(_ *testing.T, c *Config) { c.KeytabFile = "/nowhere/keytab" }, "read keytab /nowhere/keytab"},
		"not a keytab":     {func(t *testing.T, c *Config) { c.KeytabFile = file(t, "k", "keys") }, "read keytab "},
		"another's keytab": {func(_ *testing.T, c *Config) { c.Principal = "other@" + testRealm }, "holds no key of other@EXAMPLE.TEST, but of hs2proxy@EXAMPLE.TEST, hive/localhost@EXAMPLE.TEST"},
		"no realm": {
			func(t *testing.T, c *Config) { c.Principal, c.Krb5Conf = "hs2proxy", file(t, "c", "[libdefaults]\n") },
			`principal "hs2proxy" has no realm`,
		},
		"no KDC": {func(t *testing.T, c *Config) { c.Krb5Conf = file(t, "c", "[libdefaults]\n default_realm = X\n") }, "names no KDC of the realm"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, transport := range []string{"binary", "http"} {
				config := ticketConfig(t, "127.0.0.1:1")
				config.Transport = transport
				tt.change(t, &config)
				if _, err := Dial(t.Context(), config); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s: error %v, want %q", transport, err, tt.want)
				}
			}
		})
	}
}

// _HOST is the host of the address, in lower case, and the realm that of the server's principal.
func TestServerPrincipal(t *testing.T) {
	config := ticketConfig(t, "127.0.0.1:1")
	config.Address, config.ServerPrincipal = "Hive1.Example.COM:10000", "hive/_HOST@ELSEWHERE.TEST"
	config.Principal = "hs2proxy" // in krb5.conf's realm
	k, err := newKerberos(config)
	if err != nil {
		t.Fatal(err)
	}
	defer k.destroy()
	if realm := k.client.Config.ResolveRealm("hive1.example.com"); k.service != "hive/hive1.example.com" || realm != "ELSEWHERE.TEST" || k.client.Credentials.Domain() != testRealm {
		t.Errorf("service %q in realm %q, ours %q", k.service, realm, k.client.Credentials.Domain())
	}
}

// Every refusal of the KDC says what is wrong and where, in front of gokrb5's own words.
func TestKerberosErrors(t *testing.T) {
	k := kerberos{service: "hive/h", config: Config{Principal: "hs2proxy@R", KeytabFile: "/etc/k", Krb5Conf: "/etc/krb5.conf"}}
	for code, want := range map[int32]string{
		errorcode.KDC_ERR_C_PRINCIPAL_UNKNOWN: "does not know principal hs2proxy@R",
		errorcode.KDC_ERR_S_PRINCIPAL_UNKNOWN: "does not know the server principal hive/h",
		errorcode.KDC_ERR_PREAUTH_FAILED:      "keytab /etc/k holds outdated keys",
		errorcode.KRB_AP_ERR_SKEW:             "clocks of this machine and of the KDC",
		errorcode.KDC_ERR_CLIENT_REVOKED:      "locked or has expired",
		errorcode.KDC_ERR_ETYPE_NOSUPP:        "encryption type",
		errorcode.KDC_ERR_SVC_UNAVAILABLE:     "get a ticket for hive/h",
	} {
		refusal := messages.NewKRBError(types.PrincipalName{}, "R", code, "")
		err := krberror.Errorf(refusal, krberror.KDCError, "AS Exchange Error: kerberos error response from KDC")
		if got := k.explain(err); !strings.HasPrefix(got.Error(), "kerberos: ") || !strings.Contains(got.Error(), want) || !strings.Contains(got.Error(), refusal.Error()) {
			t.Errorf("code %d: %v, want %q", code, got, want)
		}
	}
}

// A KDC that cannot be reached, and one that does not answer until the login's time is over. HiveServer2 is not asked.
func TestKDCAway(t *testing.T) {
	if _, err := Dial(t.Context(), ticketConfig(t, "127.0.0.1:1")); err == nil || !strings.Contains(err.Error(), "no KDC that ") {
		t.Errorf("error %v", err)
	}
	asked, release := make(chan struct{}, 10), make(chan struct{})
	silent := listen(t, func(net.Conn) {
		asked <- struct{}{}
		<-release // gokrb5 would wait for five seconds
	})
	defer close(release)
	for _, transport := range []string{"binary", "http"} {
		config := ticketConfig(t, silent.Address)
		config.Transport = transport
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-asked; cancel() }()
		if _, err := Dial(ctx, config); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "no answer of a KDC yet") {
			t.Errorf("%s: error %v, want the context's", transport, err)
		}
	}
}

func TestEmptyKeytab(t *testing.T) {
	if err := holds(keytab.New(), "hs2proxy@R"); err == nil || !strings.Contains(err.Error(), "holds no keys") {
		t.Errorf("error %v", err)
	}
}
