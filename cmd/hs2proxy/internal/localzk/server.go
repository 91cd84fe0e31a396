package localzk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

const (
	host = "127.0.0.1"
	// Tick is ZooKeeper's tickTime: sessions live from 2 to 20 of them, and expire at multiples.
	Tick = 500 * time.Millisecond
	// upAfter bounds the start.
	upAfter = time.Minute
)

// Options say where and how a ZooKeeper runs.
type Options struct {
	// Dir holds configuration, data and output; it must exist. A server started again in the same folder has its data.
	Dir string
	// LibDir holds the jars (localhive.FetchJars); Java is the java executable (localhive.FindJava).
	LibDir, Java string
	// Port is the port on 127.0.0.1; 0 takes a free one.
	Port int
}

// Server is a running ZooKeeper.
type Server struct {
	port    int
	process *os.Process
	exited  chan struct{} // closed when the process has ended
}

// Start starts a ZooKeeper and returns when it serves clients. When it does not come up it is ended, and the error holds what it
// printed.
func Start(ctx context.Context, o Options) (*Server, error) {
	port, err := choosePort(ctx, o.Port)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(o.Dir, "zoo.cfg")
	text := fmt.Sprintf("tickTime=%d\ndataDir=%s\nclientPort=%d\nclientPortAddress=%s\nmaxClientCnxns=0\n",
		Tick.Milliseconds(), filepath.Join(o.Dir, "data"), port, host)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write ZooKeeper's configuration: %w", err)
	}
	s := &Server{port: port, exited: make(chan struct{})}
	output := filepath.Join(o.Dir, "zookeeper.out")
	if err := s.launch(o, config, output); err != nil {
		return nil, err
	}
	if err := s.waitReady(ctx); err != nil {
		said, _ := os.ReadFile(output) //nolint:gosec // in the caller's own folder
		return nil, errors.Join(fmt.Errorf("ZooKeeper did not come up: %w\n%s", err, said), s.Kill())
	}
	return s, nil
}

func choosePort(ctx context.Context, port int) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return 0, fmt.Errorf("find a port for ZooKeeper: %w", err)
	}
	chosen := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return 0, fmt.Errorf("release port %d: %w", chosen, err)
	}
	return chosen, nil
}

// launch starts the process and the goroutine that waits for it. That goroutine keeps its thread: on Linux the kernel ties the
// child's life to the thread that started it.
func (s *Server) launch(o Options, config, output string) error {
	out, err := os.OpenFile(output, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // in the caller's own folder
	if err != nil {
		return fmt.Errorf("open ZooKeeper's output file: %w", err)
	}
	cmd := exec.Command(o.Java, "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", //nolint:gosec,noctx // the caller's Java; Kill ends it, no context does
		"-Dzookeeper.jmx.log4j.disable=true", "-Dzookeeper.admin.enableServer=false", "-Dzookeeper.forceSync=no",
		"-Dzookeeper.4lw.commands.whitelist=srvr,dump",
		"-cp", filepath.Join(o.LibDir, "*"), "org.apache.zookeeper.server.ZooKeeperServerMain", config)
	cmd.Dir = o.Dir
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = childAttributes()
	launched := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		launched <- err
		if err == nil {
			_ = cmd.Wait()
			close(s.exited)
		}
	}()
	err = <-launched
	if closeErr := out.Close(); err == nil && closeErr != nil {
		_ = cmd.Process.Kill()
		<-s.exited
		return fmt.Errorf("close ZooKeeper's output file: %w", closeErr)
	}
	if err != nil {
		return fmt.Errorf("start Java: %w", err)
	}
	s.process = cmd.Process
	return nil
}

func (s *Server) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, upAfter)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		said, err := s.Ask(ctx, "srvr")
		if err == nil && strings.HasPrefix(said, "Zookeeper version") {
			return nil
		}
		select {
		case <-s.exited:
			return errors.New("its process ended")
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Ask sends one of ZooKeeper's four-letter words, srvr or dump (which lists the sessions), and returns the answer.
func (s *Server) Ask(ctx context.Context, word string) (string, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Address())
	if err != nil {
		return "", fmt.Errorf("connect to ZooKeeper: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return "", fmt.Errorf("set a deadline: %w", err)
	}
	if _, err := conn.Write([]byte(word)); err != nil {
		return "", fmt.Errorf("ask ZooKeeper %s: %w", word, err)
	}
	said, err := io.ReadAll(conn)
	if err != nil {
		return "", fmt.Errorf("read ZooKeeper's answer to %s: %w", word, err)
	}
	return string(said), nil
}

// Address is the host and port for clients.
func (s *Server) Address() string { return net.JoinHostPort(host, strconv.Itoa(s.port)) }

// Port is the port for clients, with which a server can be started anew.
func (s *Server) Port() int { return s.port }

// Kill ends the server as a crash would and returns when its process is gone. It may be called again.
func (s *Server) Kill() error {
	if err := s.process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill ZooKeeper: %w", err)
	}
	<-s.exited
	return nil
}
