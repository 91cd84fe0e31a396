package localzk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/go-zookeeper/zk"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive"
	"github.com/hs2proxy/hs2proxy/intercept/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// start runs a ZooKeeper in a folder until the test ends. Without Java or Hive's jars the test is skipped; HS2PROXY_E2E=1 fetches
// the jars, and fails without Java.
func start(t *testing.T, dir string, port int) *Server {
	t.Helper()
	required := os.Getenv("HS2PROXY_E2E") == "1"
	java, err := localhive.FindJava(t.Context())
	if err != nil {
		if required {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	lib, err := localhive.DefaultLibDir()
	if err != nil {
		t.Fatal(err)
	}
	if required {
		if err := localhive.FetchJars(t.Context(), lib, java, func(s string) { t.Log(s) }); err != nil {
			t.Fatal(err)
		}
	} else if jars, _ := filepath.Glob(filepath.Join(lib, "zookeeper-*.jar")); len(jars) == 0 {
		t.Skip("no ZooKeeper jar is in the cache; HS2PROXY_E2E=1 fetches Hive's jars")
	}
	s, err := Start(t.Context(), Options{Dir: dir, LibDir: lib, Java: java.Path, Port: port})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Kill(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// registrar is a client that registers servers as HiveServer2 does.
type registrar struct {
	*zk.Conn
}

func register(t *testing.T, address string) registrar {
	t.Helper()
	conn, events, err := zk.Connect([]string{address}, 20*Tick, zk.WithLogInfo(false), zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		for range events {
		}
	})
	return registrar{conn}
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// namespace makes the parent, as Curator's creatingParentsIfNeeded.
func (r registrar) namespace(t *testing.T, path string) {
	t.Helper()
	if _, err := r.Create(path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		t.Fatal(err)
	}
}

// add registers a server in mode binary under /hiveserver2 and returns its znode.
func (r registrar) add(t *testing.T, address, data string) string {
	t.Helper()
	path, err := r.Create(fmt.Sprintf("/hiveserver2/serverUri=%s;version=4.0.1;sequence=", address), []byte(data),
		zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (r registrar) remove(t *testing.T, path string) {
	t.Helper()
	if err := r.Delete(path, -1); err != nil {
		t.Fatal(err)
	}
}

// changes are what a Set reports, in order.
type changes chan upstream.Change

func (c changes) note(change upstream.Change) { c <- change }

// await returns the next change of a kind and passes by others.
func (c changes) await(t *testing.T, kind upstream.Kind) upstream.Change {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case got := <-c:
			if got.Kind == kind {
				return got
			}
		case <-timer.C:
			t.Fatalf("no change of kind %q in %s", kind, patience)
		}
	}
}
