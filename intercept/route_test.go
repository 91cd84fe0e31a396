package intercept_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/beltran/gohive/hiveserver"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
)

// TestRouteSessionsOverManyConnections: every call of every session, whatever connection it comes on, reaches the server that has the
// session.
func TestRouteSessionsOverManyConnections(t *testing.T) {
	fakes, addresses := newFakes(t, 3, hs2test.Config{Execute: func(string) hs2test.Outcome { return hs2test.Outcome{Rows: 5, Width: 10, Batch: 2} }})
	f := newFleet(t, addresses...)
	const connections, each = 4, 2
	var clients []*hs2test.Client
	var sessions []*hiveserver.TSessionHandle
	for range connections {
		client := dialHTTP(t, f.addr)
		clients = append(clients, client)
		for range each {
			session, err := client.Open(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			sessions = append(sessions, session)
		}
	}
	all, byServer := 0, map[string]int{}
	for i, fake := range fakes {
		_, n, _ := fake.Open()
		all += n
		byServer[string(rune('a'+i))] = n
		if n == 0 {
			t.Errorf("server %d got no session", i)
		}
	}
	if all != connections*each {
		t.Errorf("%d sessions", all)
	}
	for range connections * each {
		e := <-f.queue.Events()
		if e.Kind != intercept.SessionOpened {
			t.Fatalf("event %v", e.Kind)
		}
		byServer[e.Session.Server]--
	}
	for server, n := range byServer {
		if n != 0 {
			t.Errorf("server %q has %d sessions more than were observed", server, n)
		}
	}

	var work sync.WaitGroup
	failed := make(chan error, connections)
	for i, client := range clients {
		work.Go(func() {
			for j := range sessions { // each begins with another, so that sessions interleave
				if err := query(t, client, sessions[(i*each+j)%len(sessions)]); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	work.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
	for _, id := range []string{"a", "b", "c"} {
		// A client may have opened more than one, or left one unused for this server.
		if n := f.open(id); n == 0 || n > f.server.Stats().Open {
			t.Errorf("%d connections to %s from %d", n, id, f.server.Stats().Open)
		}
	}
	for i, session := range sessions {
		resp, err := clients[i%connections].CloseSession(t.Context(), &hiveserver.TCloseSessionReq{SessionHandle: session})
		if err := errors.Join(err, failure(resp.GetStatus())); err != nil {
			t.Error(err)
		}
	}
	for i, fake := range fakes {
		if _, n, ops := fake.Open(); n+ops > 0 {
			t.Errorf("server %d still has %d sessions and %d operations", i, n, ops)
		}
	}
	f.observed(t)
}

// query runs a statement and reads its result.
func query(t *testing.T, client *hs2test.Client, session *hiveserver.TSessionHandle) error {
	ctx := t.Context()
	resp, err := client.Execute(ctx, session, "select 1", true)
	if err := errors.Join(err, failure(resp.GetStatus())); err != nil {
		return fmt.Errorf("execute: %w", err)
	}
	polled, err := client.Poll(ctx, resp.OperationHandle)
	if err := errors.Join(err, failure(polled.GetStatus())); err != nil {
		return fmt.Errorf("poll: %w", err)
	}
	if rows, err := client.Fetch(ctx, resp.OperationHandle); err != nil || rows != 5 {
		return fmt.Errorf("%d rows, %w", rows, err)
	}
	closed, err := client.CloseOperation(ctx, &hiveserver.TCloseOperationReq{OperationHandle: resp.OperationHandle})
	return errors.Join(err, failure(closed.GetStatus()))
}

func failure(s *hiveserver.TStatus) error {
	if s.GetStatusCode() == hiveserver.TStatusCode_SUCCESS_STATUS {
		return nil
	}
	return fmt.Errorf("status %v: %s", s.GetStatusCode(), s.GetErrorMessage())
}

// TestRouteCatalogueOperations: the operation of a catalogue call is fetched from the server that has it.
func TestRouteCatalogueOperations(t *testing.T) {
	fakes, addresses := newFakes(t, 2, hs2test.Config{})
	f := newFleet(t, addresses...)
	for i, fake := range fakes {
		fake.Override("GetTables", func(x *hs2test.Exchange) error {
			return x.Reply(&hiveserver.TCLIServiceGetTablesResult{Success: &hiveserver.TGetTablesResp{
				Status: good(), OperationHandle: &hiveserver.TOperationHandle{OperationId: handle(byte('0' + i)), HasResultSet: true},
			}})
		})
		fake.Override("FetchResults", func(x *hs2test.Exchange) error {
			args := &hiveserver.TCLIServiceFetchResultsArgs{}
			if err := x.Read(args); err != nil {
				return err
			}
			if asked := args.Req.OperationHandle.OperationId.GUID[0]; asked != byte('0'+i) {
				t.Errorf("server %d was asked for operation %c", i, asked)
			}
			return x.Reply(&hiveserver.TCLIServiceFetchResultsResult{Success: &hiveserver.TFetchResultsResp{Status: good()}})
		})
	}
	ctx := t.Context()
	clients := []*hs2test.Client{dialHTTP(t, f.addr), dialHTTP(t, f.addr), dialHTTP(t, f.addr)}
	var operations []*hiveserver.TOperationHandle
	for _, client := range clients[:2] {
		session, err := client.Open(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.GetTables(ctx, &hiveserver.TGetTablesReq{SessionHandle: session})
		if err != nil {
			t.Fatal(err)
		}
		operations = append(operations, resp.OperationHandle)
	}
	if slices.Equal(operations[0].OperationId.GUID, operations[1].OperationId.GUID) {
		t.Fatal("both sessions are on one server")
	}
	for range 2 {
		for _, client := range clients {
			for _, operation := range operations {
				if _, err := client.FetchResults(ctx, &hiveserver.TFetchResultsReq{OperationHandle: operation}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestRouteServerGone: the calls of a session whose server is gone get no answer, and no other server gets them. Sessions elsewhere
// go on.
func TestRouteServerGone(t *testing.T) {
	fakes, addresses := newFakes(t, 2, hs2test.Config{})
	f := newFleet(t, addresses...)
	ctx := t.Context()
	client := dialHTTP(t, f.addr)
	lost, err := client.Open(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	stays, err := dialHTTP(t, f.addr).Open(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	gone, other := fakes[0], fakes[1]
	if _, n, _ := gone.Open(); n == 0 {
		t.Fatal("no session on the first server")
	}
	if _, err := dialHTTP(t, f.addr).Execute(ctx, lost, "select 1", false); err != nil {
		t.Fatal(err)
	}
	if slices.Contains(other.Calls(), "ExecuteStatement") {
		gone, other = other, gone
	}
	gone.Close()
	before := len(other.Calls())
	for range 3 {
		if _, err := dialHTTP(t, f.addr).Execute(ctx, lost, "select 2", false); err == nil {
			t.Error("a session without its server got an answer")
		}
	}
	if after := len(other.Calls()); after != before {
		t.Errorf("the other server got %q", other.Calls()[before:])
	}
	for _, c := range []*hs2test.Client{client, dialHTTP(t, f.addr)} {
		resp, err := c.Execute(ctx, stays, "select 3", false)
		if err := errors.Join(err, failure(resp.GetStatus())); err != nil {
			t.Error(err)
		}
	}
	if _, err := dialHTTP(t, f.addr).Open(ctx, nil); err != nil {
		t.Errorf("a new session: %v", err)
	}
}

// TestRouteServerLeft: a server that is not listed any more serves the sessions it has, and gets no new ones.
func TestRouteServerLeft(t *testing.T) {
	fakes, addresses := newFakes(t, 2, hs2test.Config{})
	f := newFleet(t, addresses...)
	ctx := t.Context()
	var sessions []*hiveserver.TSessionHandle
	clients := []*hs2test.Client{dialHTTP(t, f.addr), dialHTTP(t, f.addr)}
	for _, client := range clients {
		session, err := client.Open(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, session)
	}
	if err := f.set.Replace(servers(addresses[0])); err != nil {
		t.Fatal(err)
	}
	for _, client := range append(clients, dialHTTP(t, f.addr)) {
		for _, session := range sessions {
			resp, err := client.Execute(ctx, session, "select 1", false)
			if err := errors.Join(err, failure(resp.GetStatus())); err != nil {
				t.Error(err)
			}
		}
		if _, err := client.Open(ctx, nil); err != nil {
			t.Error(err)
		}
	}
	if _, n, _ := fakes[0].Open(); n != 4 {
		t.Errorf("%d sessions on the listed server", n)
	}
	if _, n, _ := fakes[1].Open(); n != 1 {
		t.Errorf("%d sessions on the other", n)
	}
}
