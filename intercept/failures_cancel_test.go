package intercept_test

import (
	"context"
	"errors"
	"testing"

	"github.com/beltran/gohive/hiveserver"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
)

var errStopped = errors.New("stopped")

// TestFailureCancelWaitsForTheFetch: a cancel on another connection reaches HiveServer2 while a fetch waits for its reply, and the
// connection of the fetch works on afterwards.
func TestFailureCancelWaitsForTheFetch(t *testing.T) {
	forEachTransport(t, func(t *testing.T, tr transport) {
		hive := tr.fake(t, func(string) hs2test.Outcome { return hs2test.Outcome{Rows: 5} })
		fetching, cancelled := make(chan struct{}), make(chan struct{})
		hive.Override("FetchResults", func(x *hs2test.Exchange) error {
			close(fetching)
			select {
			case <-cancelled:
				return x.Exception(6, "cancelled")
			case <-x.Done():
				return errStopped
			}
		})
		hive.Override("CancelOperation", func(x *hs2test.Exchange) error {
			close(cancelled)
			return x.Own()
		})
		p := newProxy(t, hive.Addr(), intercept.Config{})
		first, second := tr.dial(t, p.addr), tr.dial(t, p.addr)
		ctx, stop := context.WithTimeout(t.Context(), hang)
		defer stop()
		session, err := first.Open(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := first.Execute(ctx, session, "select 1", true)
		if err != nil {
			t.Fatal(err)
		}
		fetched := make(chan error, 1)
		go func() {
			_, err := first.FetchResults(ctx, &hiveserver.TFetchResultsReq{OperationHandle: resp.OperationHandle})
			fetched <- err
		}()
		<-fetching
		if _, err := second.CancelOperation(ctx, &hiveserver.TCancelOperationReq{OperationHandle: resp.OperationHandle}); err != nil {
			t.Fatal(err)
		}
		if err := <-fetched; err == nil {
			t.Error("the fetch was not cancelled")
		}
		hive.Override("FetchResults", nil)
		if resp, err = first.Execute(ctx, session, "select 2", true); err != nil {
			t.Fatal(err)
		}
		if rows, err := first.Fetch(ctx, resp.OperationHandle); err != nil || rows != 5 {
			t.Errorf("%d rows afterwards, %v", rows, err)
		}
	})
}

// TestFailureCancelWaitsForTheStatement: what ends a synchronous statement from another connection reaches HiveServer2 while the
// statement's own call is silent.
func TestFailureCancelWaitsForTheStatement(t *testing.T) {
	forEachTransport(t, func(t *testing.T, tr transport) {
		hive := tr.fake(t, func(string) hs2test.Outcome { return hs2test.Outcome{Block: true} })
		p := newProxy(t, hive.Addr(), intercept.Config{})
		first, second := tr.dial(t, p.addr), tr.dial(t, p.addr)
		ctx, stop := context.WithTimeout(t.Context(), hang)
		defer stop()
		session, err := first.Open(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		answered := make(chan error, 1)
		go func() {
			_, err := first.Execute(ctx, session, "slow", false)
			answered <- err
		}()
		eventually(t, "the statement", func() bool { _, _, operations := hive.Open(); return operations == 1 })
		if _, err := second.CloseSession(ctx, &hiveserver.TCloseSessionReq{SessionHandle: session}); err != nil {
			t.Fatal(err)
		}
		if err := <-answered; err != nil {
			t.Errorf("the statement's own call: %v", err)
		}
		if got := p.events(t, 4); got[3] != "closed" {
			t.Errorf("events %q", got)
		}
	})
}
