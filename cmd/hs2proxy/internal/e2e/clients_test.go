package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive"
)

// upstream is the HiveServer2 of HS2PROXY_TEST_HS2, else one of our own.
func upstream(t *testing.T) string {
	t.Helper()
	if os.Getenv("HS2PROXY_E2E") != "1" {
		t.Skip("set HS2PROXY_E2E=1 to run real clients on a real HiveServer2")
	}
	if address := os.Getenv("HS2PROXY_TEST_HS2"); address != "" {
		return address
	}
	server, err := localhive.Start(t.Context(), localhive.Options{Dir: t.TempDir(), Progress: func(s string) { t.Log(s) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return server.Address()
}

// Two runs against the same server must print the same bytes: otherwise a comparison with a run through the proxy
// would mean nothing.
func TestRealClientsPrintTheSameTwice(t *testing.T) {
	if os.Getenv("HS2PROXY_E2E_FULL") != "1" {
		t.Skip("set HS2PROXY_E2E_FULL=1 too: the comparison through the proxy shows the same in less time")
	}
	target := Target{Address: upstream(t), Database: fmt.Sprintf("h_e2e_%d", os.Getpid())}
	for c, run := range map[client]func(context.Context, Target) ([]byte, error){pyHive: RunPyHive, jdbc: RunJDBC} {
		t.Run(string(c), func(t *testing.T) {
			var outputs [2][]byte
			for i := range outputs {
				begin := time.Now()
				out, err := run(t.Context(), target)
				if err != nil {
					t.Fatalf("run %d: %v\nuntil then:\n%s", i, err, out)
				}
				t.Logf("run %d took %.1f s and printed %d bytes", i, time.Since(begin).Seconds(), len(out))
				outputs[i] = out
			}
			if difference := firstDifference(outputs[0], outputs[1]); difference != "" {
				t.Error(difference)
			}
			judge(t, c, target.Database, outputs[0])
		})
	}
}

func firstDifference(a, b []byte) string {
	if bytes.Equal(a, b) {
		return ""
	}
	left, right := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(left), len(right)) {
		if !bytes.Equal(left[i], right[i]) {
			return fmt.Sprintf("line %d differs:\n%.2000s\n%.2000s", i+1, left[i], right[i])
		}
	}
	return fmt.Sprintf("%d lines and %d lines", len(left), len(right))
}

// judge holds what must be in an output whatever the client, so that two equal but empty runs do not pass.
func judge(t *testing.T, c client, db string, out []byte) {
	t.Helper()
	records := map[string]map[string]any{}
	steps := script(c, db)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(steps) {
		t.Fatalf("%d lines for %d steps:\n%s", len(lines), len(steps), out)
	}
	for i, line := range lines {
		record := map[string]any{}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("line %d is no JSON: %v: %s", i+1, err, line)
		}
		if record["step"] != steps[i].name {
			t.Fatalf("line %d is step %v, want %q", i+1, record["step"], steps[i].name)
		}
		if unexpected, ok := record["unexpected"]; ok {
			t.Errorf("step %q: %v", steps[i].name, unexpected)
		}
		if steps[i].kind == fails && record["error"] == nil {
			t.Errorf("step %q: no error", steps[i].name)
		}
		records[steps[i].name] = record
	}
	if got := records["fetch 100,000 rows"]["row_count"]; got != 100_000.0 {
		t.Errorf("%v of 100,000 rows fetched", got)
	}
	if rows, _ := records["read all types"]["rows"].([]any); len(rows) != 3 {
		t.Errorf("%d rows of all types, want 3", len(rows))
	}
	if records["cancel"]["running_seen"] != true {
		t.Errorf("the cancelled statement never ran: %v", records["cancel"])
	}
	for _, s := range steps {
		if s.kind != threads && s.kind != shared {
			continue
		}
		answers, _ := records[s.name]["answers"].([]any)
		if len(answers) != 2 {
			t.Errorf("step %q: %v", s.name, records[s.name])
		}
		for _, answer := range answers {
			switch answer.(type) {
			case []any, map[string]any:
			default:
				t.Errorf("step %q: %v", s.name, answer)
			}
		}
	}
}
