package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive"
)

// sharedServer is a HiveServer2 without passwords and TLS, on both transports, for every test that leaves nothing running in it: the first
// that asks starts it. A server's start and the first statements that it compiles take half a minute of processor time.
var sharedServer struct {
	sync.Mutex
	dir  string
	hive *localhive.Server
	err  error
}

// sharedConf are its settings beyond those of every local HiveServer2.
func sharedConf() map[string]string {
	return map[string]string{
		// A task that fails is to fail once: each further attempt costs its second in every run.
		"tez.am.task.max.failed.attempts": "1",
		// Without direct SQL, as a fresh Derby metastore lacks the table of partitions' column statistics.
		"metastore.try.direct.sql": "false",
	}
}

func sharedHive(t *testing.T) *localhive.Server {
	t.Helper()
	requireE2E(t)
	sharedServer.Lock()
	defer sharedServer.Unlock()
	if sharedServer.hive == nil && sharedServer.err == nil {
		sharedServer.err = startShared(func(s string) { t.Log(s) })
	}
	if sharedServer.err != nil {
		t.Fatal(sharedServer.err)
	}
	return sharedServer.hive
}

// startShared outlives the test that asks for it.
func startShared(progress func(string)) (err error) {
	if sharedServer.dir, err = os.MkdirTemp("", "hs2proxy-e2e-"); err != nil {
		return fmt.Errorf("make a folder for HiveServer2: %w", err)
	}
	sharedServer.hive, err = localhive.Start(context.Background(), localhive.Options{
		Dir: sharedServer.dir, HTTP: true, Conf: sharedConf(), Progress: progress,
	})
	return err
}

func stopShared() error {
	sharedServer.Lock()
	defer sharedServer.Unlock()
	var err error
	if sharedServer.hive != nil {
		err = sharedServer.hive.Stop(context.Background())
	}
	return errors.Join(err, os.RemoveAll(sharedServer.dir))
}
