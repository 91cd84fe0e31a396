package app

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
)

// TestSystemdUnit: the unit gives an orderly stop the time it takes, and nothing but its own folder to write to.
func TestSystemdUnit(t *testing.T) {
	f, err := os.Open("../../../../configs/hs2proxy.service")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	set := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), "="); ok && !strings.HasPrefix(name, "#") {
			set[name] = value
		}
	}
	seconds, err := strconv.Atoi(set["TimeoutStopSec"])
	if err != nil {
		t.Fatal(err)
	}
	// Drain, what the pipeline holds, and a running refresh.
	if need := config.Default().Relay.DrainTimeout + 10*time.Second + 20*time.Second + adminStop; time.Duration(seconds)*time.Second <= need {
		t.Errorf("stop is cut after %d s; an orderly one may take %s", seconds, need)
	}
	for name, want := range map[string]string{
		"DynamicUser": "yes", "ProtectSystem": "strict", "ProtectHome": "yes", "NoNewPrivileges": "yes", "CapabilityBoundingSet": "",
		"StateDirectory": "hs2proxy", "ReadWritePaths": "",
	} {
		if set[name] != want {
			t.Errorf("%s=%s, want %s", name, set[name], want)
		}
	}
	if set["Type"] != "notify" || !strings.Contains(set["ExecReload"], "-HUP $MAINPID") {
		t.Errorf("Type=%s, ExecReload=%s: serve tells systemd that it is ready, and SIGHUP reloads it", set["Type"], set["ExecReload"])
	}
	if !strings.Contains(set["ExecStart"], " serve --config ") {
		t.Errorf("ExecStart=%s", set["ExecStart"])
	}
}
