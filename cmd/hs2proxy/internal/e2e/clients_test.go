package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// output runs a client. One that cannot be had on this machine skips the test, and fails it in CI.
func (p program) output(t *testing.T, target Target) []byte {
	t.Helper()
	begin := time.Now()
	out, err := p.run(t.Context(), target)
	var missing *MissingError
	if errors.As(err, &missing) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatalf("%s on %s: %v\nuntil then:\n%.4000s", p.name, target.Address, err, out)
	}
	t.Logf("%s on %s took %.1f s and printed %d bytes", p.name, target.Address, time.Since(begin).Seconds(), len(out))
	return out
}

// Two runs against the same server must print the same bytes: otherwise a comparison with a run through the proxy
// would mean nothing.
func TestRealClientsPrintTheSameTwice(t *testing.T) {
	if os.Getenv("HS2PROXY_E2E_FULL") != "1" {
		t.Skip("set HS2PROXY_E2E_FULL=1 too: the comparison through the proxy shows the same in less time")
	}
	target := Target{Database: fmt.Sprintf("h_e2e_%d", os.Getpid())}
	if target.Address = os.Getenv("HS2PROXY_TEST_HS2"); target.Address == "" {
		target.Address = sharedHive(t).Address()
	}
	for _, p := range programs {
		t.Run(string(p.name), func(t *testing.T) {
			first := p.output(t, target)
			judge(t, p.name, target, first)
			if difference := firstDifference(first, p.output(t, target)); difference != "" {
				t.Error(difference)
			}
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
func judge(t *testing.T, c client, target Target, out []byte) {
	t.Helper()
	if c == beeline {
		judgeText(t, out)
		return
	}
	records := map[string]map[string]any{}
	steps := target.script(c)
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
	want := 100_000.0
	if target.Brief {
		want = 12_000
	}
	if got := records["fetch many rows"]["row_count"]; got != want {
		t.Errorf("%v of %v rows fetched", got, want)
	}
	if rows, _ := records["inner join"]["rows"].([]any); len(rows) != 3 {
		t.Errorf("%d rows of the join, want 3", len(rows))
	}
	if rows, _ := records["read all types"]["rows"].([]any); !target.Brief && len(rows) != 3 {
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

// judgeText is judge for Beeline, which prints no records.
func judgeText(t *testing.T, out []byte) {
	t.Helper()
	for want, times := range map[string]int{
		"4 rows affected":             1,
		"retail":                      3,
		"INFO  : Compiling command(":  10,
		"Error 10004":                 1, // the unknown column
		"Error: Query was cancelled.": 1,
		"cannot recognize input near": 1,
		"TABLE_CAT\tTABLE_SCHEM":      2,
	} {
		if got := bytes.Count(out, []byte(want)); got < times {
			t.Errorf("%q is in Beeline's output %d times, want %d", want, got, times)
		}
	}
	if t.Failed() {
		t.Logf("%.20000s", out)
	}
}
