package e2e

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// hiveLog is what HiveServer2's log tells of operations and sessions, by their GUIDs.
type hiveLog struct {
	added, closed map[string]bool
	session       map[string]string // operation → its session
	// ours are operations that ran our EXPLAIN in a client's session. One that its session's end overtook before its text was
	// compiled, which the log then does not show, is taken for ours too: only our EXPLAIN has HiveServer2 compile in the background.
	ours map[string]bool
	// compiled are the operations whose text was compiled: all but commands such as SET, and those that were overtaken.
	compiled      map[string]bool
	opened, ended map[string]bool
}

func (l hiveLog) left() []string {
	var out []string
	for op := range l.added {
		if !l.closed[op] {
			out = append(out, "operation "+op)
		}
	}
	for s := range l.opened {
		if !l.ended[s] {
			out = append(out, "session "+s)
		}
	}
	slices.Sort(out)
	return out
}

func readLog(t *testing.T, file string) hiveLog {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	l := hiveLog{map[string]bool{}, map[string]bool{}, map[string]string{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	explains, compiled, query := map[string]bool{}, map[string]bool{}, map[string]string{} // by query id; query by operation
	for line := range strings.Lines(string(b)) {
		switch {
		case strings.Contains(line, "Adding operation: "):
			op := guidAfter(line, "getHandleIdentifier()=")
			l.added[op], l.session[op] = true, guidAfter(line, "SessionHandle [")
			if !strings.Contains(line, "opType=EXECUTE_STATEMENT") {
				delete(l.session, op)
			}
		case strings.Contains(line, "Closing operation: "):
			l.closed[guidAfter(line, "getHandleIdentifier()=")] = true
		case strings.Contains(line, "Removed queryId: "):
			id, _, _ := strings.Cut(after(line, "Removed queryId: "), " ")
			query[guidAfter(line, "getHandleIdentifier()=")] = id
		case strings.Contains(line, "Compiling command(queryId="):
			id, rest, _ := strings.Cut(after(line, "Compiling command(queryId="), ")")
			compiled[id] = true
			// Clients explain too, but CBO plans alone. Where operators' rows were counted ours is a plain one.
			if strings.HasPrefix(rest, ": EXPLAIN ") && !strings.HasPrefix(rest, ": EXPLAIN CBO ") {
				explains[id] = true
			}
		case strings.Contains(line, "Session opened, SessionHandle ["):
			l.opened[guidAfter(line, "SessionHandle [")] = true
		case strings.Contains(line, "Session closed, SessionHandle ["):
			l.ended[guidAfter(line, "SessionHandle [")] = true
		}
	}
	for op, id := range query {
		if explains[id] || !compiled[id] {
			l.ours[op] = true
		}
		l.compiled[op] = compiled[id]
	}
	return l
}

func after(line, mark string) string {
	_, rest, _ := strings.Cut(line, mark)
	return rest
}

func guidAfter(line, mark string) string {
	rest := after(line, mark)
	if len(rest) < 36 {
		return ""
	}
	return rest[:36]
}

// judgeLeaks looks for operations and sessions that were added and never closed.
func judgeLeaks(t *testing.T, log string) {
	t.Helper()
	deadline, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		left := readLog(t, log).left()
		if len(left) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.Done():
			t.Fatalf("left open in HiveServer2: %s", strings.Join(left, ", "))
		}
	}
}
