package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// serveProgram is the package of the program that operators run.
const serveProgram = "github.com/hs2proxy/hs2proxy/cmd/hs2proxy"

// buildServe builds hs2proxy by the go command on PATH.
func buildServe(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "hs2proxy")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, serveProgram).CombinedOutput(); err != nil {
		t.Fatalf("build hs2proxy: %v\n%s", err, out)
	}
	return program
}

// serving is a process of hs2proxy serve.
type serving struct {
	cmd *exec.Cmd
	// instance is the name under which it claims refreshes.
	instance string
	started  chan struct{}
	done     chan struct{}
	log      struct {
		sync.Mutex
		bytes.Buffer
	}
}

// serve starts a process with settings from the environment alone and waits until it logs that it has started. It is killed at the
// test's end when it still runs.
func serve(t *testing.T, program string, settings map[string]string) *serving {
	t.Helper()
	s := &serving{cmd: exec.CommandContext(t.Context(), program, "serve"), started: make(chan struct{}), done: make(chan struct{})}
	s.cmd.Env = append(os.Environ(), "HS2PROXY_LISTEN=127.0.0.1:0", "HS2PROXY_ADMIN__LISTEN=")
	for key, value := range settings {
		s.cmd.Env = append(s.cmd.Env, "HS2PROXY_"+key+"="+value)
	}
	words, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	s.instance = host + ":" + strconv.Itoa(s.cmd.Process.Pid)
	go s.read(bufio.NewScanner(words))
	t.Cleanup(func() {
		s.kill(t)
		if t.Failed() {
			t.Logf("%s:\n%s", s.instance, s.words())
		}
	})
	select {
	case <-s.started:
	case <-s.done:
		t.Fatal("hs2proxy ended at its start")
	case <-time.After(time.Minute):
		t.Fatal("hs2proxy did not start within a minute")
	}
	return s
}

func (s *serving) read(lines *bufio.Scanner) {
	defer close(s.done)
	started := false
	for lines.Scan() {
		s.log.Lock()
		_, _ = fmt.Fprintln(&s.log, lines.Text())
		s.log.Unlock()
		if !started && strings.Contains(lines.Text(), `"message":"started"`) {
			started = true
			close(s.started)
		}
	}
}

func (s *serving) words() string {
	s.log.Lock()
	defer s.log.Unlock()
	return s.log.String()
}

// listens is what a port says when it opens: that of clients, and that of operators.
var listens = regexp.MustCompile(`("port":"admin",)?"listen":"(127\.0\.0\.1:\d+)"`)

// address is where clients connect to.
func (s *serving) address(t *testing.T) string {
	t.Helper()
	return s.port(t, "")
}

// adminAddress is where operators connect to.
func (s *serving) adminAddress(t *testing.T) string {
	t.Helper()
	return s.port(t, `"port":"admin",`)
}

func (s *serving) port(t *testing.T, mark string) string {
	t.Helper()
	for _, m := range listens.FindAllStringSubmatch(s.words(), -1) {
		if m[1] == mark {
			return m[2]
		}
	}
	t.Fatalf("the proxy does not say where it listens:\n%s", s.words())
	return ""
}

// kill ends the process by SIGKILL and waits for its end; a second call does nothing.
func (s *serving) kill(t *testing.T) {
	t.Helper()
	_ = s.cmd.Process.Kill()
	<-s.done
	_ = s.cmd.Wait()
	if s.cmd.ProcessState == nil {
		t.Fatal("hs2proxy did not end")
	}
}
