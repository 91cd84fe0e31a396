package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// rigged runs the rig with the test binary as hs2proxy, and returns the table and the figures.
func rigged(t *testing.T, args ...string) (table string, r Result, err error) {
	t.Helper()
	t.Setenv("GORACE", "atexit_sleep_ms=0") // under the race detector each process would take a second to end
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "result.json")
	var out bytes.Buffer
	err = run(within(t), append([]string{"-hs2proxy", self, "-json", file}, args...), &out)
	if b, rerr := os.ReadFile(file); rerr == nil {
		if jerr := json.Unmarshal(b, &r); jerr != nil {
			t.Fatal(jerr)
		}
	}
	return out.String(), r, err
}

func needsProc(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the rig reads /proc, which Linux alone has")
	}
}

func TestRig(t *testing.T) {
	needsProc(t)
	targets := []string{direct, relaying, analysed}
	if _, err := exec.LookPath(haproxy); err == nil {
		targets = slices.Insert(targets, 1, haproxy)
	}
	table, r, err := rigged(t, "-once", "-targets", strings.Join(targets, ","))
	if err != nil {
		t.Fatalf("%v\n%s", err, table)
	}
	want := defaults().scenarios
	if len(r.Scenarios) != len(want) {
		t.Fatalf("%d scenarios\n%s", len(r.Scenarios), table)
	}
	for i, s := range r.Scenarios {
		rows := targets
		if s.Name == idleScenario || s.Name == slowScenario {
			rows = targets[1:] // direct has no proxy whose memory to read
		}
		var got []string
		for _, x := range s.Summary {
			got = append(got, x.Target)
		}
		if s.Name != want[i] || !slices.Equal(got, rows) || !strings.Contains(table, "\n"+s.Name+": ") {
			t.Errorf("scenario %s, want %s: %v, want %v", s.Name, want[i], got, rows)
		}
		for _, x := range s.Samples {
			if x.Operations == 0 && x.RestKiB == 0 && x.PeakKiB == 0 {
				t.Errorf("%s: nothing measured: %+v", s.Name, x)
			}
		}
	}
}

func TestRigWithoutHAProxy(t *testing.T) {
	needsProc(t)
	t.Setenv("PATH", t.TempDir())
	table, r, err := rigged(t, "-once", "-scenarios", "ping", "-targets", "direct,haproxy")
	if err != nil || r.Base != direct || len(r.Scenarios) != 1 || len(r.Scenarios[0].Summary) != 1 || !strings.Contains(table, "haproxy is not installed") {
		t.Errorf("%v\n%s", err, table)
	}
}

func TestRigTellsWhatFailed(t *testing.T) {
	needsProc(t)
	t.Setenv(brokenRelay, "1")
	table, _, err := rigged(t, "-once", "-scenarios", "ping", "-targets", "direct,hs2proxy")
	if want := "ping: hs2proxy: ended at once: the relay does not start"; err == nil || err.Error() != want || !strings.Contains(table, "failed: ") {
		t.Errorf("got %v, want %s\n%s", err, want, table)
	}
	if _, _, err := rigged(t, "-hs2proxy", filepath.Join(t.TempDir(), "nope")); err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("without a binary: %v", err)
	}
}

func TestFlags(t *testing.T) {
	o, err := parse([]string{"-rounds", "3", "-scenarios", "ping,slow", "-targets", "haproxy", "-slow-size", "5120"})
	if err != nil || o.rounds != 3 || !slices.Equal(o.scenarios, []string{"ping", "slow"}) || !slices.Equal(o.targets, []string{"haproxy"}) || o.slowSize != 5<<30 {
		t.Errorf("%+v, %v", o, err)
	}
	for _, args := range [][]string{{"-scenarios", "pong"}, {"-targets", ""}, {"-rounds", "0"}, {"-duration", "0s"}, {"more"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

func TestEnvironmentOfHS2Proxy(t *testing.T) {
	got := hs2proxyEnv([]string{"PATH=/bin", "HS2PROXY_DATABASE__URL=postgres://x"}, true)
	want := []string{"PATH=/bin", "HS2PROXY_ADMIN__LISTEN=", "HS2PROXY_LOG__LEVEL=warn", "HS2PROXY_EXPLAIN__ENABLED=true"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestProcesses(t *testing.T) {
	needsProc(t)
	cmd := exec.Command(os.Args[0], fakeCommand)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	all := family(os.Getpid())
	if !slices.Contains(all, os.Getpid()) || !slices.Contains(all, cmd.Process.Pid) {
		t.Errorf("%v lacks %d or its child %d", all, os.Getpid(), cmd.Process.Pid)
	}
	self := []int{os.Getpid()}
	if now, most := memory(self, "VmRSS"), memory(self, "VmHWM"); now <= 0 || most <= 0 {
		t.Errorf("%d KiB now, %d at most", now, most)
	}
	if busy() < cpu(self) {
		t.Errorf("the machine was busy for %v s, this process for %v", busy(), cpu(self))
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
