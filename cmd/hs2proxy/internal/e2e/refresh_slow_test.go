package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	thriftclient "github.com/hs2proxy/hs2proxy/thrift/client"
)

// session opens a session at an address; it is closed at the test's end.
func session(t *testing.T, address string) *thriftclient.Session {
	t.Helper()
	return sessionWith(t, address, nil)
}

func sessionWith(t *testing.T, address string, configuration map[string]string) *thriftclient.Session {
	t.Helper()
	s, err := thriftclient.Open(t.Context(), thriftclient.Config{
		Address: address, Auth: "NONE", User: "e2e", Password: "e2e", DialTimeout: time.Minute, CallTimeout: 5 * time.Minute,
	}, configuration)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// slowTable makes a table whose every row costs the server some milliseconds to read, so that its ANALYZE can be met while it runs: a
// regular expression that fails after a number of steps in the fourth power of the row's length, and then matches otherwise. Rows are
// loaded, not inserted, so that Hive has no statistics of them.
func slowTable(t *testing.T, s *thriftclient.Session, table string, rows int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rows.txt")
	if err := os.WriteFile(file, []byte(strings.Repeat(strings.Repeat("x", 60)+"\n", rows)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		"CREATE TABLE " + table + " (word string) ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.RegexSerDe'" +
			" WITH SERDEPROPERTIES ('input.regex'='(?:x*x*x*x*y|)(x+)')",
		fmt.Sprintf("LOAD DATA LOCAL INPATH '%s' INTO TABLE %s", file, table),
	} {
		if _, err := s.Query(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// execution is one run of a statement, as HiveServer2's log tells it.
type execution struct {
	query string
	// running on Tez; finished, or interrupted with its DAG killed.
	tez, finished, interrupted, killed bool
}

func (e execution) over() bool { return e.finished || e.interrupted }

// executions are those of the statements that begin with a text, in the order of their beginning.
func executions(t *testing.T, log, statement string) []execution {
	t.Helper()
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var out []execution
	at := map[string]int{}
	for line := range strings.Lines(string(b)) {
		if id, rest, ok := strings.Cut(after(line, " Executing command(queryId="), ")"); ok && strings.HasPrefix(rest, ": "+statement) {
			at[id] = len(out)
			out = append(out, execution{query: id})
		}
		// %d %p %c [%t] %X{queryId} %m: what a thread does for a query bears its name in front.
		_, rest, _ := strings.Cut(line, "] ")
		id, words, _ := strings.Cut(rest, " ")
		i, ok := at[id]
		if !ok {
			continue
		}
		e := &out[i]
		switch {
		case strings.Contains(words, "Map 1: 0(+1)/1"):
			e.tez = true
		case strings.HasPrefix(words, "Completed executing command("):
			e.finished = true
		case strings.Contains(words, ") has been interrupted after "):
			e.interrupted = true
		case strings.Contains(words, "DAG did not succeed due to DAG_KILL"):
			e.killed = true
		}
	}
	return out
}

// patience is how long one step may take on a machine that is busy.
const patience = 5 * time.Minute

// eventually polls until a condition holds.
func eventually(t *testing.T, what string, ok func(context.Context) bool) {
	t.Helper()
	within(t, patience, what, ok)
}

// within is eventually with another patience.
func within(t *testing.T, limit time.Duration, what string, ok func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !ok(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s did not happen in %s", what, limit)
		}
	}
}
