package localpg

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

const (
	// keeperName is the keeper's argv[0]: how it knows itself.
	keeperName = "hs2proxy-postgres-keeper"
	version    = embeddedpostgres.V16
)

// keeperConfig is the first line on the keeper's standard input.
type keeperConfig struct {
	RunDir, ArchiveDir, BinaryDir, DataDir, TempDir string
	// ReadyFile exists once a kept data folder is complete; empty for a temporary one.
	ReadyFile     string
	RepositoryURL string
	Port          uint32
	Password      string
	Durable       bool
}

// keeperAnswer is the only line on its standard output.
type keeperAnswer struct {
	Error string `json:"error,omitempty"`
}

// Hook must be called first in main. It reports true when this process was the keeper, whose work is then done: main
// returns. In every other process it does nothing.
func Hook() bool {
	if len(os.Args) == 0 || os.Args[0] != keeperName {
		return false
	}
	keep(os.Stdin, os.Stdout)
	return true
}

// keep runs the server until in ends or a signal asks, then removes the temporary folder.
func keep(in io.Reader, out io.Writer) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	dec := json.NewDecoder(in)
	var cfg keeperConfig
	if err := dec.Decode(&cfg); err != nil {
		return
	}
	defer func() { _ = os.RemoveAll(cfg.RunDir) }()
	gone := make(chan struct{})
	go func() { // ends with the process at the latest
		defer close(gone)
		_, _ = io.Copy(io.Discard, in)
	}()
	pg, err := serve(cfg)
	var answer keeperAnswer
	if err != nil {
		answer.Error = err.Error()
	}
	// A parent that is gone reads no answer; the server is stopped all the same.
	_ = json.NewEncoder(out).Encode(answer)
	if err != nil {
		return
	}
	select {
	case <-gone:
	case <-signals:
	}
	_ = pg.Stop()
}

func serve(cfg keeperConfig) (*embeddedpostgres.EmbeddedPostgres, error) {
	if _, err := os.Stat(filepath.Dir(cfg.DataDir)); err != nil {
		return nil, fmt.Errorf("uid %d cannot reach %s: %w", os.Getuid(), filepath.Dir(cfg.DataDir), err)
	}
	if cfg.Durable {
		// A first start that was cut short left half a cluster.
		if _, err := os.Stat(cfg.ReadyFile); errors.Is(err, os.ErrNotExist) {
			if err := os.RemoveAll(cfg.DataDir); err != nil {
				return nil, fmt.Errorf("remove the unfinished data folder: %w", err)
			}
		}
	}
	c := embeddedpostgres.DefaultConfig().Version(version).
		Username(superuser).Password(cfg.Password).Database(database).Port(cfg.Port).
		CachePath(cfg.ArchiveDir).BinariesPath(cfg.BinaryDir).RuntimePath(filepath.Join(cfg.TempDir, "runtime")).DataPath(cfg.DataDir).
		Locale("C").Encoding("UTF8").StartTimeout(30 * time.Second).Logger(io.Discard).
		StartParameters(parameters(cfg.Durable))
	if cfg.RepositoryURL != "" {
		c = c.BinaryRepositoryURL(cfg.RepositoryURL)
	}
	pg := embeddedpostgres.NewDatabase(c)
	if err := pg.Start(); err != nil {
		return nil, fmt.Errorf("start PostgreSQL %s: %w", version, err)
	}
	if cfg.Durable {
		if err := os.WriteFile(cfg.ReadyFile, nil, 0o600); err != nil {
			return nil, errors.Join(fmt.Errorf("mark the data folder: %w", err), pg.Stop())
		}
	}
	return pg, nil
}

// parameters keep the server small, on loopback only and its log free of SQL text. Data that is thrown away need not
// reach the disk.
func parameters(durable bool) map[string]string {
	p := map[string]string{
		"listen_addresses":        "127.0.0.1",
		"unix_socket_directories": "",
		"shared_buffers":          "64MB",
		"max_connections":         "200",
		"jit":                     "off",
		"timezone":                "UTC",
		"log_min_error_statement": "panic",
	}
	if !durable {
		p["fsync"], p["synchronous_commit"], p["full_page_writes"] = "off", "off", "off"
	}
	return p
}
