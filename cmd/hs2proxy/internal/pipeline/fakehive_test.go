package pipeline

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// mapJoinPlan is EXPLAIN EXTENDED of Hive 4.0.1 for joinSQL.
//
//go:embed testdata/mapjoin.txt
var mapJoinPlan string

const joinSQL = "SELECT t.a, u.b FROM shop.t JOIN shop.u ON t.a = u.a"

func quiet() zerolog.Logger { return zerolog.Nop() }

// fakeHive is a session whose statements are answered by functions; unknown ones fail like a lost connection.
type fakeHive struct {
	mu    sync.Mutex
	on    map[string]func(ctx context.Context) (client.Result, error)
	asked []string
}

func newFakeHive() *fakeHive {
	h := &fakeHive{on: map[string]func(context.Context) (client.Result, error){}}
	h.rows("SET -v", []string{"hive.execution.engine=tez"}, []string{parallelCompilation + "=true"})
	h.rows("SELECT version()", []string{"4.0.1 r3af4517"})
	return h
}

func (h *fakeHive) answer(sql string, f func(ctx context.Context) (client.Result, error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.on[sql] = f
}

func (h *fakeHive) rows(sql string, rows ...[]string) {
	h.answer(sql, func(context.Context) (client.Result, error) { return client.Result{Rows: texts(rows)}, nil })
}

func (h *fakeHive) fails(sql string, err error) {
	h.answer(sql, func(context.Context) (client.Result, error) { return client.Result{}, err })
}

func (h *fakeHive) Query(ctx context.Context, sql string) (client.Result, error) {
	h.mu.Lock()
	h.asked = append(h.asked, sql)
	f := h.on[sql]
	h.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return client.Result{}, err
	}
	if f == nil {
		return client.Result{}, fmt.Errorf("the fake Hive knows no answer to %q", sql)
	}
	return f(ctx)
}

// times is how often a statement was asked.
func (h *fakeHive) times(sql string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(h.asked), func(s string) bool { return s != sql }))
}

func texts(rows [][]string) [][]*string {
	out := make([][]*string, 0, len(rows))
	for _, row := range rows {
		cells := make([]*string, 0, len(row))
		for _, c := range row {
			cells = append(cells, new(c))
		}
		out = append(out, cells)
	}
	return out
}

// table is what DESCRIBE FORMATTED prints.
type table struct {
	name        string // of database shop
	rows, bytes int64
	accurate    bool
	columns     []string // of type int
	location    string
}

func describeSQL(name string) string { return "DESCRIBE FORMATTED `shop`.`" + name + "`" }

func describeColumnSQL(name, column string) string { return describeSQL(name) + " `" + column + "`" }

// table answers the DESCRIBEs of a table and its columns, each of which has as many distinct values as the table has rows.
func (h *fakeHive) table(tb table) {
	if tb.location == "" {
		tb.location = "hdfs://shop/warehouse/shop.db/" + tb.name
	}
	accurate := `{"BASIC_STATS":"true"}`
	if !tb.accurate {
		accurate = "{}"
	}
	rows := [][]string{}
	for _, c := range tb.columns {
		rows = append(rows, []string{c, "int", ""})
	}
	rows = append(rows, []string{"", "", ""}, []string{"# Detailed Table Information", "", ""}, []string{"Database:", "shop", ""},
		[]string{"Location:", tb.location, ""},
		[]string{"Table Type:", "MANAGED_TABLE", ""}, []string{"Table Parameters:", "", ""},
		[]string{"", "COLUMN_STATS_ACCURATE", accurate}, []string{"", "numFiles", "1"},
		[]string{"", "numRows", strconv.FormatInt(tb.rows, 10)}, []string{"", "rawDataSize", strconv.FormatInt(tb.bytes, 10)},
		[]string{"", "totalSize", strconv.FormatInt(tb.bytes, 10)},
		[]string{"", "", ""}, []string{"# Storage Information", "", ""}, []string{"Num Buckets:", "-1", ""},
		[]string{"Bucket Columns:", "[]", ""}, []string{"Sort Columns:", "[]", ""})
	h.rows(describeSQL(tb.name), rows...)
	for _, c := range tb.columns {
		h.rows(describeColumnSQL(tb.name, c), []string{"col_name", c}, []string{"data_type", "int"},
			[]string{"min", "1"}, []string{"max", strconv.FormatInt(tb.rows, 10)}, []string{"num_nulls", "0"},
			[]string{"distinct_count", strconv.FormatInt(tb.rows, 10)}, []string{"COLUMN_STATS_ACCURATE", accurate})
	}
}

func (h *fakeHive) gone(name string) {
	h.fails(describeSQL(name), &client.Error{Code: 10001, Message: "Table not found " + name})
}

// clock is a time that tests move.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Now()} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// statement is one that just started in database shop.
func statement(id, sql string) *intercept.Statement {
	return &intercept.Statement{
		ID: id, SessionID: sessionOf(nil).Handle.ID(), SQL: sql, Info: hiveql.Parse(sql), Database: "shop", State: intercept.StateRunning,
		StartedAt: time.Now(),
	}
}

// sessionOf is a client's session with a handle, one of zeros by default.
func sessionOf(h *client.Handle) intercept.Session {
	s := intercept.Session{Upstream: "main", Database: "shop", OpenedAt: time.Now()}
	if h != nil {
		s.Handle = intercept.SessionHandle{GUID: h.GUID, Secret: h.Secret}
	}
	return s
}

func newCache(t testing.TB, now func() time.Time) *Cache {
	t.Helper()
	c, err := NewCache(100, time.Hour, now)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newSamples(t testing.TB) *Samples {
	t.Helper()
	s, err := NewSamples(100)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shopAnalyzer explains on the server and reads the plan's two tables.
func shopAnalyzer(t testing.TB, server *hive2, hive *fakeHive) *Analyzer {
	t.Helper()
	hive.table(table{name: "t", rows: 2, bytes: 8, accurate: true, columns: []string{"a"}})
	hive.table(table{name: "u", rows: 2, bytes: 178, accurate: true, columns: []string{"a", "b"}})
	server.plan(strings.Split(strings.TrimRight(mapJoinPlan, "\n"), "\n")...)
	return &Analyzer{
		Upstream: "main", Explainer: server.explainer(t, nil), Server: NewServer(hive, time.Hour, time.Now),
		Tables: NewTables(hive, time.Hour, time.Now), Log: quiet(),
	}
}

// panicking and waiting are answers of a fakeHive.
func panicking(context.Context) (client.Result, error) { panic("defect") }

func waiting(entered chan<- struct{}) func(context.Context) (client.Result, error) {
	return func(ctx context.Context) (client.Result, error) {
		close(entered)
		<-ctx.Done()
		return client.Result{}, ctx.Err()
	}
}
