package localzk

import (
	"context"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive"
	"github.com/hs2proxy/hs2proxy/intercept/upstream"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// A real HiveServer2 registers with both its ports, is found, takes a session, and is not listed any more when it stops.
func TestHiveServer2IsDiscovered(t *testing.T) {
	if os.Getenv("HS2PROXY_E2E") != "1" {
		t.Skip("set HS2PROXY_E2E=1 to find a real HiveServer2 in a real ZooKeeper")
	}
	zookeeper := start(t, t.TempDir(), 0)
	set, c := discover(t, upstream.ZKConfig{Ensemble: zookeeper.Address(), Namespace: "hs2proxy-e2e"}, upstream.Options{})
	httpPort := freePort(t)
	hive, err := localhive.Start(t.Context(), localhive.Options{
		Dir: t.TempDir(), Progress: func(s string) { t.Log(s) },
		Conf: map[string]string{
			"hive.server2.support.dynamic.service.discovery": "true",
			"hive.zookeeper.quorum":                          zookeeper.Address(),
			"hive.server2.zookeeper.namespace":               "hs2proxy-e2e",
			"hive.server2.transport.mode":                    "all",
			"hive.server2.thrift.http.port":                  httpPort,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	stop := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := hive.Stop(ctx); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)

	server := c.await(t, upstream.Joined).Server
	t.Logf("registered: %+v", *server)
	_, port, err := net.SplitHostPort(hive.Address())
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{server.Binary: port, server.HTTP: httpPort, server.ID: port} {
		if _, got, err := net.SplitHostPort(address); err != nil || got != want {
			t.Errorf("published %q, want port %s", address, want)
		}
	}
	if p := server.Published; p.TransportMode != "all" || p.Authentication != "NONE" || p.HTTPPath != "cliservice" || p.Version == "" || p.TLS {
		t.Errorf("published settings: %+v", p)
	}
	session, err := client.Open(t.Context(), client.Config{
		Address: set.Candidates(upstream.Binary)[0].Binary, Auth: "NONE", User: "e2e", Password: "e2e",
		DialTimeout: 10 * time.Second, CallTimeout: time.Minute,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}

	stop()
	if got := c.await(t, upstream.Left).Server; got.ID != server.ID {
		t.Errorf("%s left, want %s", got.ID, server.ID)
	}
	if rest := set.Candidates(upstream.Binary); len(rest) != 0 {
		t.Errorf("candidates after the only server has stopped: %d", len(rest))
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
