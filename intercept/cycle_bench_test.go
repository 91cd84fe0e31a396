package intercept

import (
	"fmt"
	"testing"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"

	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
	"github.com/hs2proxy/hs2proxy/thrift"
)

// reportSQL is a join as reports send it.
const reportSQL = `SELECT /*rows=100 width=100 batch=100*/ c.c_customer_id, c.c_last_name, d.d_date, SUM(ss.ss_net_paid) AS paid
FROM store_sales ss
JOIN customer c ON ss.ss_customer_sk = c.c_customer_sk
JOIN date_dim d ON ss.ss_sold_date_sk = d.d_date_sk
LEFT OUTER JOIN store s ON ss.ss_store_sk = s.s_store_sk
WHERE d.d_year = 2001 AND s.s_state IN ('TN', 'GA', 'CA') AND ss.ss_ticket_number <> 10000000
GROUP BY c.c_customer_id, c.c_last_name, d.d_date
ORDER BY paid DESC`

// step is one message on the wire.
type step struct {
	side  thrift.Side
	bytes []byte
}

// queryCycle is a query from OpenSession to CloseSession, 100 rows fetched; its handles are made of the letters.
func queryCycle(session, operation byte) []step {
	user, tasks, now, done := "bench", "[]", int64(1700000000000), hiveserver.TOperationState_FINISHED_STATE
	labels := make([]string, 100)
	for i := range labels {
		labels[i] = fmt.Sprintf("customer %d", i)
	}
	handle, of := aSession(session), anOperation(operation)
	var steps []step
	exchange := func(name string, call, reply athrift.TStruct) {
		steps = append(steps, step{thrift.Client, frameOf(name, athrift.CALL, call)}, step{thrift.HiveServer2, frameOf(name, athrift.REPLY, reply)})
	}
	exchange("OpenSession",
		&hiveserver.TCLIServiceOpenSessionArgs{Req: &hiveserver.TOpenSessionReq{Username: &user, Configuration: map[string]string{"use:database": "default"}}},
		&hiveserver.TCLIServiceOpenSessionResult{Success: &hiveserver.TOpenSessionResp{
			Status: good(), SessionHandle: handle, Configuration: map[string]string{"hive.server2.thrift.resultset.default.fetch.size": "1000"},
		}})
	exchange("ExecuteStatement",
		&hiveserver.TCLIServiceExecuteStatementArgs{Req: &hiveserver.TExecuteStatementReq{SessionHandle: handle, Statement: reportSQL, RunAsync: true}},
		&hiveserver.TCLIServiceExecuteStatementResult{Success: &hiveserver.TExecuteStatementResp{Status: good(), OperationHandle: of}})
	exchange("GetOperationStatus",
		&hiveserver.TCLIServiceGetOperationStatusArgs{Req: &hiveserver.TGetOperationStatusReq{OperationHandle: of}},
		&hiveserver.TCLIServiceGetOperationStatusResult{Success: &hiveserver.TGetOperationStatusResp{
			Status: good(), OperationState: &done, TaskStatus: &tasks, OperationStarted: &now, OperationCompleted: &now, HasResultSet: new(true),
		}})
	exchange("GetResultSetMetadata",
		&hiveserver.TCLIServiceGetResultSetMetadataArgs{Req: &hiveserver.TGetResultSetMetadataReq{OperationHandle: of}},
		&hiveserver.TCLIServiceGetResultSetMetadataResult{Success: &hiveserver.TGetResultSetMetadataResp{Status: good(), Schema: &hiveserver.TTableSchema{Columns: []*hiveserver.TColumnDesc{}}}})
	exchange("FetchResults",
		&hiveserver.TCLIServiceFetchResultsArgs{Req: &hiveserver.TFetchResultsReq{OperationHandle: of, MaxRows: 100}},
		&hiveserver.TCLIServiceFetchResultsResult{Success: &hiveserver.TFetchResultsResp{Status: good(), Results: &hiveserver.TRowSet{
			Rows: []*hiveserver.TRow{}, Columns: []*hiveserver.TColumn{{StringVal: &hiveserver.TStringColumn{Values: labels, Nulls: []byte{}}}},
		}}})
	exchange("CloseOperation",
		&hiveserver.TCLIServiceCloseOperationArgs{Req: &hiveserver.TCloseOperationReq{OperationHandle: of}},
		&hiveserver.TCLIServiceCloseOperationResult{Success: &hiveserver.TCloseOperationResp{Status: good()}})
	exchange("CloseSession",
		&hiveserver.TCLIServiceCloseSessionArgs{Req: &hiveserver.TCloseSessionReq{SessionHandle: handle}},
		&hiveserver.TCLIServiceCloseSessionResult{Success: &hiveserver.TCloseSessionResp{Status: good()}})
	return steps
}

// sighted is an Observer that is told nothing of blindness.
type sighted struct{ *Connection }

func (sighted) Blind(thrift.BlindReason)                       {}
func (sighted) DecodeFailed(thrift.Side, thrift.Method, error) {}

// BenchmarkCycle measures what the observation of a query from OpenSession to CloseSession costs: the bytes are followed, the
// watched messages read, sessions and statements tracked, the events queued and taken from the queue.
func BenchmarkCycle(b *testing.B) {
	queue := NewQueue(16)
	conn := NewTracker(TrackerConfig{Upstream: "hive"}, queue).Connect("10.0.0.7:4711")
	wire := thrift.NewConn(thrift.Limits{}, sighted{conn})
	feed := func(s step) {
		if _, err := wire.Stream(s.side).Feed(s.bytes); err != nil {
			b.Fatal(err)
		}
		_ = wire.Stream(s.side).Skip()
	}
	for _, s := range []step{{thrift.Client, hs2test.Plain("bench", "x")}, {thrift.HiveServer2, []byte{5, 0, 0, 0, 0}}} {
		feed(s)
	}
	cycle := queryCycle('A', 'o')
	var events int
	b.ReportAllocs()
	for b.Loop() {
		for _, s := range cycle {
			feed(s)
		}
		for queue.Len() > 0 {
			<-queue.Events()
			events++
		}
	}
	if wire.Blind() != thrift.NotBlind || events != 4*b.N {
		b.Fatalf("%s, %d events in %d cycles", wire.Blind(), events, b.N)
	}
}
