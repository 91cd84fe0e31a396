package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beltran/gohive/hiveserver"
)

// realServer is the configuration of the HiveServer2 that HS2PROXY_TEST_HS2 names (host:port, authentication NONE). The
// test is skipped without one, and fails where HS2PROXY_REQUIRE_HS2=1 asks for it in CI.
func realServer(t *testing.T) Config {
	t.Helper()
	address := os.Getenv("HS2PROXY_TEST_HS2")
	if address == "" {
		if os.Getenv("CI") == "true" && os.Getenv("HS2PROXY_REQUIRE_HS2") == "1" {
			t.Fatal("HS2PROXY_REQUIRE_HS2=1, but HS2PROXY_TEST_HS2 names no HiveServer2")
		}
		t.Skip("HS2PROXY_TEST_HS2 names no HiveServer2 (host:port)")
	}
	return Config{Address: address, Auth: "NONE", User: "hs2proxy_client_test"}
}

// database makes a database of the test's own and drops it behind the test.
func database(t *testing.T, s *Session) string {
	t.Helper()
	name := fmt.Sprintf("h_client_%d_%d", os.Getpid(), time.Now().UnixNano())
	if _, err := s.Query(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := s.Query(ctx, "DROP DATABASE "+name+" CASCADE"); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return name
}

// mustRun runs statements in a session and returns the last result.
func mustRun(t *testing.T, c *Conn, h Handle, statements ...string) Result {
	t.Helper()
	var result Result
	for _, sql := range statements {
		var err error
		if result, err = c.Run(t.Context(), h, sql, nil, false); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	return result
}

func text(r Result) string {
	var b strings.Builder
	for _, row := range flat(r.Rows) {
		b.WriteString(strings.Join(row, "\t") + "\n")
	}
	return b.String()
}

func TestHiveTypes(t *testing.T) {
	config := realServer(t)
	s := opened(t, config)
	c := dialed(t, config)
	h, err := c.OpenSession(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	const sql = `SELECT true AS b, 3Y AS y, -4S AS s, 5 AS i, 6L AS l, cast(0.1 AS float) AS f, 1e10D AS d, cast(1.5 AS decimal(5,2)) AS c,
		'Größe' AS t, cast('v' AS varchar(3)) AS v, date '2024-02-29' AS da, timestamp '2024-01-01 00:00:00.5' AS ts, cast('x' AS binary) AS bi, array(1, 2) AS ar,
		map('k', 1) AS m, cast(NULL AS int) AS n, cast(NULL AS string) AS ns, cast(NULL AS boolean) AS nb, cast(NULL AS binary) AS nbi, 1.5D / 0 AS z`
	want := []string{"true", "3", "-4", "5", "6", "0.1", "1.0E10", "1.50", "Größe", "v", "2024-02-29", "2024-01-01 00:00:00.5", "x", "[1,2]", `{"k":1}`, "NULL", "NULL", "NULL", "NULL", "NULL"}
	columns := []string{"b", "y", "s", "i", "l", "f", "d", "c", "t", "v", "da", "ts", "bi", "ar", "m", "n", "ns", "nb", "nbi", "z"}
	for kind, run := range map[string]func() (Result, error){
		"Session": func() (Result, error) { return s.Query(t.Context(), sql) },
		"Conn":    func() (Result, error) { return c.Run(t.Context(), h, sql, nil, false) },
	} {
		got, err := run()
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if !slices.Equal(got.Columns, columns) || !equalRows(got.Rows, [][]string{want}) {
			t.Errorf("%s: columns %q\nrows %q\nwant %q", kind, got.Columns, flat(got.Rows), want)
		}
	}
	async := map[string]string{AsyncCompile: "true"}
	if got, err := c.Run(t.Context(), h, sql, async, false); err != nil || !equalRows(got.Rows, [][]string{want}) {
		t.Errorf("compiled asynchronously: rows %q, error %v", flat(got.Rows), err)
	}
	asynchronous, err := Open(t.Context(), config, map[string]string{"set:hiveconf:" + AsyncCompile: "true"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := asynchronous.Query(t.Context(), sql); err != nil || !equalRows(got.Rows, [][]string{want}) {
		t.Errorf("a session that compiles asynchronously: rows %q, error %v", flat(got.Rows), err)
	}
	if err := asynchronous.Close(); err != nil {
		t.Error(err)
	}
	many := mustRun(t, c, h, "SELECT pos FROM (SELECT posexplode(split(space(2499), ' ')) AS (pos, v)) t")
	if len(many.Rows) != 2500 || *many.Rows[2499][0] != "2499" {
		t.Errorf("%d rows in several batches, want 2500", len(many.Rows))
	}
	if err := c.CloseSession(t.Context(), h); err != nil {
		t.Error(err)
	}

	// A session of an old client has rows, not columns.
	old, err := call(t.Context(), c, time.Minute, func(ctx context.Context) (*hiveserver.TOpenSessionResp, error) {
		return c.client.OpenSession(ctx, &hiveserver.TOpenSessionReq{ClientProtocol: hiveserver.TProtocolVersion_HIVE_CLI_SERVICE_PROTOCOL_V5, Username: &config.User})
	})
	if err != nil {
		t.Fatal(err)
	}
	if h, err = handleOf(old.GetSessionHandle()); err != nil {
		t.Fatal(err)
	}
	// It widens FLOAT bit by bit: 0.1 is then 0.10000000149011612.
	got, err := c.Run(t.Context(), h, "SELECT 1Y, 2, 'a', cast(NULL AS string), cast(0.5 AS float), true, cast(NULL AS boolean), cast(1.5 AS decimal(5,2))", nil, true)
	if err != nil || !equalRows(got.Rows, [][]string{{"1", "2", "a", "NULL", "0.5", "true", "NULL", "1.50"}}) || len(got.Log) == 0 {
		t.Errorf("protocol V5: rows %q, %d log lines, error %v", flat(got.Rows), len(got.Log), err)
	}
	if err := c.CloseSession(t.Context(), h); err != nil {
		t.Error(err)
	}
}

func TestHiveRefusals(t *testing.T) {
	config := realServer(t)
	s := opened(t, config)
	_, err := s.Query(t.Context(), "SELECT * FROM h_no_such_database.t")
	var refusal *Error
	if !errors.As(err, &refusal) || refusal.Code != 10001 || !strings.Contains(refusal.Message, "Table not found") {
		t.Errorf("a table that is not there: %v", err)
	}
	if _, err := Open(t.Context(), config, map[string]string{"use:database": "h_no_such_database"}); !errors.As(err, &refusal) || !strings.Contains(refusal.Message, "h_no_such_database") {
		t.Errorf("a database that is not there: %v", err)
	}
	c := dialed(t, config)
	if _, err := c.Run(t.Context(), Handle{GUID: [16]byte{1}}, "SELECT 1", nil, false); !errors.As(err, &refusal) {
		t.Errorf("a session that is not there: %v", err)
	}
	if !c.Alive() {
		t.Error("a refusal ended the connection")
	}
	config.Auth = "NOSASL"
	if _, err := Open(t.Context(), config, nil); err == nil || errors.As(err, &refusal) {
		t.Errorf("bare Thrift on a SASL port: %v", err)
	}
}

// EXPLAIN inside somebody else's session, as the pipeline does it.
func TestHiveForeignSession(t *testing.T) {
	config := realServer(t)
	s := opened(t, config)
	db := database(t, s)

	client := dialed(t, config)
	h, err := client.OpenSession(t.Context(), map[string]string{"use:database": db})
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, client, h,
		"SET hive.auto.convert.join.noconditionaltask.size=123456",
		"CREATE TABLE a (k int, v string) STORED AS ORC",
		"CREATE TEMPORARY TABLE tmp (k int, w string) STORED AS ORC",
		"INSERT INTO a SELECT pos, 'v' FROM (SELECT posexplode(split(space(4999), ' ')) AS (pos, x)) t",
		"INSERT INTO tmp VALUES (1, 'w')",
	)

	other := config
	other.User = "another_user"
	ours := dialed(t, other)
	overlay := map[string]string{"hive.explain.user": "false", "hive.server2.logging.operation.level": "VERBOSE"}
	const sql = "EXPLAIN EXTENDED SELECT a.v, tmp.w FROM a JOIN tmp ON a.k = tmp.k"

	// The client's query sleeps about a millisecond a row meanwhile.
	running, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := client.Run(running, h, "SELECT max(s) FROM (SELECT reflect('java.lang.Thread', 'sleep', cast(k * 0 + 4 AS bigint)) AS s FROM a) t", nil, false)
		done <- err
	}()
	explained, err := ours.Run(t.Context(), h, sql, overlay, true)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		t.Errorf("the client's query ended before the EXPLAIN: %v", err)
	default:
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the client's query: %v, want the context's end", err)
	}
	plan := text(explained)
	if !strings.Contains(plan, "STAGE PLANS:") || !strings.Contains(plan, "Map Join Operator") || !strings.Contains(plan, db+".tmp") {
		t.Errorf("the plan:\n%s", plan)
	}
	log := strings.Join(explained.Log, "\n")
	for _, want := range []string{"Join input#0; onlineDataSize:", "maxJoinMemory: 123456"} {
		if !strings.Contains(log, want) {
			t.Errorf("the planner's log has no line with %q:\n%s", want, log)
		}
	}

	// Nothing of ours stays in the session.
	for setting, want := range map[string]string{
		"hive.explain.user": "true", "hive.auto.convert.join.noconditionaltask.size": "123456", "hive.server2.logging.operation.level": "EXECUTION",
	} {
		if got := strings.TrimSpace(text(mustRun(t, client, h, "SET "+setting))); got != setting+"="+want {
			t.Errorf("the session's setting is %s, want %s", got, want)
		}
	}
	if err := ours.Close(); err != nil {
		t.Error(err)
	}
	if got := text(mustRun(t, client, h, "SELECT count(*) FROM tmp")); got != "1\n" {
		t.Errorf("behind the end of our connection the client reads %q, want 1", got)
	}
	if err := client.CloseSession(t.Context(), h); err != nil {
		t.Error(err)
	}
}

// numModifiedRows, for asynchronous statements of our own and for a synchronous one asked for from another connection.
func TestHiveModifiedRows(t *testing.T) {
	config := realServer(t)
	s := opened(t, config)
	db := database(t, s)
	c := dialed(t, config)
	h, err := c.OpenSession(t.Context(), map[string]string{"use:database": db})
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, c, h, "CREATE TABLE t (k int) STORED AS ORC", "CREATE TABLE u (k int) STORED AS ORC")
	const three = "(SELECT explode(array(1, 2, 3)) AS k) x"
	tests := []struct {
		sql  string
		want int64
	}{
		{"INSERT INTO t SELECT k FROM " + three, 3},
		{"INSERT INTO t VALUES (1), (2)", 2},
		{"INSERT OVERWRITE TABLE t SELECT k FROM " + three + " WHERE k > 2", 1},
		{"INSERT INTO t SELECT k FROM " + three + " WHERE k > 3", 0},
		{"FROM " + three + " INSERT INTO t SELECT k INSERT INTO u SELECT k WHERE k = 1", 4},
		{"CREATE TABLE v AS SELECT k FROM " + three, 3},
		{"SELECT count(*) FROM t", 0},
	}
	for _, autogather := range []string{"true", "false"} {
		t.Log("hive.stats.autogather", autogather)
		mustRun(t, c, h, "SET hive.stats.autogather="+autogather, "DROP TABLE IF EXISTS v")
		for _, tt := range tests {
			result := mustRun(t, c, h, tt.sql)
			if result.ModifiedRows == nil || *result.ModifiedRows != tt.want {
				t.Errorf("autogather %s: %s: modified rows %v, want %d", autogather, tt.sql, deref(result.ModifiedRows), tt.want)
			}
		}
	}
	// gohive's session speaks protocol V6.
	result, err := s.Query(t.Context(), "INSERT INTO "+db+".t VALUES (1), (2)")
	if err != nil || result.ModifiedRows == nil || *result.ModifiedRows != 2 {
		t.Errorf("protocol V6: modified rows %v, error %v; want 2", deref(result.ModifiedRows), err)
	}

	// A synchronous INSERT, as PyHive sends it: the reply brings the handle when it has ended.
	reply, err := call(t.Context(), c, time.Minute, func(ctx context.Context) (*hiveserver.TExecuteStatementResp, error) {
		return c.client.ExecuteStatement(ctx, &hiveserver.TExecuteStatementReq{SessionHandle: h.session(), Statement: "INSERT INTO t SELECT k FROM " + three})
	})
	if err != nil {
		t.Fatal(err)
	}
	id := reply.OperationHandle.OperationId
	rows, state, err := dialed(t, config).OperationStatus(t.Context(), [16]byte(id.GUID), [16]byte(id.Secret))
	if err != nil || state != "FINISHED" || rows == nil || *rows != 3 {
		t.Errorf("a synchronous INSERT from another connection: rows %v, state %s, error %v; want 3, FINISHED", deref(rows), state, err)
	}
	c.finish(reply.OperationHandle, true, &err)
	if err != nil {
		t.Error(err)
	}
	if _, _, err := c.OperationStatus(t.Context(), [16]byte(id.GUID), [16]byte(id.Secret)); err == nil {
		t.Error("the state of a closed operation: want an error")
	}
	if err := c.CloseSession(t.Context(), h); err != nil {
		t.Error(err)
	}
}

func deref(n *int64) any {
	if n == nil {
		return "none"
	}
	return *n
}

// Open operations in a session are those that CloseSession would have to close; HiveServer2 does not list them, but a
// cancelled one must no longer run.
func TestHiveCancel(t *testing.T) {
	config := realServer(t)
	s := opened(t, config)
	db := database(t, s)
	if _, err := s.Query(t.Context(), "CREATE TABLE "+db+".t AS SELECT pos AS k FROM (SELECT posexplode(split(space(9999), ' ')) AS (pos, x)) t"); err != nil {
		t.Fatal(err)
	}
	c := dialed(t, config)
	h, err := c.OpenSession(t.Context(), map[string]string{"use:database": db})
	if err != nil {
		t.Fatal(err)
	}
	const slow = "SELECT max(s) FROM (SELECT reflect('java.lang.Thread', 'sleep', cast(k * 0 + 60 AS bigint)) AS s FROM t) x" // ten minutes
	for kind, run := range map[string]func(context.Context) error{
		"Conn": func(ctx context.Context) error { _, err := c.Run(ctx, h, slow, nil, true); return err },
		"Session": func(ctx context.Context) error {
			_, err := s.Query(ctx, strings.Replace(slow, " t)", " "+db+".t)", 1))
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		err := run(ctx)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: error %v, want the deadline", kind, err)
		}
	}
	// Both still work.
	if got := text(mustRun(t, c, h, "SELECT count(*) FROM t")); got != "10000\n" {
		t.Errorf("behind the cancel: %q", got)
	}
	if _, err := s.Query(t.Context(), "SELECT 1"); err != nil {
		t.Errorf("behind the cancel: %v", err)
	}
	if err := c.CloseSession(t.Context(), h); err != nil {
		t.Error(err)
	}
}
