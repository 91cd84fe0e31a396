package e2e

import (
	"fmt"
	"testing"
)

// judge compares what the proxies recorded with what the clients did and with HiveServer2's own log.
func (f *front) judge(t *testing.T) {
	t.Helper()
	if !f.form.observed() {
		for _, p := range f.proxies() {
			if recorded := p.statements(t); len(recorded) != 0 {
				t.Errorf("%s: %d statements recorded of what cannot be read", f.form, len(recorded))
			}
		}
		return
	}
	recorded := f.binary.statements(t)
	log := readLog(t, f.binary.hive.LogFile())

	sessions, operations := map[string]bool{}, map[string]bool{}
	states := map[string]int{}
	explained := 0
	for _, s := range recorded {
		sessions[fmt.Sprint(s["session_id"])] = true
		states[fmt.Sprint(s["state"])]++
		if op := fmt.Sprint(s["operation_id"]); op != "" && s["operation_id"] != nil {
			if operations[op] {
				t.Errorf("%s: operation %s is recorded twice", f.form, op)
			}
			operations[op] = true
			if !log.added[op] {
				t.Errorf("%s: operation %s is recorded and unknown to HiveServer2", f.form, op)
			}
		}
		if s["analyzed"] == true && fmt.Sprint(s["explain_error"]) == "" {
			explained++
		}
	}
	want, overtaken, unknown := 0, 0, []string{}
	for op, session := range log.session {
		switch {
		case !sessions[session]:
			continue
		case log.ours[op] && !operations[op]:
			if !log.compiled[op] {
				overtaken++
			}
			continue
		}
		if want++; !operations[op] {
			unknown = append(unknown, op) // one that HiveServer2 refused to run has no handle
		}
	}
	if len(recorded) != want {
		t.Errorf("%s: %d statements recorded, HiveServer2 ran %d of the clients'; by its log these operations are not recorded: %q",
			f.form, len(recorded), want, unknown)
	}
	if overtaken > len(f.runs) {
		t.Errorf("%s: %d operations that HiveServer2 never compiled are not recorded", f.form, overtaken)
	}
	if states["RUNNING"] != 0 || states["LOST"] != 0 {
		t.Errorf("%s: outcomes missing: %v", f.form, states)
	}
	least := leastOutcomes(f.runs)
	if states["CANCELED"] != least["CANCELED"] || states["ERROR"] < least["ERROR"] || states["FINISHED"] < least["FINISHED"] {
		t.Errorf("%s: outcomes %v: the clients cancelled, failed and finished %v", f.form, states, least)
	}
	if explained < 3*len(f.runs) {
		t.Errorf("%s: %d statements explained in %d runs; the clients run more joins than that", f.form, explained, len(f.runs))
	}
	t.Logf("%s: %d statements: %v; %d explained; %d EXPLAINs of ours", f.form, len(recorded), states, explained, len(log.ours))
}

// leastOutcomes is how many statements of each outcome the runs have at least: a client may add some of its own (USE).
func leastOutcomes(runs []observedRun) map[string]int {
	least := map[string]int{}
	for _, r := range runs {
		for _, s := range r.target.script(r.client) {
			switch s.kind {
			case run, query, digest:
				least["FINISHED"]++
			case fails:
				least["ERROR"]++
			case cancel:
				least["CANCELED"]++
			case threads:
				if r.client != beeline {
					least["FINISHED"] += 2 * 3
				}
			case shared:
				least["FINISHED"] += 2
			case metadata:
			}
		}
		if r.client == beeline && !r.target.Brief {
			least["FINISHED"]-- // the statement with a comment that Beeline would cut in two
		}
	}
	return least
}
