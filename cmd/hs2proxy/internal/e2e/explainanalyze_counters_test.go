package e2e

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/beltran/gohive"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// A client reads its operation log, in which HiveServer2 prints operators' counters: the proxy takes them as they pass, the client has
// every line, and the estimate that was wrong is reported and found. A statement of which a task runs out of memory where its plan
// hashes a table is found too, by the error that the client gets.
func countersPass(t *testing.T, r rig) {
	const (
		sql = lyingQuery
		// No array of 2³¹−1 bytes can be: a task's OutOfMemoryError without using up the server's memory. The join's own vertex fails.
		overflow = "SELECT count(*) FROM big b JOIN hashed h ON b.id = h.id WHERE length(space(h.huge - b.grp + b.grp)) > 0"
	)
	dsn := storetest.DSN(t)
	db := connect(t, dsn)
	proxy := serve(t, r.program, r.settings(dsn))
	client := session(t, proxy.address(t))
	runAll(t, client, append(lying("e2e_counters"),
		"CREATE TABLE hashed (id int, huge int) STORED AS ORC", "INSERT INTO hashed VALUES (1, 2147483647)")...)

	lines := readsLog(t, proxy.address(t), "USE e2e_counters", "SET hive.tez.exec.print.summary=true", sql)
	counters := 0
	for _, line := range lines {
		if strings.Contains(line, "RECORDS_OUT_OPERATOR_") {
			counters++
		}
	}
	if counters == 0 {
		t.Fatalf("the client read no counters:\n%s", strings.Join(lines, "\n"))
	}
	finding := "SELECT count(*) FROM hs2proxy.report_findings WHERE kind = $1 AND fingerprint = $2"
	eventually(t, "the finding of the counters", func(context.Context) bool {
		var n int
		row(t, db, []any{&n}, finding, "broadcast_actual_dwarfs_estimate", hiveql.Parse(sql).Fingerprint)
		return n == 1
	})
	var estimated int64
	var source string
	row(t, db, []any{&estimated, &source}, "SELECT estimated_rows, source FROM hs2proxy.operator_actuals WHERE actual_rows = $1 ORDER BY q_error DESC LIMIT 1", there)
	if estimated > claimed || source != "COUNTERS" {
		t.Errorf("%d rows estimated, counted by %s", estimated, source)
	}

	_, err := client.Query(t.Context(), overflow)
	if err == nil || !strings.Contains(err.Error(), "java.lang.OutOfMemoryError") {
		t.Fatalf("the client gets %v, want Hive's OutOfMemoryError", err)
	}
	eventually(t, "the finding of the memory", func(context.Context) bool {
		var n int
		row(t, db, []any{&n}, finding, "map_join_memory", hiveql.Parse(overflow).Fingerprint)
		return n == 1
	})
}

// readsLog runs statements in one session of gohive's and returns the operation log of the last one.
func readsLog(t *testing.T, address string, statements ...string) (lines []string) {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	configuration := gohive.NewConnectConfiguration()
	configuration.Username, configuration.Password = "e2e", "e2e"
	connection, err := gohive.Connect(host, n, "NONE", configuration)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	cursor := connection.Cursor()
	defer cursor.Close()
	for _, sql := range statements {
		if cursor.Exec(t.Context(), sql); cursor.Err != nil {
			t.Fatalf("%s: %v", sql, cursor.Err)
		}
	}
	for cursor.HasMore(t.Context()) {
		cursor.RowMap(t.Context())
		if cursor.Err != nil {
			t.Fatal(cursor.Err)
		}
	}
	for {
		more := cursor.FetchLogs()
		if cursor.Err != nil {
			t.Fatal(cursor.Err)
		}
		if len(more) == 0 {
			return lines
		}
		lines = append(lines, more...)
	}
}
