package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// realHive is a HiveServer2 that an environment variable names, with a database of the test's own: tables of which only the
// statistics are there, so that nothing of a query runs.
type realHive struct {
	t                 *testing.T
	address, database string
}

// startRealHive makes the tables on the server that a variable names. Without one it skips the test, or fails it where HS2PROXY_REQUIRE_HS2=1.
func startRealHive(t *testing.T, variable, what string) realHive {
	t.Helper()
	address := os.Getenv(variable)
	if address == "" && os.Getenv("HS2PROXY_REQUIRE_HS2") == "1" {
		t.Fatalf("HS2PROXY_REQUIRE_HS2=1, but %s names no HiveServer2: it is %s", variable, what)
	}
	if address == "" {
		t.Skipf("set %s=host:port of %s (authentication NONE)", variable, what)
	}
	h := realHive{t: t, address: address, database: fmt.Sprintf("h_%s_%d", strings.ToLower(strings.ReplaceAll(t.Name(), "/", "_")), os.Getpid())}
	t.Cleanup(func() { h.run(h.open(h.address), "DROP DATABASE IF EXISTS "+h.database+" CASCADE") })
	h.restore()
	return h
}

// with is the server for a part of the test.
func (h realHive) with(t *testing.T) realHive {
	h.t = t
	return h
}

// hiveTables are made by restore: rows of 100 bytes, a key with half as many values as rows, and a text.
var hiveTables = []struct {
	name, clause string
	rows         int64
}{
	{"big", "", 5_000_000},
	{"small", "", 20_000},
	{"big_bucketed", "CLUSTERED BY (k) INTO 4 BUCKETS", 5_000_000},
	{"small_bucketed", "CLUSTERED BY (k) INTO 4 BUCKETS", 20_000},
	{"big_sorted", "CLUSTERED BY (k) SORTED BY (k) INTO 4 BUCKETS", 5_000_000},
	{"small_sorted", "CLUSTERED BY (k) SORTED BY (k) INTO 4 BUCKETS", 20_000},
}

// restore makes the tables anew.
func (h realHive) restore() {
	h.t.Helper()
	statements := []string{"DROP DATABASE IF EXISTS " + h.database + " CASCADE", "CREATE DATABASE " + h.database, "USE " + h.database}
	for _, table := range hiveTables {
		statements = append(statements,
			fmt.Sprintf("CREATE TABLE %s (k BIGINT, v STRING) %s STORED AS ORC", table.name, table.clause),
			fmt.Sprintf("ALTER TABLE %s UPDATE STATISTICS SET ('numRows'='%d','rawDataSize'='%d')", table.name, table.rows, 100*table.rows),
			fmt.Sprintf("ALTER TABLE %s UPDATE STATISTICS FOR COLUMN k SET ('numDVs'='%d','numNulls'='0','lowValue'='1','highValue'='%d')", table.name, table.rows/2, table.rows),
			fmt.Sprintf("ALTER TABLE %s UPDATE STATISTICS FOR COLUMN v SET ('numDVs'='%d','numNulls'='0','avgColLen'='12','maxColLen'='20')", table.name, table.rows/4),
		)
	}
	h.run(h.open(h.address), statements...)
}

func (h realHive) open(address string) *client.Session {
	h.t.Helper()
	session, err := client.Open(context.WithoutCancel(h.t.Context()), client.Config{ // cleanups open some too
		Address: address, Auth: "NONE", User: "hs2proxy", Password: "hs2proxy", DialTimeout: 10 * time.Second, CallTimeout: 5 * time.Minute,
	}, nil)
	if err != nil {
		h.t.Fatalf("open a session on %s: %v", address, err)
	}
	h.t.Cleanup(func() { _ = session.Close() })
	return session
}

func (h realHive) run(session *client.Session, statements ...string) client.Result {
	h.t.Helper()
	var last client.Result
	for _, statement := range statements {
		var err error
		if last, err = session.Query(context.WithoutCancel(h.t.Context()), statement); err != nil {
			h.t.Fatalf("%s: %v", statement, err)
		}
	}
	return last
}

// planned is the strategy of a query's only join, as Hive plans it under those settings.
func (h realHive) planned(sql string, settings map[string]string) advisor.Strategy {
	h.t.Helper()
	session := h.open(h.address)
	h.run(session, "USE "+h.database, "SET hive.explain.user=false")
	for name, value := range settings {
		h.run(session, "SET "+name+"="+value)
	}
	var text strings.Builder
	for _, row := range h.run(session, "EXPLAIN EXTENDED "+sql).Rows {
		if row[0] != nil {
			text.WriteString(*row[0])
		}
		text.WriteByte('\n')
	}
	plan, err := explain.Parse(text.String())
	if err != nil {
		h.t.Fatalf("%s: %v", sql, err)
	}
	joins := advisor.Joins(plan)
	if len(joins) != 1 {
		h.t.Fatalf("%s: %d joins in\n%s", sql, len(joins), &text)
	}
	return joins[0].Strategy
}

// edge is a join, and the strategy that both Hive and the rules of its release give it under the settings.
type edge struct {
	name, sql string
	settings  map[string]string
	want      advisor.Strategy
}

// plansAsSimulated explains each with hs2proxy, which finds out the release by itself.
func (h realHive) plansAsSimulated(edges []edge) {
	for _, q := range edges {
		h.t.Run(q.name, func(t *testing.T) {
			h := h.with(t)
			args := []string{"explain", "--database", h.database}
			for _, name := range slices.Sorted(maps.Keys(q.settings)) {
				args = append(args, "--set", name+"="+q.settings[name])
			}
			out := h.command(append(args, q.sql)...)
			if want := fmt.Sprintf("planned %s = simulated %s\n", q.want, q.want); !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		})
	}
}

// command runs hs2proxy against the server and gives what it prints.
func (h realHive) command(args ...string) string {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), "hs2proxy", args...)                                                                       // on the PATH that testscript.Main made
	cmd.Env = append(os.Environ(), "HS2PROXY_UPSTREAM__ADDRESS="+h.address, "HS2PROXY_EXPLAIN__RATE=50", "HS2PROXY_EXPLAIN__TIMEOUT=5m") // on a machine that does much else
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("hs2proxy %s: %v\n%s%s", strings.Join(args, " "), err, out, &stderr)
	}
	return string(out)
}
