package faults

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/app"
	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// The test binary runs itself as a proxy that is killed. These tell the child where its HiveServer2, Postgres and spool are.
const (
	childVariable    = "HS2PROXY_FAULTS_CHILD"
	postgresVariable = "HS2PROXY_FAULTS_POSTGRES"
	spoolVariable    = "HS2PROXY_FAULTS_SPOOL"
)

// child is the proxy: it prints its address, then how many records are on disk and in Postgres whenever that changes, and ends with
// its standard input.
func child() int {
	ctx := context.Background()
	a, err := app.New(ctx, settings(os.Getenv(childVariable), os.Getenv(postgresVariable), os.Getenv(spoolVariable)), zerolog.Nop())
	if err == nil {
		err = a.Start(ctx)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(a.Addr())
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for last := ""; ; {
		if now := fmt.Sprintln(a.Spooled(), a.Counters().Recorded.Load()); now != last {
			last = now
			fmt.Print(now)
		}
		select {
		case <-tick.C:
		case <-ended:
			ctx, cancel := context.WithTimeout(ctx, hang)
			defer cancel()
			if err := a.Shutdown(ctx); err != nil {
				return 1
			}
			return 0
		}
	}
}

// process is a proxy in a process of its own.
type process struct {
	*exec.Cmd
	addr  string
	stdin io.Closer
	lines *bufio.Scanner
}

func newProcess(t *testing.T, hive, dsn, spool string) *process {
	t.Helper()
	p := &process{Cmd: exec.CommandContext(t.Context(), os.Args[0])}
	p.Env = append(os.Environ(), childVariable+"="+hive, postgresVariable+"="+dsn, spoolVariable+"="+spool)
	var err error
	if p.stdin, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(out)
	if !p.lines.Scan() {
		t.Fatal("the proxy did not start")
	}
	p.addr = p.lines.Text()
	return p
}

// until waits for records on disk and in Postgres as wanted.
func (p *process) until(t *testing.T, want func(spooled, recorded int) bool) {
	t.Helper()
	for p.lines.Scan() {
		var spooled, recorded int
		if _, err := fmt.Sscan(p.lines.Text(), &spooled, &recorded); err != nil {
			t.Fatalf("%q: %v", p.lines.Text(), err)
		}
		if want(spooled, recorded) {
			return
		}
	}
	t.Fatal("the proxy ended")
}

func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err == nil || p.ProcessState.Exited() {
		t.Fatalf("the proxy was not killed: %v", err)
	}
}

// A proxy is killed with what it saw on disk, the next one while it replays that to a slow Postgres and sees more: every statement is
// in Postgres once in the end.
func TestKilledProxyLosesNothingOnDisk(t *testing.T) {
	t.Parallel()
	dsn := storetest.DSN(t)
	hive := newHive(t, hs2test.Config{})
	host, through := behind(t, dsn)
	postgres := newSide(t, "postgres", host)
	spool := filepath.Join(t.TempDir(), "spool")
	down := through("127.0.0.1:1")
	var users []string
	talk := func(p *process, user string) {
		t.Helper()
		if err := converse(t.Context(), p.addr, user, hang); err != nil {
			t.Fatal(err)
		}
		users = append(users, user)
	}
	perUser := len(statements("")) + 2 // the session's beginning and end

	first := newProcess(t, hive.Addr(), down, spool)
	for i := range 5 {
		talk(first, strings.Repeat("a", i+1))
	}
	first.until(t, func(spooled, _ int) bool { return spooled >= 5*perUser })
	first.kill(t)

	postgres.poison(t, toxic{"latency", "latency", `{"latency": 5}`})
	second := newProcess(t, hive.Addr(), through(postgres.addr()), spool)
	talk(second, "b")
	second.until(t, func(spooled, recorded int) bool { return recorded >= perUser && spooled > perUser })
	second.kill(t)
	// What was seen but neither on disk nor in Postgres is lost with the process: "b" may be, in part.
	users = users[:5]

	third := newProcess(t, hive.Addr(), dsn, spool)
	talk(third, "c")
	third.until(t, func(spooled, recorded int) bool { return spooled == 0 && recorded >= perUser })
	if err := third.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	for third.lines.Scan() { // to its end
		continue
	}
	if err := third.Wait(); err != nil {
		t.Fatal(err)
	}
	all := inPostgres(t, dsn)
	if got, sent := all["b"], statements("b"); len(got) > len(sent) {
		t.Errorf("recorded for b: %q, sent %q", got, sent)
	}
	allRecorded(t, dsn, users, "b")
}
