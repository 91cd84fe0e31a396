package intercept_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"strings"
	"sync"
	"testing"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
	"github.com/hs2proxy/hs2proxy/thrift"
)

// TestFailureErrorTextsAndCodesChanged: every error of HiveServer2 reaches the client as it was sent, byte by byte.
func TestFailureErrorTextsAndCodesChanged(t *testing.T) {
	forEachTransport(t, func(t *testing.T, tr transport) {
		var direct, through [][]byte
		for _, proxy := range []bool{false, true} {
			hive := tr.fake(t, complaints)
			hive.Override("GetTypeInfo", func(x *hs2test.Exchange) error { return x.Exception(6, "Internal error processing GetTypeInfo") })
			addr := hive.Addr()
			if proxy {
				addr = newProxy(t, addr, intercept.Config{}).addr
			}
			recorder, err := hs2test.Record(addr)
			if err != nil {
				t.Fatal(err)
			}
			complain(t, tr.dial(t, recorder.Addr()), hive)
			_, got := recorder.Close()
			if proxy {
				through = got
			} else {
				direct = got
			}
		}
		if len(direct) != 1 || len(through) != 1 || !bytes.Equal(direct[0], through[0]) {
			t.Errorf("direct %q\nthrough the proxy %q", direct, through)
		}
		for _, text := range []string{"Tabelle ‚übrigens‘ fehlt", "42S02", "HiveSQLException", "GetTypeInfo", "Invalid method name"} {
			if !bytes.Contains(direct[0], []byte(text)) {
				t.Errorf("the conversation has no %s", text)
			}
		}
	})
}

func complaints(sql string) hs2test.Outcome {
	switch sql {
	case "refused":
		return hs2test.Outcome{Code: 10001, SQLState: "42S02", Message: "Tabelle ‚übrigens‘ fehlt\n\tat line 1"}
	case "fails":
		return hs2test.Outcome{Code: 2, SQLState: "08S01", Message: "Execution Error, return code 2 " + strings.Repeat("from Tez ", 5000), Late: true}
	case "empty":
		return hs2test.Outcome{Code: -1, Message: "\x00"}
	default:
		return hs2test.Outcome{Rows: 2, Width: 3}
	}
}

// complain makes HiveServer2 refuse in every way. What the replies say is compared as bytes.
func complain(t *testing.T, c *hs2test.Client, hive *hs2test.Server) {
	t.Helper()
	ctx := t.Context()
	session, err := c.Open(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"refused", "empty"} {
		if _, err := c.Execute(ctx, session, sql, false); err != nil {
			t.Fatal(err)
		}
	}
	resp, err := c.Execute(ctx, session, "fails", true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Poll(ctx, resp.OperationHandle); err != nil {
		t.Fatal(err)
	}
	if _, err := c.FetchResults(ctx, &hiveserver.TFetchResultsReq{OperationHandle: resp.OperationHandle}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CloseOperation(ctx, &hiveserver.TCloseOperationReq{OperationHandle: anOperation()}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CloseSession(ctx, &hiveserver.TCloseSessionReq{SessionHandle: aSession()}); err != nil {
		t.Fatal(err)
	}
	for _, status := range []hiveserver.TStatusCode{
		hiveserver.TStatusCode_SUCCESS_WITH_INFO_STATUS, hiveserver.TStatusCode_INVALID_HANDLE_STATUS, hiveserver.TStatusCode(77),
	} {
		hive.Override("ExecuteStatement", func(x *hs2test.Exchange) error {
			return x.Reply(&hiveserver.TCLIServiceExecuteStatementResult{Success: &hiveserver.TExecuteStatementResp{
				Status: &hiveserver.TStatus{StatusCode: status, InfoMessages: []string{"*a:b:1:2", "", "ü"}},
			}})
		})
		if _, err := c.Execute(ctx, session, "select 1", false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.GetTypeInfo(ctx, &hiveserver.TGetTypeInfoReq{SessionHandle: session}); err == nil {
		t.Fatal("no exception")
	}
	if _, err := c.GetCatalogs(ctx, &hiveserver.TGetCatalogsReq{SessionHandle: session}); err == nil {
		t.Fatal("no exception")
	}
}

// TestFailureOutOfSequenceResponse: two threads share a connection, numbering their calls alike; each reply comes in its turn with
// the number of its call.
func TestFailureOutOfSequenceResponse(t *testing.T) {
	const each = 300
	forEachWire(t, func(t *testing.T, tr transport) {
		hive := newTape(t)
		p := tr.proxy(t, hive.addr, intercept.Config{})
		client, server := hive.connect(t, p)
		pass(t, client, server, tr.login...)
		call := func(seq int32) []byte {
			return tr.call(message("GetInfo", athrift.CALL, seq, &hiveserver.TCLIServiceGetInfoArgs{Req: &hiveserver.TGetInfoReq{SessionHandle: aSession()}})).data
		}
		name := "Apache Hive"
		reply := func(seq int32) []byte {
			return tr.reply(message("GetInfo", athrift.REPLY, seq, &hiveserver.TCLIServiceGetInfoResult{Success: &hiveserver.TGetInfoResp{
				Status: good(), InfoValue: &hiveserver.TGetInfoValue{StringValue: &name},
			}})).data
		}
		var work sync.WaitGroup
		defer work.Wait()
		work.Go(func() { // HiveServer2 answers in order
			got, at := make([]byte, len(call(0))), bytes.Index(call(0x7a7b7c7d), []byte{0x7a, 0x7b, 0x7c, 0x7d})
			for range 2 * each {
				if _, err := io.ReadFull(server, got); err != nil {
					t.Error(err)
					return
				}
				if _, err := server.Write(reply(int32(binary.BigEndian.Uint32(got[at:])))); err != nil {
					t.Error(err)
					return
				}
			}
		})
		sent := make(chan int32, 50)
		var turn sync.Mutex
		for range 2 {
			work.Go(func() {
				for seq := range int32(each) {
					turn.Lock()
					_, err := client.Write(call(seq))
					sent <- seq
					turn.Unlock()
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		got := make([]byte, len(reply(0)))
		for i := range 2 * each {
			seq := <-sent
			if _, err := io.ReadFull(client, got); err != nil || !bytes.Equal(got, reply(seq)) {
				t.Fatalf("reply %d is not that of call %d: %v", i, seq, err)
			}
		}
		p.observed(t)
		for _, s := range p.server.Stats().Calls {
			if s.Method != thrift.GetInfo || s.Calls != 2*each || s.Outcomes[intercept.OutcomeOK] != 2*each {
				t.Errorf("counted %+v", s)
			}
		}
	})
}

// TestFailureLogFetchTakenForData: a client reads the operation's log while the statement runs and after it failed. That is no data:
// the statement neither ends by it nor changes its state, and its own rows are still to be fetched.
func TestFailureLogFetchTakenForData(t *testing.T) {
	forEachTransport(t, func(t *testing.T, tr transport) {
		hive := tr.fake(t, func(sql string) hs2test.Outcome {
			if sql == "fails" {
				return hs2test.Outcome{Code: 1, SQLState: "08S01", Message: "failed", Late: true, Log: []string{"ERROR: vertex failed"}}
			}
			return hs2test.Outcome{Block: true, Rows: 7, Log: []string{"Compiling", "Map 1: 0/1"}}
		})
		p := newProxy(t, hive.Addr(), intercept.Config{})
		c := tr.dial(t, p.addr)
		ctx := t.Context()
		session, err := c.Open(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		running, err := c.Execute(ctx, session, "select x", true)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(fetchLog(ctx, t, c, running)); n != 2 {
			t.Errorf("%d lines of log", n)
		}
		if n := len(fetchLog(ctx, t, c, running)); n != 0 {
			t.Errorf("%d lines of log again", n)
		}
		failed, err := c.Execute(ctx, session, "fails", true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Poll(ctx, failed.OperationHandle); err != nil {
			t.Fatal(err)
		}
		if lines := fetchLog(ctx, t, c, failed); len(lines) != 1 || lines[0] != "ERROR: vertex failed" {
			t.Errorf("log %q", lines)
		}
		hive.Release()
		if _, err := c.Poll(ctx, running.OperationHandle); err != nil {
			t.Fatal(err)
		}
		if rows, err := c.Fetch(ctx, running.OperationHandle); err != nil || rows != 7 {
			t.Errorf("%d rows, %v", rows, err)
		}
		if _, err := c.CloseSession(ctx, &hiveserver.TCloseSessionReq{SessionHandle: session}); err != nil {
			t.Fatal(err)
		}
		p.want(t, "opened", "started RUNNING select x", "started RUNNING fails", "ended ERROR fails", "ended FINISHED select x", "closed")
		p.observed(t)
	})
}

func fetchLog(ctx context.Context, t *testing.T, c *hs2test.Client, of *hiveserver.TExecuteStatementResp) []string {
	t.Helper()
	resp, err := c.FetchResults(ctx, &hiveserver.TFetchResultsReq{OperationHandle: of.OperationHandle, MaxRows: 100, FetchType: 1})
	if err != nil {
		t.Fatal(err)
	}
	return resp.GetResults().GetColumns()[0].GetStringVal().GetValues()
}
