package localpg_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/hs2proxy/hs2proxy/store/localpg"
)

// parentName is the argv[0] under which this test binary plays a program that starts a server and then dies.
const parentName = "localpg-test-parent"

func TestMain(m *testing.M) {
	if localpg.Hook() {
		return
	}
	if os.Args[0] == parentName {
		s, err := localpg.Start(context.Background(), localpg.Options{})
		answer := map[string]string{}
		if err != nil {
			answer["error"] = err.Error()
		} else {
			answer["dsn"] = s.DSN()
		}
		_ = json.NewEncoder(os.Stdout).Encode(answer)
		select {} // until it is killed
	}
	goleak.VerifyTestMain(m)
}

func start(t *testing.T, o localpg.Options) *localpg.Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s, err := localpg.Start(ctx, o)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return s
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func address(t *testing.T, dsn string) string {
	t.Helper()
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
}

func TestServerIsOursAlone(t *testing.T) {
	temp, err := os.MkdirTemp("", "localpg-temp-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	if err := os.Chmod(temp, 0o755); err != nil { // the server runs under another uid
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	s := start(t, localpg.Options{})
	c := connect(t, s.DSN())
	var listen, sockets, db string
	if err := c.QueryRow(t.Context(), `SELECT current_setting('listen_addresses'), current_setting('unix_socket_directories'), current_database()`).
		Scan(&listen, &sockets, &db); err != nil {
		t.Fatal(err)
	}
	if listen != "127.0.0.1" || sockets != "" || db != "hs2proxy" {
		t.Errorf("listens on %q and %q, database %q", listen, sockets, db)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	wrong, err := pgx.ParseConfig(s.DSN())
	if err != nil {
		t.Fatal(err)
	}
	wrong.Password += "x"
	if c, err := pgx.ConnectConfig(t.Context(), wrong); err == nil {
		_ = c.Close(t.Context())
		t.Error("a wrong password was accepted")
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if conn, err := net.Dial("tcp", address(t, s.DSN())); err == nil {
		_ = conn.Close()
		t.Error("still listening after Stop")
	}
}

func TestDataDirKeepsData(t *testing.T) {
	dir, err := os.MkdirTemp("", "localpg-data-") // t.TempDir's parent is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := start(t, localpg.Options{DataDir: dir})
	c := connect(t, s.DSN())
	if _, err := c.Exec(t.Context(), `CREATE TABLE kept AS SELECT 42 AS n`); err != nil {
		t.Fatal(err)
	}
	_ = c.Close(t.Context())
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	s = start(t, localpg.Options{DataDir: dir})
	c = connect(t, s.DSN())
	defer func() { _ = c.Close(t.Context()) }()
	var n int
	if err := c.QueryRow(t.Context(), `SELECT n FROM kept`).Scan(&n); err != nil || n != 42 {
		t.Errorf("kept = %d, %v", n, err)
	}
	if _, err := localpg.Start(t.Context(), localpg.Options{DataDir: dir}); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("a second server on one data folder: %v", err)
	}
}

// cachedArchive is what lies in the user's cache folder, fetched by a start when it is not there.
func cachedArchive(t *testing.T) string {
	t.Helper()
	user, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	pattern := filepath.Join(user, "hs2proxy", "postgres", "*.tar")
	files, _ := filepath.Glob(pattern)
	if len(files) == 0 {
		start(t, localpg.Options{})
		files, _ = filepath.Glob(pattern)
	}
	if len(files) == 0 {
		t.Fatal("nothing in the user's cache folder")
	}
	return files[0]
}

func TestDiesWithItsParent(t *testing.T) {
	cachedArchive(t) // skips where no server can be had
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{parentName}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var answer map[string]string
	err = json.NewDecoder(bufio.NewReader(out)).Decode(&answer)
	_ = cmd.Process.Signal(syscall.SIGKILL)
	_ = cmd.Wait()
	if err != nil || answer["error"] != "" {
		t.Fatal(err, answer)
	}
	addr := address(t, answer["dsn"])
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		_ = conn.Close()
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the server outlived its parent")
		}
	}
}

func TestDamagedCacheIsFetchedAgain(t *testing.T) {
	archive := cachedArchive(t)
	cache := t.TempDir()
	name := filepath.Join(cache, filepath.Base(archive))
	if err := os.WriteFile(name, []byte("half of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name+".sha256", []byte("0000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := make(chan string, 10)
	repo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		http.NotFound(w, r)
	}))
	defer repo.Close()
	_, err := localpg.Start(t.Context(), localpg.Options{CacheDir: cache, RepositoryURL: repo.URL})
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "DSN") {
		t.Errorf("want one line with the mend, got %v", err)
	}
	if len(asked) == 0 {
		t.Error("the damaged binaries were not fetched again")
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	hold := make(chan struct{})
	repo := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}))
	defer repo.Close()
	defer close(hold)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	_, err := localpg.Start(ctx, localpg.Options{CacheDir: t.TempDir(), RepositoryURL: repo.URL, Progress: func(string) { cancel(why) }})
	if err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("err = %v", err)
	}
}
