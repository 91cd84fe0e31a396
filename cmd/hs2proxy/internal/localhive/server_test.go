//go:build unix

package localhive

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive/filelock"
)

// startDir is a folder with jars that count as complete and a java on JAVA_HOME that runs a script in place of Hive.
func startDir(t *testing.T, script string) Options {
	t.Helper()
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	java := "#!/bin/sh\nif [ \"$1\" = -XshowSettings:properties ]; then echo ' java.specification.version = 17' >&2; exit 0; fi\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(home, "bin", "java"), []byte(java), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("JAVA_HOME", home)
	lib := t.TempDir()
	if err := os.WriteFile(filepath.Join(lib, "x.jar"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(lib, stampName), []byte(stamp(pom, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return Options{Dir: t.TempDir(), LibDir: lib}
}

func TestStartShowsWhyTheServerEnded(t *testing.T) {
	o := startDir(t, `echo "Exception: the metastore is broken"; exit 7`)
	_, err := Start(t.Context(), o)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"did not come up", "exit status 7", "hiveserver2.out", "the metastore is broken"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error without %q:\n%s", want, err)
		}
	}
	unlock, err := filelock.Try(layout{o.Dir}.lockFile())
	if err != nil {
		t.Fatalf("the folder is still locked: %v", err)
	}
	unlock()
}

func TestStartGivesUpAndEndsTheServer(t *testing.T) {
	o := startDir(t, `exec sleep 600`)
	o.Timeout = 300 * time.Millisecond
	_, err := Start(t.Context(), o)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v, want the deadline's", err)
	}
	if _, err := os.Stat(layout{o.Dir}.pidFile()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the process id file is still there: %v", err)
	}
}

func TestOneServerInAFolder(t *testing.T) {
	o := startDir(t, "exit 1")
	unlock, err := filelock.Try(layout{o.Dir}.lockFile())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "another process runs a HiveServer2") {
		t.Errorf("Start in a locked folder: %v", err)
	}
	if _, err := StopLeftover(t.Context(), o.Dir); err == nil || !strings.Contains(err.Error(), "still runs") {
		t.Errorf("StopLeftover in a locked folder: %v", err)
	}
}

// spawn runs a process with an argument and a goroutine that reaps it.
func spawn(t *testing.T, argument string) (pid int, exited <-chan struct{}) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "while :; do sleep 60 & wait; done", argument)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-done
	})
	return cmd.Process.Pid, done
}

func TestStopLeftoverEndsOnlyItsOwn(t *testing.T) {
	dir := t.TempDir()
	pidFile := layout{dir}.pidFile()
	write := func(pid int) {
		if err := os.WriteFile(pidFile, []byte(strconv.Itoa(pid)), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	stranger, strangerExited := spawn(t, mark("/somewhere/else"))
	write(stranger)
	if found, err := StopLeftover(t.Context(), dir); found || err != nil {
		t.Fatalf("StopLeftover on a stranger's process = %v, %v", found, err)
	}
	select {
	case <-strangerExited:
		t.Fatal("a stranger's process was ended")
	default:
	}
	if _, err := os.Stat(pidFile); err == nil {
		t.Error("a stale process id file was kept")
	}

	own, ownExited := spawn(t, mark(dir))
	write(own)
	if found, err := StopLeftover(t.Context(), dir); !found || err != nil {
		t.Fatalf("StopLeftover on our process = %v, %v", found, err)
	}
	<-ownExited

	if found, err := StopLeftover(t.Context(), dir); found || err != nil {
		t.Errorf("StopLeftover without a process = %v, %v", found, err)
	}
	if found, err := StopLeftover(t.Context(), filepath.Join(dir, "missing")); found || err != nil {
		t.Errorf("StopLeftover in a missing folder = %v, %v", found, err)
	}
}

func TestLastLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if got := lastLines(path, 3); got != nil {
		t.Errorf("of a missing file: %q", got)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("filler\n", 10_000)+"a\nb\nc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(lastLines(path, 2), ","); got != "b,c" {
		t.Errorf("last two lines %q, want b,c", got)
	}
}

// The real thing: needs Java and Maven, takes half a minute. The tests of package e2e start such servers each time.
func TestStartRealServer(t *testing.T) {
	if os.Getenv("HS2PROXY_E2E") != "1" || os.Getenv("HS2PROXY_E2E_FULL") != "1" {
		t.Skip("set HS2PROXY_E2E=1 and HS2PROXY_E2E_FULL=1 to start a real HiveServer2")
	}
	for name, o := range map[string]Options{
		"NONE":                 {},
		"NOSASL":               {Auth: AuthNoSASL},
		"CUSTOM, HTTP and TLS": {Auth: AuthCustom, Users: map[string]string{"ann": "ann-secret"}, HTTP: true, TLS: true},
		"3.1, CUSTOM and TLS":  {Release: "3.1", Auth: AuthCustom, Users: map[string]string{"ann": "ann-secret"}, TLS: true},
	} {
		t.Run(name, func(t *testing.T) {
			o.Dir, o.Progress = t.TempDir(), func(s string) { t.Log(s) }
			s, err := Start(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s and %q on Java %d, process %d, up after %s", s.Address(), s.HTTPAddress(), s.Java().Version, s.PID(), s.StartTime())
			if err := s.probe(t.Context()); err != nil {
				t.Errorf("a session: %v", err)
			}
			if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
				t.Errorf("Stop: %v", err)
			}
			<-s.Done()
			if err := s.probe(t.Context()); err == nil {
				t.Error("a session opens after Stop")
			}
			if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
				t.Errorf("a second Stop: %v", err)
			}
		})
	}
}
