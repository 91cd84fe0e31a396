package e2e

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localkdc"
	"github.com/hs2proxy/hs2proxy/intercept"
	hives "github.com/hs2proxy/hs2proxy/intercept/upstream"
	thriftclient "github.com/hs2proxy/hs2proxy/thrift/client"
)

//go:embed clients/KerberosClient.java
var kerberosClient []byte

const hivePrincipal = "hive/localhost@" + localkdc.Realm

// kerberized is a HiveServer2 that wants tickets, with a KDC of its own and a relay in front.
type kerberized struct {
	kdc    *localkdc.KDC
	hive   *localhive.Server
	config thriftclient.Config // of our own connection, over the binary transport
	alice  string              // her keytab
	relay  *intercept.Server
	addr   string // host:port of the relay
	queue  *intercept.Queue
}

// startKerberized starts all three with hive.server2.thrift.sasl.qop.
func startKerberized(t *testing.T, qop string) *kerberized {
	t.Helper()
	kdc, err := localkdc.Start(t.Context(), t.TempDir())
	if errors.Is(err, localkdc.ErrNotInstalled) && os.Getenv("HS2PROXY_REQUIRE_KDC") != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kdc.Stop(); err != nil {
			t.Error(err)
		}
	})
	k := &kerberized{kdc: kdc}
	keytab := func(file string, names ...string) string {
		if err := kdc.AddPrincipals(t.Context(), names...); err != nil {
			t.Fatal(err)
		}
		path, err := kdc.Keytab(t.Context(), file, names...)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	server := keytab("hive.keytab", "hive/localhost", "HTTP/localhost")
	k.alice = keytab("alice.keytab", "alice")
	k.config = thriftclient.Config{
		Auth: "KERBEROS", Principal: "hs2proxy@" + localkdc.Realm, KeytabFile: keytab("hs2proxy.keytab", "hs2proxy"),
		ServerPrincipal: "hive/_HOST@" + localkdc.Realm, Krb5Conf: kdc.Krb5Conf(), CallTimeout: time.Minute,
	}
	k.hive, err = localhive.Start(t.Context(), localhive.Options{
		Dir: t.TempDir(), Auth: localhive.AuthKerberos, HTTP: true,
		Conf: map[string]string{
			"hive.server2.authentication.kerberos.principal": hivePrincipal,
			"hive.server2.authentication.kerberos.keytab":    server,
			"hive.server2.authentication.spnego.principal":   "HTTP/localhost@" + localkdc.Realm,
			"hive.server2.authentication.spnego.keytab":      server,
			"hive.server2.thrift.sasl.qop":                   qop,
			// Tez would want its folders to be owned by a system user "hive", as the server's principal is called.
			"hive.server2.tez.initialize.default.sessions": "false",
		},
		// The proxy user is for delegation tokens: HiveServer2 makes them as the client, also without doAs.
		CoreSite: map[string]string{
			"hadoop.security.authentication": "kerberos", "hadoop.proxyuser.hive.hosts": "*", "hadoop.proxyuser.hive.users": "*",
		},
		JavaOptions: []string{"-Djava.security.krb5.conf=" + kdc.Krb5Conf()},
		Probe:       k.probe,
		Progress:    func(s string) { t.Log(s) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.hive.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	k.config.Address = onLocalhost(k.hive.Address())
	k.startRelay(t)
	return k
}

// probe logs in; a server that wants a security layer says so only when it serves.
func (k *kerberized) probe(ctx context.Context, address string) error {
	config := k.config
	config.Address = onLocalhost(address)
	conn, err := thriftclient.Dial(ctx, config)
	if err != nil {
		if strings.Contains(err.Error(), "insists on auth-") {
			return nil
		}
		return err
	}
	return conn.Close()
}

// onLocalhost is the address by the name that the server's principal has.
func onLocalhost(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return net.JoinHostPort("localhost", port)
}

// startRelay puts a relay in front of both transports.
func (k *kerberized) startRelay(t *testing.T) {
	t.Helper()
	servers, err := hives.NewStatic([]hives.Server{{ID: "hive", Binary: k.hive.Address(), HTTP: k.hive.HTTPAddress()}}, hives.Options{})
	if err != nil {
		t.Fatal(err)
	}
	k.queue = intercept.NewQueue(10_000)
	log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)
	if k.relay, err = intercept.NewServer(intercept.Config{Servers: servers}, intercept.NewTracker(intercept.TrackerConfig{Upstream: "kerberized"}, k.queue), log); err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k.addr = listener.Addr().String() // another host than the principal's: a ticket is for a name, not for an address
	served := make(chan error, 1)
	go func() { served <- k.relay.Serve(context.WithoutCancel(t.Context()), listener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		if err := k.relay.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// url is a JDBC URL through the relay.
func (k *kerberized) url(more string) string {
	return "jdbc:hive2://" + k.addr + "/default;" + more
}

// runJava runs the Java client as alice and returns its lines.
func (k *kerberized) runJava(t *testing.T, sql string, logins ...string) []string {
	t.Helper()
	java, err := localhive.FindJava(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lib, err := localhive.DefaultLibDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source, logging := filepath.Join(dir, "KerberosClient.java"), filepath.Join(dir, "log4j2.properties")
	for file, text := range map[string][]byte{source: kerberosClient, logging: []byte("rootLogger.level = OFF\n")} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{
		"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.configurationFile=" + logging, "-Djava.net.preferIPv4Stack=true",
		"-Djava.security.krb5.conf=" + k.kdc.Krb5Conf(), "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
		"-cp", filepath.Join(lib, "*"), source, "alice@" + localkdc.Realm, k.alice, sql,
	}
	cmd := exec.CommandContext(t.Context(), java.Path, append(args, logins...)...)
	var words bytes.Buffer
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the Java client: %v\n%s\n%s", err, out, lastLines(words.String(), 40))
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// statements drains the observations and returns, for each statement that ended, its authentication, user, text and state.
func (k *kerberized) statements() []string {
	var out []string
	for k.queue.Len() > 0 {
		if e := <-k.queue.Events(); e.Kind == intercept.StatementEnded {
			out = append(out, fmt.Sprintf("%s %q %q %s", e.Session.Auth, e.Session.User, e.Statement.SQL, e.Statement.State))
		}
	}
	return out
}

// drained waits until the relay has no connection left, so that everything that passed has been observed.
func (k *kerberized) drained(t *testing.T) intercept.Stats {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		stats := k.relay.Stats()
		if stats.Open == 0 {
			return stats
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%d connections are still open", stats.Open)
		}
	}
}
