package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// startTime is how long a proxy may take until it listens.
	startTime = 20 * time.Second
	// stopTime is how long a proxy may take to end by itself.
	stopTime = 2 * time.Second
	// dialEvery is how often a starting proxy is tried.
	dialEvery = 20 * time.Millisecond
)

// process is a proxy of this run.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string // file with what it wrote
	done chan struct{}
}

// startProcess starts a proxy and waits until it accepts connections on addr.
func startProcess(ctx context.Context, name, log, addr string, env []string, command ...string) (*process, error) {
	out, err := os.Create(log) //nolint:gosec // in a folder of ours
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	p := &process{name: name, cmd: exec.Command(command[0], command[1:]...), log: log, done: make(chan struct{})} //nolint:gosec,noctx // the flags name it; stop ends it
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = env, out, out, childAttributes()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	if err := p.listens(ctx, addr); err != nil {
		p.stop()
		return nil, fmt.Errorf("%s: %w: %s", name, err, p.said())
	}
	return p, nil
}

func (p *process) listens(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	try := time.NewTicker(dialEvery)
	defer try.Stop()
	var d net.Dialer
	for {
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-try.C:
		case <-p.done:
			return fmt.Errorf("ended at once")
		case <-ctx.Done():
			return fmt.Errorf("does not listen on %s: %w", addr, err)
		}
	}
}

// stop ends it and waits for its end.
func (p *process) stop() {
	_ = resume(p.pid())
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	patience := time.NewTimer(stopTime)
	defer patience.Stop()
	select {
	case <-p.done:
	case <-patience.C:
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// said is the first lines it wrote.
func (p *process) said() string {
	b, err := os.ReadFile(p.log) //nolint:gosec // in a folder of ours
	if err != nil {
		return err.Error()
	}
	const most = 600
	return strings.TrimSpace(string(b[:min(len(b), most)]))
}

// freeAddr is an address of the loopback that nobody listens on now.
func freeAddr(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
