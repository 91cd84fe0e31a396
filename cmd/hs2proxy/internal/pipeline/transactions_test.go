package pipeline

import (
	"slices"
	"testing"

	"github.com/beltran/gohive/hiveserver"
)

const (
	dbTxnManager    = "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager"
	dummyTxnManager = "org.apache.hadoop.hive.ql.lockmgr.DummyTxnManager"
)

// Where statements run in transactions the client's session is left alone; whoever says so, the server or the session.
func TestAnalyzeOutsideTheClientsTransaction(t *testing.T) {
	for name, c := range map[string]struct {
		server, session string
		mirrored        bool
	}{
		"transactions":                         {dbTxnManager, "", true},
		"no transactions":                      {dummyTxnManager, "", false},
		"nothing said":                         {"", "", false},
		"transactions in the session":          {dummyTxnManager, dbTxnManager, true},
		"the session has none, the server has": {dbTxnManager, dummyTxnManager, false},
	} {
		t.Run(name, func(t *testing.T) {
			server, hive := startHive(t), newFakeHive()
			settings := [][]string{{"hive.execution.engine=tez"}}
			if c.server != "" {
				settings = append(settings, []string{"hive.txn.manager=" + c.server})
			}
			hive.rows("SET -v", settings...)
			q := shopQuery(server)
			if c.session != "" {
				q.Target.Settings["hive.txn.manager"] = c.session
			}
			own := q.Target.Session.GUID
			var inOwn []bool
			server.set(func() {
				server.mu.refuse = func(req *hiveserver.TExecuteStatementReq) *hiveserver.TStatus {
					inOwn = append(inOwn, slices.Equal(req.SessionHandle.SessionId.GUID, own[:]))
					return nil
				}
			})
			got, err := shopAnalyzer(t, server, hive).Analyze(within(t), q)
			if err != nil || got.Error != "" || len(got.Joins) != 1 {
				t.Fatalf("got %+v, %v", got, err)
			}
			if want := []bool{!c.mirrored}; !slices.Equal(inOwn, want) {
				t.Errorf("explained in the client's session: %v, want %v", inOwn, want)
			}
			server.wantOpen(t, 1)
		})
	}
}
