package localpg

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	database    = "hs2proxy"
	superuser   = "postgres"
	stopTimeout = 20 * time.Second
	// startGrace is what a start that is called off gets to finish: more than initdb and the server's start need, so
	// that only a download is cut short.
	startGrace = 3 * time.Second
	portTries  = 3
)

// Options say where the server keeps what it needs. The zero value is a temporary server.
type Options struct {
	// DataDir keeps the data and the password between runs; empty: a temporary folder that Stop removes. The folders
	// above it must be open to uid 65534 when root starts the server.
	DataDir string
	// CacheDir holds the unpacked binaries, about 50 MB; empty: hs2proxy/postgres in the user's cache folder.
	CacheDir string
	// RepositoryURL is the base URL of a Maven repository that serves the binaries; empty: Maven Central.
	RepositoryURL string
	// Progress takes one short line per phase that a person may wait for; may be nil.
	Progress func(string)
}

// Server is a running PostgreSQL.
type Server struct {
	dsn    string
	runDir string
	keeper *keeperProcess
	stop   func() error
}

// DSN is the connection string of the superuser, a URL.
func (s *Server) DSN() string { return s.dsn }

// Stop ends the server and removes what was temporary. Later calls return the first one's result.
func (s *Server) Stop() error { return s.stop() }

// Start runs a server and returns once it accepts connections. The error is one line that says what to do.
func Start(ctx context.Context, o Options) (*Server, error) {
	s, err := start(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("local PostgreSQL: %s; name a server of yours in the DSN instead", oneLine(err.Error()))
	}
	return s, nil
}

// start tries again where another process took the port between our look and the server's start.
func start(ctx context.Context, o Options) (*Server, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	cache, err := openBinaryCache(o.CacheDir)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		port, err := freePort(ctx)
		if err != nil {
			return nil, err
		}
		s, err := startOn(ctx, o, cache, port)
		if err == nil {
			return s, nil
		}
		if try == portTries || ctx.Err() != nil || portFree(ctx, port) {
			return nil, err
		}
	}
}

func startOn(ctx context.Context, o Options, cache binaryCache, port uint32) (_ *Server, err error) {
	runDir, err := os.MkdirTemp("", "hs2proxy-postgres-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary folder: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(runDir))
		}
	}()
	cfg, err := prepare(runDir, o)
	if err != nil {
		return nil, err
	}
	cfg.Port = port
	cached, err := cache.unpackTo(cfg.BinaryDir)
	if err != nil {
		return nil, err
	}
	if err := handOver(runDir); err != nil {
		return nil, err
	}
	if cached {
		o.Progress("starting PostgreSQL " + string(version))
	} else {
		o.Progress("fetching and starting PostgreSQL " + string(version) + " (about 15 MB, once)")
	}
	k, err := startKeeper(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if !cached {
		if err := cache.keep(cfg.BinaryDir); err != nil {
			return nil, errors.Join(err, k.stop(stopTimeout))
		}
	}
	return newServer(cfg, k), nil
}

func newServer(cfg keeperConfig, k *keeperProcess) *Server {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(superuser, cfg.Password),
		Host: net.JoinHostPort("127.0.0.1", strconv.FormatUint(uint64(cfg.Port), 10)), Path: "/" + database,
		RawQuery: "sslmode=disable",
	}
	s := &Server{dsn: u.String(), runDir: cfg.RunDir, keeper: k}
	s.stop = sync.OnceValue(func() error {
		return errors.Join(s.keeper.stop(stopTimeout), os.RemoveAll(s.runDir))
	})
	return s
}

// prepare lays out the keeper's folders, still as the caller's user.
func prepare(runDir string, o Options) (keeperConfig, error) {
	cfg := keeperConfig{
		RunDir: runDir, ArchiveDir: filepath.Join(runDir, "archive"), BinaryDir: filepath.Join(runDir, "postgres"),
		DataDir: filepath.Join(runDir, "data"), TempDir: filepath.Join(runDir, "tmp"),
		RepositoryURL: o.RepositoryURL, Password: rand.Text(),
	}
	for _, d := range []string{cfg.ArchiveDir, cfg.BinaryDir, cfg.TempDir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return cfg, fmt.Errorf("make a temporary folder: %w", err)
		}
	}
	if o.DataDir == "" {
		return cfg, nil
	}
	dir, err := filepath.Abs(o.DataDir)
	if err != nil {
		return cfg, fmt.Errorf("data folder: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return cfg, fmt.Errorf("data folder: %w", err)
	}
	cfg.Durable, cfg.DataDir, cfg.ReadyFile = true, filepath.Join(dir, "data"), filepath.Join(dir, "ready")
	passwordFile := filepath.Join(dir, "password")
	switch old, err := os.ReadFile(passwordFile); { // #nosec G304 -- the caller names the folder
	case err == nil:
		cfg.Password = string(old)
	case !errors.Is(err, os.ErrNotExist):
		return cfg, fmt.Errorf("password of the data folder: %w", err)
	default:
		if err := os.WriteFile(passwordFile, []byte(cfg.Password), 0o600); err != nil { //nolint:gosec // the caller names the folder
			return cfg, fmt.Errorf("password of the data folder: %w", err)
		}
	}
	return cfg, handOver(dir)
}

// keeperProcess is the parent's end of the keeper.
type keeperProcess struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{}
	err   error // of Wait; read after ended
}

func startKeeper(ctx context.Context, cfg keeperConfig) (*keeperProcess, error) {
	cmd := exec.Command("/proc/self/exe") //nolint:noctx // the keeper outlives the start's context: stop ends it
	if exe, err := executable(); err != nil {
		return nil, err
	} else if exe != "" {
		cmd.Path = exe
	}
	cmd.Args = []string{keeperName}
	cmd.Dir = "/"
	cmd.Env = keeperEnv(cfg)
	asKeeper(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the keeper: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the keeper: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the keeper: %w", err)
	}
	k := &keeperProcess{cmd: cmd, stdin: stdin, ended: make(chan struct{})}
	answer := make(chan keeperAnswer, 1)
	go func() { // ends with the keeper
		defer close(k.ended)
		var a keeperAnswer
		if err := json.NewDecoder(bufio.NewReader(stdout)).Decode(&a); err != nil {
			a.Error = "the keeper ended before the server was up (does main call localpg.Hook first?): " + err.Error()
		}
		answer <- a
		_, _ = io.Copy(io.Discard, stdout) // until it closes, as Wait wants
		k.err = cmd.Wait()
	}()
	if err := json.NewEncoder(stdin).Encode(cfg); err != nil { //nolint:gosec // the password goes over a pipe to our own child, not to its arguments
		return nil, errors.Join(fmt.Errorf("start the keeper: %w", err), k.stop(stopTimeout))
	}
	select {
	case a := <-answer:
		if a.Error != "" {
			return nil, errors.Join(errors.New(a.Error), k.stop(stopTimeout))
		}
		return k, nil
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("start: %w", context.Cause(ctx)), k.stop(startGrace))
	}
}

// stop closes the keeper's input and waits for its end; it is killed when it does not end by itself.
func (k *keeperProcess) stop(grace time.Duration) error {
	_ = k.stdin.Close()
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-k.ended:
	case <-t.C:
		killGroup(k.cmd.Process)
		<-k.ended
		return errors.New("the server did not end within " + grace.String() + " and its keeper was killed")
	}
	if k.err != nil {
		return fmt.Errorf("the server's keeper: %w", k.err)
	}
	return nil
}

// keeperEnv passes on what a download needs and nothing else: the keeper has no business with our secrets.
func keeperEnv(cfg keeperConfig) []string {
	env := []string{"TMPDIR=" + cfg.TempDir, "HOME=" + cfg.RunDir, "LC_ALL=C"}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch strings.ToUpper(name) {
		case "PATH", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "SYSTEMROOT":
			env = append(env, kv)
		}
	}
	return env
}

func freePort(ctx context.Context) (uint32, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).AddrPort().Port()
	return uint32(port), l.Close()
}

func portFree(ctx context.Context, port uint32) bool {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.FormatUint(uint64(port), 10)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// oneLine joins the lines of a message; the server's own log lines stay readable in it.
func oneLine(s string) string {
	var parts []string
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, "; ")
}
