package localhive

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive/filelock"
)

// patience is how long a server may take to end after SIGTERM before it is killed.
const patience = 20 * time.Second

// Server is a running HiveServer2.
type Server struct {
	options Options
	ports   ports
	java    Java
	process *os.Process
	started time.Duration
	unlock  func()
	stop    sync.Once
	stopErr error
	// exited is closed when the process has ended; exit is valid from then on.
	exited chan struct{}
	exit   error
}

// Start starts a HiveServer2 and returns when a session opens and closes on it. The first start on a machine fetches
// the jars. A server left over in Options.Dir by a process that died is ended first. When the server does not come up
// it is ended and the error holds the last lines of its log.
func Start(ctx context.Context, options Options) (_ *Server, err error) {
	o, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	java, err := FindJava(ctx)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o750); err != nil {
		return nil, fmt.Errorf("make the folder of HiveServer2: %w", err)
	}
	l := layout{o.Dir}
	unlock, err := filelock.Try(l.lockFile())
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fmt.Errorf("another process runs a HiveServer2 in %s: stop it or name another folder", o.Dir)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			unlock()
		}
	}()
	if _, err := stopLeftover(ctx, o.Dir); err != nil {
		return nil, err
	}
	r := o.release()
	if err := FetchPom(ctx, r.pom, r.jars, o.LibDir, java, o.Progress); err != nil {
		return nil, err
	}
	if err := writeClasses(ctx, o, java); err != nil {
		return nil, err
	}
	p, err := choosePorts(o)
	if err != nil {
		return nil, err
	}
	if err := writeConf(o, p); err != nil {
		return nil, err
	}
	if err := writeMetastore(ctx, o, java); err != nil {
		return nil, err
	}
	if err := writeUsers(ctx, o, java); err != nil {
		return nil, err
	}
	if err := writeKeys(ctx, o, java); err != nil {
		return nil, err
	}
	s := &Server{options: o, ports: p, java: java, unlock: unlock, exited: make(chan struct{})}
	begin := time.Now()
	o.Progress("starting HiveServer2 on " + s.Address())
	if err := s.launch(); err != nil {
		return nil, err
	}
	if err := s.waitReady(ctx); err != nil {
		words := tails(l.log(), l.output())
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*patience)
		defer cancel()
		return nil, errors.Join(fmt.Errorf("HiveServer2 did not come up: %w%s", err, words), s.end(stopCtx))
	}
	s.started = time.Since(begin)
	o.Progress(fmt.Sprintf("HiveServer2 is up on %s after %.1f s", s.Address(), s.started.Seconds()))
	return s, nil
}

// launch starts the process and the goroutine that waits for it. That goroutine keeps its thread: on Linux the kernel
// ties the child's life to the thread that started it.
func (s *Server) launch() error {
	l := layout{s.options.Dir}
	out, err := os.OpenFile(l.output(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open HiveServer2's output file: %w", err)
	}
	cmd := exec.Command(s.java.Path, jvmArguments(s.options)...) //nolint:gosec,noctx // Java as FindJava found it; Stop ends it, no context does
	cmd.Dir = filepath.Join(l.scratch(), "work")
	cmd.Env = cleanEnv(os.Environ())
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = childAttributes()
	launched := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		launched <- err
		if err == nil {
			s.exit = cmd.Wait()
			close(s.exited)
		}
	}()
	err = <-launched
	closeErr := out.Close()
	if err != nil {
		return fmt.Errorf("start Java: %w", err)
	}
	s.process = cmd.Process
	pidErr := os.WriteFile(l.pidFile(), []byte(strconv.Itoa(s.process.Pid)+"\n"), 0o600)
	if err := errors.Join(closeErr, pidErr); err != nil {
		_ = kill(s.process)
		<-s.exited
		return fmt.Errorf("write HiveServer2's process id: %w", err)
	}
	return nil
}

// waitReady probes until a session opens, the process ends, the time is over or the context is.
func (s *Server) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	last := errors.New("no connection yet")
	for {
		select {
		case <-s.exited:
			return fmt.Errorf("its process ended: %w", s.exitError())
		case <-ctx.Done():
			return fmt.Errorf("%w (last: %w)", ctx.Err(), last)
		case <-tick.C:
		}
		if last = s.probe(ctx); last == nil {
			return nil
		}
	}
}

func (s *Server) exitError() error {
	if s.exit == nil {
		return errors.New("exit status 0")
	}
	return s.exit
}

// Address is the host and port of the binary Thrift endpoint.
func (s *Server) Address() string { return net.JoinHostPort(host, strconv.Itoa(s.ports.binary)) }

// HTTPAddress is the host and port of the HTTP endpoint; empty without Options.HTTP.
func (s *Server) HTTPAddress() string {
	if !s.options.HTTP {
		return ""
	}
	return net.JoinHostPort(host, strconv.Itoa(s.ports.http))
}

// CertFile is the server's certificate (PEM), signed by itself, and TrustStore the same for Java (PKCS12, opened by
// StorePassword); both are empty without Options.TLS.
func (s *Server) CertFile() string {
	if !s.options.TLS {
		return ""
	}
	return layout{s.options.Dir}.certificate()
}

// TrustStore is CertFile for Java.
func (s *Server) TrustStore() string {
	if !s.options.TLS {
		return ""
	}
	return layout{s.options.Dir}.trustStore()
}

// Auth is how it lets clients in.
func (s *Server) Auth() Auth { return s.options.Auth }

// Dir is the folder the server runs in; LibDir the folder of its jars, which is also a class path for Hive's JDBC driver.
func (s *Server) Dir() string { return s.options.Dir }

// LibDir is the folder of the jars.
func (s *Server) LibDir() string { return s.options.LibDir }

// LogFile is the server's own log.
func (s *Server) LogFile() string { return layout{s.options.Dir}.log() }

// Java is the runtime the server runs on.
func (s *Server) Java() Java { return s.java }

// PID is the process id of the server.
func (s *Server) PID() int { return s.process.Pid }

// StartTime is how long the server took from the start of its process to its first session.
func (s *Server) StartTime() time.Duration { return s.started }

// Done is closed when the server's process has ended, by Stop or on its own.
func (s *Server) Done() <-chan struct{} { return s.exited }

// Stop ends the server: SIGTERM, then SIGKILL after 20 seconds or when the context ends. It returns when the process
// is gone and may be called again.
func (s *Server) Stop(ctx context.Context) error {
	s.stop.Do(func() {
		s.stopErr = s.end(ctx)
		s.unlock()
	})
	return s.stopErr
}

func (s *Server) end(ctx context.Context) error {
	defer func() { _ = os.Remove(layout{s.options.Dir}.pidFile()) }()
	if err := interrupt(s.process); err != nil {
		return fmt.Errorf("stop HiveServer2: %w", err)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-s.exited:
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	if err := kill(s.process); err != nil {
		return fmt.Errorf("kill HiveServer2: %w", err)
	}
	<-s.exited
	return nil
}

// StopLeftover ends a server that a dead process left in a folder and tells whether there was one. It refuses while
// the process that started the server lives.
func StopLeftover(ctx context.Context, dir string) (bool, error) {
	o, err := Options{Dir: dir}.withDefaults()
	if err != nil {
		return false, err
	}
	if _, err := os.Stat(o.Dir); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	unlock, err := filelock.Try(layout{o.Dir}.lockFile())
	if errors.Is(err, filelock.ErrHeld) {
		return false, fmt.Errorf("the HiveServer2 in %s belongs to a process that still runs: stop that one", o.Dir)
	}
	if err != nil {
		return false, err
	}
	defer unlock()
	return stopLeftover(ctx, o.Dir)
}

// stopLeftover is StopLeftover for the holder of the folder's lock. Only a process that carries the folder's mark is
// touched: the number in the file may meanwhile be another's.
func stopLeftover(ctx context.Context, dir string) (bool, error) {
	pidFile := layout{dir}.pidFile()
	text, err := os.ReadFile(pidFile) //nolint:gosec // in the caller's own folder
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the process id of an earlier HiveServer2: %w", err)
	}
	found := false
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && pid > 1 && commandLineHas(pid, mark(dir)) {
		found = true
		if err := endProcess(ctx, pid, dir); err != nil {
			return true, err
		}
	}
	if err := os.Remove(pidFile); err != nil {
		return found, fmt.Errorf("remove the process id of an earlier HiveServer2: %w", err)
	}
	return found, nil
}

// endProcess ends a process that is not our child: SIGTERM, then SIGKILL after 20 seconds.
func endProcess(ctx context.Context, pid int, dir string) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("find process %d: %w", pid, err)
	}
	defer func() { _ = p.Release() }()
	if err := interrupt(p); err != nil {
		return fmt.Errorf("stop the earlier HiveServer2, process %d: %w", pid, err)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(patience)
	killed := false
	for running(p) && commandLineHas(pid, mark(dir)) {
		if !killed && time.Now().After(deadline) {
			if err := kill(p); err != nil {
				return fmt.Errorf("kill the earlier HiveServer2, process %d: %w", pid, err)
			}
			killed = true
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the earlier HiveServer2, process %d: %w", pid, ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}
