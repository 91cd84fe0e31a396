package statscheck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

var update = flag.Bool("update", false, "write the golden files of testdata/describe from HS2PROXY_TEST_HS2")

// realSessions opens sessions on the HiveServer2 of HS2PROXY_TEST_HS2.
type realSessions struct {
	config client.Config
	conf   map[string]string
}

func (s realSessions) OpenSession(ctx context.Context, _ Refresh) (Session, error) {
	return client.Open(ctx, s.config, s.conf)
}

func realHive(t *testing.T) realSessions {
	t.Helper()
	address := os.Getenv("HS2PROXY_TEST_HS2")
	if address == "" {
		t.Skip("HS2PROXY_TEST_HS2=host:port of a HiveServer2 4.0.1 (authentication NONE) is not set")
	}
	return realSessions{config: client.Config{Address: address, Auth: "NONE", User: "statscheck", Password: "x", DialTimeout: 30 * time.Second, CallTimeout: time.Minute}}
}

// shared hands out one session that is already open: its Tez is, too.
type shared struct{ Session }

func (s shared) OpenSession(context.Context, Refresh) (Session, error) { return s, nil }
func (shared) Close() error                                            { return nil }

// realSession is one session for a whole test, and a function that runs statements in it.
func realSession(t *testing.T, hive realSessions) (Session, func(sql ...string)) {
	t.Helper()
	session, err := hive.OpenSession(t.Context(), Refresh{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	return session, func(sql ...string) {
		t.Helper()
		for _, s := range sql {
			if _, err := session.Query(t.Context(), s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	}
}

// database makes a database of the test's own and drops it at the end.
func database(t *testing.T, hive realSessions, name string) (Session, func(sql ...string)) {
	t.Helper()
	session, run := realSession(t, hive)
	run("DROP DATABASE IF EXISTS "+name+" CASCADE", "CREATE DATABASE "+name, "USE "+name)
	t.Cleanup(func() {
		if _, err := session.Query(context.Background(), "DROP DATABASE "+name+" CASCADE"); err != nil {
			t.Error(err)
		}
	})
	run("SET hive.stats.autogather=false", "SET hive.stats.column.autogather=false")
	return session, run
}

func rulesOf(list []Staleness) []Rule {
	var out []Rule
	for _, s := range list {
		out = append(out, s.Rule)
	}
	return out
}

// Rows written with autogather off: R2 and R4 hold, R3 too for the join column; the refresh makes all of them go away.
func TestHiveRefresh(t *testing.T) {
	hive := realHive(t)
	session, run := database(t, hive, "h_statscheck_refresh")
	table := hiveql.TableName{Database: "h_statscheck_refresh", Table: "orders"}
	run("CREATE TABLE orders (id int, `odd name` string, tags array<string>)",
		"INSERT INTO orders SELECT pos, 'x', array('t') FROM (SELECT posexplode(split(space(99), ' ')) AS (pos, x)) p",
		"ANALYZE TABLE orders COMPUTE STATISTICS FOR COLUMNS id")
	read := func() advisor.TableStats {
		t.Helper()
		stats, err := ReadTable(t.Context(), session, table, []string{"id", "odd name", "tags"})
		if err != nil {
			t.Fatal(err)
		}
		return stats
	}
	usage := Usage{JoinColumns: []string{"id"}}
	good := read()
	seen := Rebase(nil, Writes{}, good)
	if !seen.Kept || *seen.Baseline.Rows != 100 {
		t.Fatalf("baseline: %+v", seen)
	}
	if found := Check(Subject{Stats: good, Baseline: seen.Baseline, Usage: usage}, DefaultThresholds()); len(found) > 0 {
		t.Errorf("valid statistics, yet %v", found)
	}

	written := time.Now()
	run("INSERT INTO orders SELECT pos, concat('n', pos), array('t') FROM (SELECT posexplode(split(space(1999), ' ')) AS (pos, x)) p")
	after := read()
	writes := Writes{Rows: 2000, Counted: 1, LastAt: written}
	if kept := Rebase(seen.Baseline, writes, after); kept.Kept {
		t.Errorf("autogather was off, yet %s", kept.Reason)
	}
	found := Check(Subject{Stats: after, Baseline: seen.Baseline, Writes: writes, Usage: usage}, DefaultThresholds())
	if want := []Rule{R2NoBasic, R3Columns, R4Rows}; !slices.Equal(rulesOf(found), want) {
		t.Errorf("got %v, want %v", found, want)
	}

	planned := Plan([]Candidate{{Table: table.String(), Staleness: found, Columns: []string{"id", "odd name", "tags"}}}, Schedule{Name: "test"}, DefaultPolicy(), time.Now())
	if len(planned) != 1 {
		t.Fatalf("planned %v", planned)
	}
	got := NewRunner(RunnerConfig{}, hive, nil, quiet()).Run(t.Context(), planned[0])
	if got.State != RefreshDone || got.Effect != EffectEffective {
		t.Fatalf("got %s %s %q", got.State, got.Effect, got.Error)
	}
	if *got.Before.Rows != 100 || *got.After.Rows != 2100 || !slices.Equal(got.Columns, []string{"id", "odd name"}) {
		t.Errorf("before %d, after %d, columns %v", *got.Before.Rows, *got.After.Rows, got.Columns)
	}
	if c := got.After.Columns["id"]; c.NDV == nil || *c.NDV < 1900 || *c.NDV > 2100 || *c.Nulls != 0 {
		t.Errorf("id: %+v", c)
	}
	base := NewBaseline(*got.After)
	if found := Check(Subject{Stats: *got.After, Baseline: &base, Usage: usage}, DefaultThresholds()); len(found) > 0 {
		t.Errorf("after the refresh: %v", found)
	}
	if again := NewRunner(RunnerConfig{}, shared{session}, nil, quiet()).Run(t.Context(), planned[0]); again.Effect != EffectNoChange {
		t.Errorf("again: %s %s %q", again.State, again.Effect, again.Error)
	}
}

// Partitions: the sums of the table hide which partition lacks statistics; a refresh of one of them is judged by its own.
func TestHivePartitions(t *testing.T) {
	hive := realHive(t)
	session, run := database(t, hive, "h_statscheck_parts")
	table := hiveql.TableName{Database: "h_statscheck_parts", Table: "p"}
	run("CREATE TABLE p (id int) PARTITIONED BY (ds string, h int)",
		"INSERT INTO p PARTITION (ds='a b''=c/d\\\\', h=1) VALUES (1),(2)",
		"INSERT INTO p PARTITION (ds='b', h=2) VALUES (3)")
	list, err := session.Query(t.Context(), "SHOW PARTITIONS p")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, row := range list.Rows {
		names = append(names, *row[0])
	}
	refresh := func(r Refresh) Refresh {
		t.Helper()
		r.Table, r.Mode, r.Columns = table.String(), ModeColumns, []string{"id", "ds"}
		got := NewRunner(RunnerConfig{}, shared{session}, nil, quiet()).Run(t.Context(), r)
		if got.State != RefreshDone {
			t.Fatalf("%q: %s %q", got.Statements, got.State, got.Error)
		}
		return got
	}
	holds := func(stats advisor.TableStats) []Rule {
		return rulesOf(Check(Subject{Stats: stats, Usage: Usage{JoinColumns: []string{"id", "ds"}}}, DefaultThresholds()))
	}
	for i, name := range names {
		got := refresh(Refresh{Partitions: []string{name}})
		p, err := ReadPartition(t.Context(), session, table, name, nil)
		if err != nil || !p.BasicAccurate || !slices.Equal(p.ColumnsAccurate, []string{"id"}) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
		if got.Effect != EffectEffective {
			t.Errorf("%s: %s", name, got.Effect)
		}
		last := i == len(names)-1
		if rules := holds(*got.After); last != (len(rules) == 0) || (!last && !slices.Equal(rules, []Rule{R2NoBasic, R3Columns})) {
			t.Errorf("after partition %d of %d: %v", i+1, len(names), rules)
		}
	}
	if got := refresh(Refresh{}); got.Effect != EffectNoChange || *got.After.Rows != 3 {
		t.Errorf("the whole table: %s, %d rows", got.Effect, *got.After.Rows)
	}
	if _, err := ReadPartition(t.Context(), session, table, "ds=none/h=1", nil); !errors.Is(err, ErrTableGone) {
		t.Errorf("a partition that is not there: %v", err)
	}
}

func TestHiveRefuses(t *testing.T) {
	hive := realHive(t)
	session, run := database(t, hive, "h_statscheck_refused")
	run("CREATE TABLE t (id int)", "CREATE VIEW v AS SELECT id FROM t", "CREATE TEMPORARY TABLE mine (id int)")
	runner := NewRunner(RunnerConfig{}, hive, nil, quiet())
	for table, want := range map[string]string{
		"h_statscheck_refused.v":    "base tables",
		"h_statscheck_refused.none": "Table not found",
		"h_statscheck_refused.mine": "Table not found", // another session's
		"h_statscheck_none.t":       "Database does not exist",
	} {
		got := runner.Run(t.Context(), Refresh{Table: table, Mode: ModeBasic})
		if got.State != RefreshFailed || !strings.Contains(got.Error, want) || len(got.Statements) > 0 {
			t.Errorf("%s: %s %q %q", table, got.State, got.Error, got.Statements)
		}
	}
	mine, err := ReadTable(t.Context(), session, hiveql.TableName{Database: "h_statscheck_refused", Table: "mine"}, nil)
	if err != nil || !mine.Temporary {
		t.Errorf("%+v, %v", mine, err)
	}
	_, err = ReadTable(t.Context(), session, hiveql.TableName{Database: "h_statscheck_refused", Table: "none"}, nil)
	if !errors.Is(err, ErrTableGone) {
		t.Errorf("got %v", err)
	}
}

// A timeout ends the ANALYZE in Hive. A new session first starts its Tez, which takes far longer than this timeout.
func TestHiveTimeout(t *testing.T) {
	hive := realHive(t)
	session, run := database(t, hive, "h_statscheck_timeout")
	run("CREATE TABLE t (id int)", "INSERT INTO t VALUES (1)")
	got := NewRunner(RunnerConfig{Timeout: 300 * time.Millisecond}, hive, nil, quiet()).
		Run(t.Context(), Refresh{Table: "h_statscheck_timeout.t", Mode: ModeBasic})
	if got.State != RefreshFailed || got.Error != errTimeout.Error() || len(got.Statements) != 1 {
		t.Errorf("got %s %q %q", got.State, got.Error, got.Statements)
	}
	stats, err := ReadTable(t.Context(), session, hiveql.TableName{Database: "h_statscheck_timeout", Table: "t"}, nil)
	if err != nil || stats.BasicAccurate {
		t.Errorf("got %+v, %v", stats, err)
	}
}

// The golden files are what this server prints, but for what differs from run to run. With -update they are written.
func TestHiveGolden(t *testing.T) {
	hive := realHive(t)
	session, _ := realSession(t, hive)
	folder := filepath.Join("testdata", "describe")
	statements, err := os.ReadFile(filepath.Join(folder, "statements.sql"))
	if err != nil {
		t.Fatal(err)
	}
	name := ""
	for line := range strings.Lines(string(statements)) {
		line = strings.TrimSpace(line)
		if next, ok := strings.CutPrefix(line, "-- golden: "); ok {
			name = next
		}
		if line == "" || strings.HasPrefix(line, "--") {
			continue
		}
		res, err := session.Query(t.Context(), line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if name == "" {
			continue
		}
		got := printed(t, res.Rows)
		file := filepath.Join(folder, name+".jsonl")
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		} else if want, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v\ngot\n%s\nwant\n%s", name, err, got, want)
		}
		name = ""
	}
}

// volatile are the cells that differ from run to run: by heading or parameter name, and what stands for them.
var volatile = map[string]string{
	"CreateTime:": "Thu Jan 01 00:00:00 UTC 1970", "Owner:": "hive", "transient_lastDdlTime": "1", "last_modified_time": "1", "last_modified_by": "hive",
}

var (
	generated = regexp.MustCompile(`^pk_\d+_\d+_\d+`)
	location  = regexp.MustCompile(`/(h_statscheck_golden\.db/.*|_tmp_space\.db/).*$`)
)

func printed(t *testing.T, rows [][]*string) []byte {
	t.Helper()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, row := range rows {
		row = slices.Clone(row)
		c := cells(row)
		for i, name := range c[:2] {
			if v, ok := volatile[name]; ok {
				row[i+1] = &v
			}
		}
		switch {
		case c[0] == "Location:":
			path := strings.TrimSpace("file:/warehouse/" + strings.TrimSuffix(location.FindStringSubmatch(c[1])[1], "_tmp_space.db/"))
			if strings.Contains(c[1], "_tmp_space.db") {
				path = "file:/warehouse/_tmp_space.db/table"
			}
			row[1] = &path
		case generated.MatchString(c[1]):
			row[1] = new("pk_1")
		}
		if err := enc.Encode(row); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}
