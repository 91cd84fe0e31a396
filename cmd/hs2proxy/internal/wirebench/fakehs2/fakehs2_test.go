package fakehs2

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/beltran/gohive/hiveserver"
	"go.uber.org/goleak"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T) *Server {
	t.Helper()
	s, err := Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func dial(t *testing.T, s *Server) *hs2test.Client {
	t.Helper()
	c, err := hs2test.Dial(within(t), s.Addr(), "bench", "x")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Conn.Close() })
	return c
}

// The generated client reads what was serialised beforehand.
func TestRows(t *testing.T) {
	s := start(t)
	ctx, c := within(t), dial(t, s)
	session, err := c.Open(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	started, err := c.Execute(ctx, session, "SELECT "+Result{Rows: 25, Width: 40, Batch: 10}.Ask()+" 1", true)
	if err != nil {
		t.Fatal(err)
	}
	meta, err := c.GetResultSetMetadata(ctx, &hiveserver.TGetResultSetMetadataReq{OperationHandle: started.OperationHandle})
	if err != nil || len(meta.Schema.Columns) != 2 {
		t.Fatalf("metadata %v, %v", meta, err)
	}
	var got []string
	for {
		r, err := c.FetchResults(ctx, &hiveserver.TFetchResultsReq{OperationHandle: started.OperationHandle, MaxRows: 10})
		if err != nil {
			t.Fatal(err)
		}
		ids, payloads := r.Results.Columns[0].I64Val.Values, r.Results.Columns[1].StringVal.Values
		got = append(got, fmt.Sprint(r.Results.StartRowOffset, len(ids), len(payloads), r.GetHasMoreRows()))
		if len(ids) == 0 {
			break
		}
		if len(payloads[0]) != 40-leastWidth {
			t.Errorf("a payload of %d bytes", len(payloads[0]))
		}
	}
	if want := "0 10 10 false, 10 10 10 false, 20 5 5 false, 25 0 0 false"; strings.Join(got, ", ") != want {
		t.Errorf("batches %q, want %q", got, want)
	}
	if sessions, operations := s.Open(); sessions != 1 || operations != 1 {
		t.Errorf("%d sessions, %d operations", sessions, operations)
	}
	if r, err := c.CloseSession(ctx, &hiveserver.TCloseSessionReq{SessionHandle: session}); err != nil || r.Status.StatusCode != hiveserver.TStatusCode_SUCCESS_STATUS {
		t.Fatal(r, err)
	}
	if sessions, operations := s.Open(); sessions != 0 || operations != 0 {
		t.Errorf("%d sessions, %d operations at the end", sessions, operations)
	}
}

func TestWhatIsNotThere(t *testing.T) {
	ctx, c := within(t), dial(t, start(t))
	session, err := c.Open(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, sql := range map[string]string{
		"statement": "GRANT ALL", "table": "DESCRIBE FORMATTED `wirebench`.`nope`", "width": "SELECT " + Result{Rows: 1, Width: 3, Batch: 1}.Ask(),
	} {
		if r, err := c.Execute(ctx, session, sql, false); err != nil || r.Status.StatusCode != hiveserver.TStatusCode_ERROR_STATUS {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	gone := &hiveserver.TSessionHandle{SessionId: identifier(guid{1})}
	if r, err := c.Execute(ctx, gone, "SELECT 1", false); err != nil || !strings.HasPrefix(r.Status.GetErrorMessage(), "Invalid SessionHandle") {
		t.Errorf("a session that is not there: %v, %v", r, err)
	}
	if _, err := c.GetQueryId(ctx, &hiveserver.TGetQueryIdReq{}); err == nil || !strings.Contains(err.Error(), "Invalid method name") {
		t.Errorf("an unknown method: %v", err)
	}
	if r, err := c.Poll(ctx, &hiveserver.TOperationHandle{OperationId: identifier(guid{1})}); err != nil || r.Status.StatusCode != hiveserver.TStatusCode_ERROR_STATUS {
		t.Errorf("an operation that is not there: %v, %v", r, err)
	}
}

// What the proxy asks for itself is answered so that its own readers make sense of it.
func TestAnalysis(t *testing.T) {
	s := start(t)
	ctx := within(t)
	cfg := client.Config{Address: s.Addr(), Auth: "NONE", User: "hs2proxy"}
	conn, err := client.Dial(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	handle, err := conn.OpenSession(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := conn.Run(ctx, handle, "EXPLAIN EXTENDED SELECT 1", nil, true)
	if err != nil || len(got.Log) == 0 {
		t.Fatalf("%d lines of log, %v", len(got.Log), err)
	}
	var lines []string
	for _, row := range got.Rows {
		lines = append(lines, *row[0])
	}
	parsed, err := explain.Parse(strings.Join(lines, "\n"))
	if err != nil || len(parsed.Stages) != 2 {
		t.Fatalf("plan %+v, %v", parsed, err)
	}
	session, err := client.Open(ctx, cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	for table, want := range map[string]int64{"orders": 2880404, "customers": 100000} {
		stats, err := statscheck.ReadTable(ctx, session, hiveql.TableName{Database: "wirebench", Table: table}, []string{"customer_id"})
		if err != nil || stats.Rows == nil || *stats.Rows != want || *stats.Columns["customer_id"].NDV != 95000 {
			t.Errorf("%s: %+v, %v", table, stats, err)
		}
	}
	if all, err := session.Query(ctx, "SET -v"); err != nil || len(all.Rows) < 100 {
		t.Errorf("%d settings, %v", len(all.Rows), err)
	}
	if n := s.Counts(); n.Explains != 1 || n.Asked < 5 {
		t.Errorf("counted %+v", n)
	}
}
