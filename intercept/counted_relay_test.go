package intercept_test

import (
	"context"
	"slices"
	"testing"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
)

// TestCountersOfAFetchedLog: the counters in a log are told as the client reads it, on every transport, and the client gets each
// line of it.
func TestCountersOfAFetchedLog(t *testing.T) {
	log := []string{
		"INFO  : Compiling command", "INFO  : HIVE:", "INFO  :    CREATED_FILES: 1",
		"INFO  :    RECORDS_OUT_OPERATOR_FS_11: 1", "INFO  :    RECORDS_OUT_OPERATOR_TS_0: 98914484",
	}
	forEachTransport(t, func(t *testing.T, tr transport) {
		hive := tr.fake(t, func(string) hs2test.Outcome { return hs2test.Outcome{Rows: 3, Log: log} })
		p := newProxy(t, hive.Addr(), intercept.Config{})
		c := tr.dial(t, p.addr)
		ctx, cancel := context.WithTimeout(t.Context(), hang)
		defer cancel()
		session, err := c.Open(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		op, err := c.Execute(ctx, session, "select 1", false)
		if err != nil {
			t.Fatal(err)
		}
		if got := fetchLog(ctx, t, c, op); !slices.Equal(got, log) {
			t.Errorf("the client read %q", got)
		}
		if got := fetchLog(ctx, t, c, op); len(got) > 0 {
			t.Errorf("the client read %q again", got)
		}
		if rows, err := c.Fetch(ctx, op.OperationHandle); err != nil || rows != 3 {
			t.Errorf("%d rows, %v", rows, err)
		}
		var id string
		for _, kind := range []intercept.EventKind{intercept.SessionOpened, intercept.StatementStarted, intercept.StatementEnded, intercept.StatementCounted} {
			select {
			case e := <-p.queue.Events():
				if e.Kind != kind {
					t.Fatalf("event %d, wanted %d", e.Kind, kind)
				}
				if e.Kind == intercept.StatementStarted {
					id = e.Statement.ID
				}
				if e.Kind == intercept.StatementCounted && (e.Statement.ID != id ||
					e.Statement.OperatorCounters != "RECORDS_OUT_OPERATOR_FS_11: 1\nRECORDS_OUT_OPERATOR_TS_0: 98914484") {
					t.Errorf("counted %+v", e.Statement)
				}
			case <-ctx.Done():
				t.Fatal("an event is missing")
			}
		}
		p.observed(t)
	})
}
