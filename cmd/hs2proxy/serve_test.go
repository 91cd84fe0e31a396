//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
)

// served is a proxy in a process of its own.
type served struct {
	t       *testing.T
	process *exec.Cmd
	config  string
	ended   chan error

	mu struct {
		sync.Mutex
		lines []map[string]any
	}
	more chan struct{} // a line came
}

// serve starts the command with a configuration and waits until it has started.
func serve(t *testing.T, config string, environ ...string) *served {
	t.Helper()
	s := &served{t: t, config: filepath.Join(t.TempDir(), "hs2proxy.yaml"), ended: make(chan error, 1), more: make(chan struct{}, 1)}
	s.configure(config)
	s.process = exec.Command("hs2proxy", "serve", "--config", s.config) // on the PATH that testscript.Main made
	s.process.Env = append(os.Environ(), environ...)
	log, err := s.process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	go s.read(bufio.NewScanner(log))
	t.Cleanup(func() {
		_ = s.process.Process.Kill()
		if err, open := <-s.ended; open {
			s.ended <- err
		}
	})
	s.wait("started")
	return s
}

func (s *served) read(lines *bufio.Scanner) {
	for lines.Scan() {
		m := map[string]any{"raw": lines.Text()}
		_ = json.Unmarshal(lines.Bytes(), &m) // what is no JSON is found by "raw"
		s.mu.Lock()
		s.mu.lines = append(s.mu.lines, m)
		s.mu.Unlock()
		select {
		case s.more <- struct{}{}:
		default:
		}
	}
	s.ended <- s.process.Wait()
	close(s.ended)
}

func (s *served) configure(text string) {
	s.t.Helper()
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// wait returns the first line with the message that no wait has returned before.
func (s *served) wait(message string) map[string]any {
	s.t.Helper()
	limit := time.After(30 * time.Second)
	for {
		s.mu.Lock()
		at := slices.IndexFunc(s.mu.lines, func(m map[string]any) bool { return m["message"] == message && m["seen"] == nil })
		if at >= 0 {
			s.mu.lines[at]["seen"] = true
			defer s.mu.Unlock()
			return s.mu.lines[at]
		}
		s.mu.Unlock()
		select {
		case <-s.more:
		case <-limit:
			s.t.Fatalf("no %q in the log:\n%s", message, s.text())
		}
	}
}

func (s *served) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, m := range s.mu.lines {
		b.WriteString(m["raw"].(string) + "\n")
	}
	return b.String()
}

func (s *served) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.process.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// end waits for the process, which must end well.
func (s *served) end() {
	s.t.Helper()
	select {
	case err := <-s.ended:
		if err != nil {
			s.t.Errorf("ended with %v:\n%s", err, s.text())
		}
	case <-time.After(30 * time.Second):
		s.t.Fatalf("does not end:\n%s", s.text())
	}
}

func fakeHive(t *testing.T) *hs2test.Server {
	t.Helper()
	hive, err := hs2test.Start(hs2test.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hive.Close)
	return hive
}

// TestReloadBySignal: a file that is not valid changes nothing, a valid one changes what it can and names the rest; systemd is
// told.
func TestReloadBySignal(t *testing.T) {
	hive := fakeHive(t)
	socket := filepath.Join(t.TempDir(), "notify")
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = systemd.Close() }()
	told := func(want string) {
		t.Helper()
		_ = systemd.SetReadDeadline(time.Now().Add(30 * time.Second))
		b := make([]byte, 100)
		n, err := systemd.Read(b)
		if err != nil || string(b[:n]) != want {
			t.Errorf("systemd was told %q, %v, want %q", b[:n], err, want)
		}
	}
	base := "listen: 127.0.0.1:0\nadmin: {listen: \"\"}\nupstream: {address: \"" + hive.Addr() + "\"}\n"
	s := serve(t, base, "NOTIFY_SOCKET="+socket)
	told(notifyReady)

	s.configure(base + "explain: {rate: -1}\n")
	s.signal(syscall.SIGHUP)
	if m := s.wait("reload refused, nothing changes"); !strings.Contains(m["error"].(string), "explain.rate: -1 is not valid") {
		t.Errorf("got %v", m)
	}
	told(notifyReloading)
	told(notifyReady)

	s.configure(strings.Replace(base, "127.0.0.1:0", "127.0.0.1:1", 1) + "explain: {rate: 7}\nlog: {level: debug}\ndatabase: {redact: [{pattern: debug, with: x}]}\n")
	s.signal(syscall.SIGHUP)
	m := s.wait("reload: the field needs a restart; what it was before stays in force")
	if m["field"] != "listen" {
		t.Errorf("got %v", m)
	}
	if m := s.wait("reloaded"); !strings.Contains(m["raw"].(string), `"changed":["explain.rate","database.redact","log.level"],"need_restart":["listen"]`) {
		t.Errorf("got %v", m)
	}
	told(notifyReloading)
	told(notifyReady)

	s.signal(syscall.SIGTERM)
	s.wait("stopped")
	told(notifyStopping)
	s.end()
}

// TestHandOver: a second process takes the port over from the first while clients come and go all the time; none is refused, the
// session that lives in the first goes on until its drain is over, and the drain says who it waits for.
func TestHandOver(t *testing.T) {
	hive := fakeHive(t)
	config := "admin: {listen: \"\"}\nexplain: {enabled: false}\nrelay: {reuse_port: true}\nupstream: {address: \"" + hive.Addr() + "\"}\nlisten: "
	old := serve(t, config+"127.0.0.1:0\n")
	address := old.wait("listening")["listen"].(string)

	stay, err := hs2test.Dial(t.Context(), address, "analyst", "x")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stay.Conn.Close() }()
	session, err := stay.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}

	var (
		stop  atomic.Bool
		wg    sync.WaitGroup
		conns atomic.Int64
	)
	defer wg.Wait()
	defer stop.Store(true)
	for range 3 {
		wg.Go(func() {
			for !stop.Load() {
				c, err := hs2test.Dial(t.Context(), address, "bi-tool", "x")
				if err == nil {
					_, err = c.Open(t.Context(), nil)
					_ = c.Conn.Close()
				}
				if err != nil {
					t.Errorf("a client was refused: %v", err)
					return
				}
				conns.Add(1)
			}
		})
	}
	young := serve(t, config+address+"\n")
	old.signal(syscall.SIGTERM)
	var named map[string]any
	for named == nil || named["user"] != "analyst" { // clients of a moment may be in the report too
		named = old.wait("drain waits for a connection")
	}
	if named["session"] == "" || named["client"] != stay.Conn.LocalAddr().String() {
		t.Errorf("the report: %v", named)
	}
	if _, err := stay.Execute(t.Context(), session, "SELECT 1", true); err != nil {
		t.Errorf("the session in the old process: %v", err)
	}
	_ = stay.Conn.Close()
	old.end()
	before := conns.Load()
	limit := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for conns.Load() < before+20 && !t.Failed() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("no connections any more")
		}
	}
	stop.Store(true)
	wg.Wait()
	young.signal(syscall.SIGTERM)
	young.end()
}
