package e2e

import (
	"strings"
	"testing"
)

func TestScriptTravelsAsLines(t *testing.T) {
	for _, c := range []client{pyHive, jdbc} {
		steps := script(c, "d")
		text, err := encode(steps)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) != len(steps) {
			t.Fatalf("%s: %d lines for %d steps", c, len(lines), len(steps))
		}
		names := map[string]bool{}
		for i, line := range lines {
			fields := strings.Split(line, "\t")
			if len(fields) != 3 || fields[0] != string(steps[i].kind) || fields[1] != steps[i].name || fields[2] != steps[i].sql {
				t.Errorf("%s: line %d does not hold its step: %.80q", c, i, line)
			}
			if names[steps[i].name] {
				t.Errorf("%s: two steps are named %q", c, steps[i].name)
			}
			names[steps[i].name] = true
		}
	}
	if _, err := encode([]step{{query, "x", "SELECT\n1"}}); err == nil {
		t.Error("a line end inside a statement is accepted")
	}
}

func TestClientsKnowTheirSteps(t *testing.T) {
	source := map[client]string{pyHive: string(pyHiveClient), jdbc: string(jdbcClient)}
	marks := map[client]string{pyHive: "def %(", jdbc: `case "%":`}
	for c, text := range source {
		for _, s := range script(c, "d") {
			if mark := strings.ReplaceAll(marks[c], "%", string(s.kind)); !strings.Contains(text, mark) {
				t.Errorf("%s does not know steps of kind %s", c, s.kind)
			}
		}
	}
}

func TestTargetRefusesWhatCannotWork(t *testing.T) {
	for want, target := range map[string]Target{
		"address":                        {Address: "nowhere"},
		"must be NONE, NOSASL or CUSTOM": {Address: "h:1", Auth: "KERBEROS"},
		"lower-case letters, digits":     {Address: "h:1", Database: "x; DROP DATABASE y"},
	} {
		if _, err := target.withDefaults(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one with %q", target, err, want)
		}
	}
	got, err := Target{Address: "h:1"}.withDefaults()
	if err != nil || got.Auth != "NONE" || got.User == "" || got.Password == "" || got.Database == "" {
		t.Errorf("defaults %+v, %v", got, err)
	}
}
