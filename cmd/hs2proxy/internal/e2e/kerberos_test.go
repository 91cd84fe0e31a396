package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localkdc"
	"github.com/hs2proxy/hs2proxy/thrift"
	thriftclient "github.com/hs2proxy/hs2proxy/thrift/client"
)

const whoAmI = "SELECT logged_in_user()"

// Our own connections log in with a keytab, over the binary transport and by SPNEGO; a Java client logs in through the relay
// with a ticket and with a delegation token, and its statements are observed.
func TestKerberos(t *testing.T) {
	if os.Getenv("HS2PROXY_E2E") != "1" {
		t.Skip("set HS2PROXY_E2E=1 to log in with Kerberos to a real HiveServer2")
	}
	k := startKerberized(t, "auth")
	for name, config := range k.ownConfigs() {
		t.Run("our own, "+name, func(t *testing.T) { testOwnConnections(t, config) })
	}
	t.Run("in the session of another user", k.testForeignSession)
	t.Run("Java", func(t *testing.T) {
		ticket := k.url("principal=" + hivePrincipal)
		rows := k.runJava(t, whoAmI, "ticket", ticket, "token", ticket, k.url("auth=delegationToken"),
			"ticket", k.url("principal="+hivePrincipal+";transportMode=http;httpPath=cliservice"))
		if !slices.Equal(rows, []string{"alice", "alice", "alice"}) {
			t.Errorf("rows %q, want alice each time", rows)
		}
		stats := k.drained(t)
		if len(stats.Blind) != 0 || stats.RefusedLogins != 0 || stats.DecodeFailures != 0 {
			t.Errorf("blind %v, refused logins %d, decode failures %d", stats.Blind, stats.RefusedLogins, stats.DecodeFailures)
		}
		// The name is inside the ticket, and the driver's OpenSession has none; over HTTP the cookie tells.
		want := []string{
			`SASL GSSAPI "" "SELECT logged_in_user()" FINISHED`,
			`SASL DIGEST-MD5 "" "SELECT logged_in_user()" FINISHED`,
			`HTTP NEGOTIATE "alice" "SELECT logged_in_user()" FINISHED`,
		}
		if got := k.statements(); !slices.Equal(got, want) {
			t.Errorf("observed %q, want %q", got, want)
		}
	})
}

// testForeignSession: as our EXPLAIN does, a connection of one user works in the session that another has opened, and is
// there who opened it.
func (k *kerberized) testForeignSession(t *testing.T) {
	config := k.config
	config.Principal, config.KeytabFile = "alice@"+localkdc.Realm, k.alice
	alice, err := thriftclient.Dial(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = alice.Close() }()
	session, err := alice.OpenSession(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"CREATE TEMPORARY TABLE a (k INT)", "CREATE TEMPORARY TABLE b (k INT)"} {
		if _, err := alice.Run(t.Context(), session, sql, nil, false); err != nil {
			t.Fatal(err)
		}
	}
	for transport, address := range map[string]string{"binary": k.hive.Address(), "http": k.hive.HTTPAddress()} {
		config := k.config
		config.Transport, config.Address = transport, onLocalhost(address)
		ours, err := thriftclient.Dial(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		result, err := ours.Run(t.Context(), session, whoAmI, nil, false)
		if err != nil || len(result.Rows) != 1 || *result.Rows[0][0] != "alice" {
			t.Errorf("%s: %v, %v; want alice", transport, result.Rows, err)
		}
		plan, err := ours.Run(t.Context(), session, "EXPLAIN EXTENDED SELECT * FROM a JOIN b ON a.k = b.k",
			map[string]string{"hive.explain.user": "false", "hive.server2.logging.operation.level": "VERBOSE"}, true)
		if err != nil || len(plan.Rows) < 20 || len(plan.Log) == 0 {
			t.Errorf("%s: a plan of %d lines, a log of %d, %v", transport, len(plan.Rows), len(plan.Log), err)
		}
		if err := ours.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := alice.CloseSession(t.Context(), session); err != nil {
		t.Error(err)
	}
}

// ownConfigs are the ways to log in; over HTTP, HiveServer2 takes tickets for either of its principals.
func (k *kerberized) ownConfigs() map[string]thriftclient.Config {
	web := k.config
	web.Transport, web.Address = "http", onLocalhost(k.hive.HTTPAddress())
	spnego := web
	spnego.ServerPrincipal = "HTTP/_HOST@" + localkdc.Realm
	return map[string]thriftclient.Config{"binary": k.config, "http": web, "http with the principal of HTTP": spnego}
}

func testOwnConnections(t *testing.T, config thriftclient.Config) {
	t.Helper()
	conn, err := thriftclient.Dial(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	handle, err := conn.OpenSession(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := conn.Run(t.Context(), handle, whoAmI, nil, false)
	if err != nil || len(result.Rows) != 1 || *result.Rows[0][0] != "hs2proxy" {
		t.Errorf("Conn: %v, %v", result.Rows, err)
	}
	if err := conn.CloseSession(t.Context(), handle); err != nil {
		t.Error(err)
	}
	session, err := thriftclient.Open(t.Context(), config, nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err = session.Query(t.Context(), whoAmI)
	if err != nil || len(result.Rows) != 1 || *result.Rows[0][0] != "hs2proxy" {
		t.Errorf("Session: %v, %v", result.Rows, err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
}

// With a security layer the bytes pass unread and are counted, and our own connection says why it cannot log in.
func TestKerberosSecurityLayers(t *testing.T) {
	if os.Getenv("HS2PROXY_E2E") != "1" || os.Getenv("HS2PROXY_E2E_FULL") != "1" {
		t.Skip("set HS2PROXY_E2E=1 and HS2PROXY_E2E_FULL=1 to pass Kerberos security layers to a real HiveServer2")
	}
	for _, qop := range []string{"auth-int", "auth-conf"} {
		t.Run(qop, func(t *testing.T) {
			k := startKerberized(t, qop)
			if _, err := thriftclient.Dial(t.Context(), k.config); err == nil || !strings.Contains(err.Error(), "insists on "+qop) {
				t.Errorf("our own connection: %v", err)
			}
			ticket := k.url("principal=" + hivePrincipal + ";saslQop=" + qop)
			rows := k.runJava(t, whoAmI, "ticket", ticket, "token", ticket, k.url("auth=delegationToken;saslQop="+qop))
			if !slices.Equal(rows, []string{"alice", "alice"}) {
				t.Errorf("rows %q, want alice each time", rows)
			}
			stats := k.drained(t)
			if stats.Blind[thrift.BlindSealed] != 3 || len(stats.Blind) != 1 || stats.RefusedLogins != 0 {
				t.Errorf("blind %v, refused logins %d; want 3 sealed connections", stats.Blind, stats.RefusedLogins)
			}
			if got := k.statements(); len(got) != 0 {
				t.Errorf("statements of sealed connections: %q", got)
			}
		})
	}
}
