package localkdc

import (
	"errors"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	krb5 "github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A principal gets a ticket by its keytab, for a service that exists, and a second Stop is harmless.
func TestTicket(t *testing.T) {
	k := start(t)
	if err := k.AddPrincipals(t.Context(), "alice", "hive/localhost"); err != nil {
		t.Fatal(err)
	}
	path, err := k.Keytab(t.Context(), "alice.keytab", "alice")
	if err != nil {
		t.Fatal(err)
	}
	client := login(t, k, path)
	if _, _, err := client.GetServiceTicket("hive/localhost"); err != nil {
		t.Error(err)
	}
	if _, _, err := client.GetServiceTicket("hive/elsewhere"); err == nil || !strings.Contains(err.Error(), "(7)") {
		t.Errorf("a ticket for an unknown service: %v", err)
	}
	client.Destroy()

	if err := k.AddPrincipals(t.Context(), "alice"); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("a principal made twice: %v", err)
	}
	if _, err := k.Keytab(t.Context(), "x.keytab", "nobody"); err == nil {
		t.Error("a keytab of nobody: want an error")
	}
	if err := k.AddPrincipals(t.Context(), "a b"); err == nil {
		t.Error("a blank in a name: want an error")
	}

	for range 2 {
		if err := k.Stop(); err != nil {
			t.Error(err)
		}
	}
	if err := k.process.Signal(os.Interrupt); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("behind Stop: %v, want %v", err, os.ErrProcessDone)
	}
}

func login(t *testing.T, k *KDC, path string) *krb5.Client {
	t.Helper()
	conf, err := config.Load(k.Krb5Conf())
	if err != nil {
		t.Fatal(err)
	}
	keys, err := keytab.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	client := krb5.NewWithKeytab("alice", Realm, keys, conf)
	if err := client.Login(); err != nil {
		t.Fatal(err)
	}
	return client
}

func TestMissingPrograms(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := find(nil)
	if !errors.Is(err, ErrNotInstalled) || !strings.Contains(err.Error(), "apt-get install krb5-kdc krb5-admin-server krb5-user") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, want one line that says what to install", err)
	}
}

// start starts a KDC for a test. Without the programs the test is skipped, and fails where HS2PROXY_REQUIRE_KDC=1 asks
// for it in CI.
func start(t *testing.T) *KDC {
	t.Helper()
	if _, err := find(folders); err != nil {
		if os.Getenv("CI") == "true" && os.Getenv("HS2PROXY_REQUIRE_KDC") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	k, err := Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Stop(); err != nil {
			t.Error(err)
		}
	})
	return k
}
