package pipeline

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/beltran/gohive/hiveserver"

	"github.com/hs2proxy/hs2proxy/advisor/movement"
	"github.com/hs2proxy/hs2proxy/store"
)

// countedQueries is the store of a RowCount, in memory.
type countedQueries struct {
	queries []store.AffectedQuery
	actuals []store.Actuals
	saved   []store.ExplainAnalyze
}

func (c *countedQueries) QueriesToCount(context.Context, string, []string, int) ([]store.AffectedQuery, error) {
	return c.queries, nil
}

func (c *countedQueries) RecordActuals(_ context.Context, a store.Actuals) error {
	c.actuals = append(c.actuals, a)
	return nil
}

func (c *countedQueries) SaveExplainAnalyze(_ context.Context, run int64, e store.ExplainAnalyze) error {
	if run != 7 || e.StartedAt.IsZero() || e.Took < 0 {
		return errors.New("an incomplete record")
	}
	c.saved = append(c.saved, e)
	return nil
}

func newRowCount(t *testing.T, texts ...string) (*RowCount, *countedQueries, *hive2) {
	t.Helper()
	server := startHive(t)
	records := &countedQueries{}
	for _, sql := range texts {
		records.queries = append(records.queries, store.AffectedQuery{Fingerprint: sql, Database: "shop", SampleSQL: sql})
	}
	analyzer := shopAnalyzer(t, server, newFakeHive())
	server.plans("/500")
	return &RowCount{Analyzer: analyzer, Samples: newSamples(t), Records: records, Timeout: time.Minute, MaxTime: time.Hour, Log: quiet()}, records, server
}

func (h *hive2) analyzed() (out []string) {
	for _, r := range h.requests() {
		if strings.HasPrefix(r.Statement, "EXPLAIN ANALYZE") {
			out = append(out, r.Statement)
		}
	}
	return out
}

// TestRowCountRunsAsTheServiceUser: in a session of our own, in the configured queue, in nobody else's name; the counts and what they tell
// are recorded.
func TestRowCountRunsAsTheServiceUser(t *testing.T) {
	c, records, server := newRowCount(t, "")
	st, session := statement("1", joinSQL), sessionOf(nil)
	session.Configuration = map[string]string{proxyUser: "somebody", "set:hivevar:v": "1"}
	st.ConfOverlay = map[string]string{"tez.queue.name": "own"}
	c.Samples.Put(st, &session, matter)
	records.queries[0] = store.AffectedQuery{Fingerprint: st.Info.Fingerprint, Database: st.Database, Settings: matter}
	c.Queue = "counting"
	if err := c.Run(within(t), 7); err != nil {
		t.Fatal(err)
	}
	if len(records.saved) != 1 || records.saved[0].Outcome != store.AnalyzeCounted || records.saved[0].Operators != 3 || records.saved[0].Reason != "" || records.saved[0].Took <= 0 {
		t.Errorf("saved %+v", records.saved)
	}
	if len(records.actuals) != 1 || records.actuals[0].Source != store.SourceExplainAnalyze || records.actuals[0].Operators[0].Actual != 500 ||
		len(records.actuals[0].Findings) != 1 || records.actuals[0].Findings[0].Kind != movement.BroadcastActualDwarfsEstimate {
		t.Errorf("recorded %+v", records.actuals)
	}
	for _, conf := range server.configurations() {
		if _, ok := conf[proxyUser]; ok || conf["set:hiveconf:tez.queue.name"] != "counting" || conf["set:hivevar:v"] != "1" {
			t.Errorf("opened with %v", conf)
		}
	}
	for _, r := range server.requests() {
		if _, ok := r.ConfOverlay["tez.queue.name"]; ok {
			t.Errorf("sent with %v", r.ConfOverlay)
		}
	}
	if session.Configuration[proxyUser] != "somebody" || st.ConfOverlay["tez.queue.name"] != "own" {
		t.Error("the client's own maps were changed")
	}
	server.wantOpen(t, 0)
}

// TestRowCountRefuses what writes, what runs programs, and what nobody knows the text of: nothing of these is sent.
func TestRowCountRefuses(t *testing.T) {
	for sql, words := range map[string]string{
		"INSERT INTO t SELECT a FROM u":                                        "no SELECT but INSERT",
		"FROM u INSERT INTO t SELECT a":                                        "no SELECT but INSERT",
		"WITH w AS (SELECT a FROM u) INSERT OVERWRITE TABLE t SELECT a FROM w": "no SELECT",
		"CREATE TABLE x AS SELECT 1":                                           "no SELECT",
		"DELETE FROM t":                                                        "no SELECT",
		"SELECT TRANSFORM (a) USING 'rm -r /' AS (b) FROM u":                   "script",
		"SELECT reflect('java.lang.System', 'exit', 0) FROM u":                 "Java",
		"": "not known",
	} {
		c, records, server := newRowCount(t, sql)
		if err := c.Run(within(t), 7); err != nil {
			t.Fatal(err)
		}
		if len(records.saved) != 1 || records.saved[0].Outcome != store.AnalyzeRefused || !strings.Contains(records.saved[0].Reason, words) {
			t.Errorf("%q: %+v", sql, records.saved)
		}
		if n := len(server.requests()); n > 0 {
			t.Errorf("%q: %d statements were sent", sql, n)
		}
	}
}

// TestRowCountKeepsNobodyWaiting: a server that compiles one statement at a time is not asked, nor one that does not tell.
func TestRowCountKeepsNobodyWaiting(t *testing.T) {
	for settings, words := range map[string]string{
		parallelCompilation + "=false": "would compile no other statement", "hive.execution.engine=tez": "would compile no other statement", "": "is not known",
	} {
		c, records, server := newRowCount(t, "SELECT a FROM u")
		hive := newFakeHive()
		if settings == "" {
			hive.fails("SET -v", errors.New("away"))
		} else {
			hive.rows("SET -v", []string{settings})
		}
		c.Analyzer = shopAnalyzer(t, server, hive)
		if err := c.Run(within(t), 7); err != nil {
			t.Fatal(err)
		}
		if len(records.saved) != 1 || records.saved[0].Outcome != store.AnalyzeRefused || !strings.Contains(records.saved[0].Reason, words) {
			t.Errorf("%q: %+v", settings, records.saved)
		}
		if n := len(server.analyzed()); n > 0 {
			t.Errorf("%q: %d queries were executed", settings, n)
		}
	}
}

// TestRowCountGoesOn after a query that fails, that has no counts or no plan on record, and ends with its time.
func TestRowCountGoesOn(t *testing.T) {
	c, records, server := newRowCount(t, "SELECT broken", joinSQL)
	c.Fingerprints = []string{"0123456789abcdef"}
	server.set(func() {
		server.mu.refuse = func(r *hiveserver.TExecuteStatementReq) *hiveserver.TStatus {
			if strings.Contains(r.Statement, "broken") {
				return refusedStatus(10004, "Invalid table alias or column reference 'broken'")
			}
			return nil
		}
		reply := server.mu.reply
		server.mu.reply = func(sql string) answer {
			if strings.HasPrefix(sql, "EXPLAIN ANALYZE") {
				return answer{rows: lines(strings.ReplaceAll(mapJoinUser, "~", ""))}
			}
			return reply(sql)
		}
	})
	if err := c.Run(within(t), 7); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range records.saved {
		got = append(got, string(e.Outcome)+" "+e.Reason)
	}
	if len(got) != 3 || got[0] != "REFUSED no plan of it is on record" || !strings.HasPrefix(got[1], "FAILED ") || !strings.Contains(got[1], "broken") || got[2] != "NO_COUNTS Hive printed no counts" {
		t.Errorf("got %q", got)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(store.ErrLeaseLost)
	before := len(server.analyzed())
	if err := c.Run(ctx, 7); !errors.Is(err, store.ErrLeaseLost) || !strings.Contains(err.Error(), "2 of 2") {
		t.Errorf("got %v", err)
	}
	if n := len(server.analyzed()); n != before {
		t.Errorf("%d more queries were run", n-before)
	}
}
