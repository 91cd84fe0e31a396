package localkdc

import (
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// What a real KDC refuses is told by its reason; HiveServer2, which refuses every ticket here, is asked only with one.
func TestLoginErrors(t *testing.T) {
	k := start(t)
	if err := k.AddPrincipals(t.Context(), "hs2proxy", "gone", "renewed", "hive/localhost"); err != nil {
		t.Fatal(err)
	}
	keytab := func(name string) string {
		path, err := k.Keytab(t.Context(), name+".keytab", name)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	hive := refuser(t)
	login := func(change func(*client.Config)) error {
		config := client.Config{
			Address: hive, Auth: "KERBEROS", Principal: "hs2proxy", KeytabFile: filepath.Join(k.dir, "hs2proxy.keytab"),
			ServerPrincipal: "hive/_HOST@" + Realm, Krb5Conf: k.Krb5Conf(),
		}
		change(&config)
		_, err := client.Dial(t.Context(), config)
		return err
	}
	as := func(name string) func(*client.Config) {
		path := keytab(name)
		return func(c *client.Config) { c.Principal, c.KeytabFile = name+"@"+Realm, path }
	}
	asGone, asRenewed := as("gone"), as("renewed")
	keytab("hs2proxy")
	if err := k.RemovePrincipal(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	if err := k.RenewKeys(t.Context(), "renewed"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		change func(*client.Config)
		want   string
	}{
		{func(*client.Config) {}, "login refused: not you (HiveServer2 took the ticket ill"},
		{asGone, "the KDC does not know principal gone@" + Realm},
		{asRenewed, "holds outdated keys of renewed@" + Realm},
		{func(c *client.Config) { c.ServerPrincipal = "impala/_HOST@" + Realm }, "the KDC does not know the server principal impala/localhost"},
	} {
		if err := login(tt.change); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
	if err := k.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := login(func(*client.Config) {}); err == nil || !strings.Contains(err.Error(), "no KDC that "+k.Krb5Conf()+" names can be reached") {
		t.Errorf("without a KDC: %v", err)
	}
}

// refuser is a SASL server that refuses every login, at localhost.
func refuser(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "\x03\x00\x00\x00\x07not you")
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return net.JoinHostPort("localhost", port)
}
