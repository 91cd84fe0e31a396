package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beltran/gohive/hiveserver"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

func TestExplainInTheClientsSession(t *testing.T) {
	h := startHive(t)
	h.set(func() {
		h.mu.reply = func(string) answer { return answer{rows: []string{"a", "b"}, log: []string{"seen"}} }
	})
	e := h.explainer(t, nil)
	own := h.session()
	got, err := e.Explain(within(t), Target{Session: &own, ConfOverlay: map[string]string{"x": "1", "s3.secret": intercept.Redacted}}, " SELECT 1 ;\n")
	if err != nil || got.Text != "a\nb" || len(got.Log) != 1 || got.Mirrored || got.At.IsZero() {
		t.Fatalf("got %+v, %v", got, err)
	}
	req := h.requests()[0]
	want := map[string]string{"x": "1", client.AsyncCompile: "true", keyExplainUser: "false", keyLogLevel: "VERBOSE"}
	if req.Statement != "EXPLAIN EXTENDED SELECT 1" || !maps.Equal(req.ConfOverlay, want) {
		t.Errorf("sent %q with %v", req.Statement, req.ConfOverlay)
	}
	h.wantOpen(t, 1)
}

func TestExplainWithoutWitness(t *testing.T) {
	h := startHive(t)
	h.set(func() { h.mu.reply = func(string) answer { return answer{rows: []string{"a"}, log: []string{"seen"}} } })
	e := h.explainer(t, func(c *ExplainConfig) { c.Witness = false })
	own := h.session()
	got, err := e.Explain(within(t), Target{Session: &own}, "SELECT 1")
	if err != nil || got.Log != nil {
		t.Fatalf("got %+v, %v", got, err)
	}
	if o := h.requests()[0].ConfOverlay; !maps.Equal(o, map[string]string{client.AsyncCompile: "true", keyExplainUser: "false"}) {
		t.Errorf("overlay %v", o)
	}
}

func TestOverlayStepsDown(t *testing.T) {
	tests := map[string]struct {
		forbidden []string
		want      map[string]string
		sent      int // statements for two EXPLAINs
	}{
		"nothing":       {nil, map[string]string{client.AsyncCompile: "true", keyExplainUser: "false", keyLogLevel: "VERBOSE"}, 2},
		"log level":     {[]string{keyLogLevel}, map[string]string{client.AsyncCompile: "true", keyExplainUser: "false"}, 3},
		"explain user":  {[]string{keyExplainUser}, map[string]string{client.AsyncCompile: "true", keyLogLevel: "VERBOSE"}, 3},
		"async compile": {[]string{client.AsyncCompile}, map[string]string{keyExplainUser: "false", keyLogLevel: "VERBOSE"}, 3},
		"all":           {[]string{keyLogLevel, keyExplainUser, client.AsyncCompile}, map[string]string{}, 5},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := startHive(t)
			h.set(func() {
				h.mu.refuse = func(req *hiveserver.TExecuteStatementReq) *hiveserver.TStatus {
					for _, key := range test.forbidden {
						if _, ok := req.ConfOverlay[key]; ok {
							return refusedStatus(0, "Error while compiling: Cannot modify "+key+" at runtime. It is not in list of params that are allowed to be modified at runtime")
						}
					}
					return nil
				}
				h.mu.reply = func(string) answer { return answer{rows: []string{"plan"}} }
			})
			e, own := h.explainer(t, nil), h.session()
			for range 2 {
				if got, err := e.Explain(within(t), Target{Session: &own}, "SELECT 1"); err != nil || got.Text != "plan" {
					t.Fatalf("got %+v, %v", got, err)
				}
			}
			reqs := h.requests()
			if len(reqs) != test.sent || !maps.Equal(reqs[len(reqs)-1].ConfOverlay, test.want) {
				t.Errorf("%d statements, the last with %v; want %d with %v", len(reqs), reqs[len(reqs)-1].ConfOverlay, test.sent, test.want)
			}
			if got, want := e.Forbidden(), slices.Sorted(slices.Values(test.forbidden)); !slices.Equal(got, want) {
				t.Errorf("forbidden %v, want %v", got, want)
			}
			h.wantOpen(t, 1)
		})
	}
}

// A refusal of the client's own overlay is an answer.
func TestOverlayRefusalOfTheClientsOwn(t *testing.T) {
	h := startHive(t)
	h.set(func() {
		h.mu.refuse = func(*hiveserver.TExecuteStatementReq) *hiveserver.TStatus {
			return refusedStatus(0, "Cannot modify hive.explain.user at runtime")
		}
	})
	e, own := h.explainer(t, nil), h.session()
	_, err := e.Explain(within(t), Target{Session: &own, ConfOverlay: map[string]string{keyExplainUser: "true"}}, "SELECT 1")
	if _, ok := refusal(err); !ok {
		t.Fatalf("got %v, want Hive's refusal", err)
	}
}

func mirrorTarget(own *client.Handle) Target {
	return Target{
		Session: own, Database: "shop",
		Configuration: map[string]string{"use:database": "old", "set:hiveconf:old": "1", "set:hivevar:v": "2", "hive.server2.proxy.user": "p", "x.password": intercept.Redacted},
		Settings:      map[string]string{"hive.a": "1", "hivevar:w": "3", "fs.s3a.secret.key": intercept.Redacted},
	}
}

func TestMirrorSession(t *testing.T) {
	want := map[string]string{
		"use:database": "shop", "set:hivevar:v": "2", "hive.server2.proxy.user": "p", "set:hiveconf:hive.a": "1", "set:hivevar:w": "3",
	}
	gone := client.Handle{GUID: newID()}
	for name, own := range map[string]*client.Handle{"invalid handle": &gone, "no handle": nil} {
		t.Run(name, func(t *testing.T) {
			h := startHive(t)
			h.plan("plan")
			e := h.explainer(t, nil)
			got, err := e.Explain(within(t), mirrorTarget(own), "SELECT 1")
			if err != nil || got.Text != "plan" || !got.Mirrored {
				t.Fatalf("got %+v, %v", got, err)
			}
			if c := h.configurations(); len(c) != 1 || !maps.Equal(c[0], want) {
				t.Errorf("sessions opened with %v, want %v", c, want)
			}
			h.wantOpen(t, 0)
			if h.accepted() != 1 {
				t.Errorf("%d connections, want one", h.accepted())
			}
		})
	}
}

func TestMirrorSessionIsClosedAfterARefusal(t *testing.T) {
	h := startHive(t)
	h.set(func() {
		h.mu.refuse = func(*hiveserver.TExecuteStatementReq) *hiveserver.TStatus {
			return refusedStatus(10001, "Table not found 'nope'")
		}
	})
	_, err := h.explainer(t, nil).Explain(within(t), mirrorTarget(nil), "SELECT * FROM nope")
	if refused, ok := refusal(err); !ok || refused.Code != 10001 {
		t.Fatalf("got %v", err)
	}
	h.wantOpen(t, 0)
}

func TestMirrorSessionIsClosedWhenTheContextEnds(t *testing.T) {
	h := startHive(t)
	h.hold()
	e := h.explainer(t, nil)
	ctx, cancel := context.WithCancel(within(t))
	done := make(chan error, 1)
	go func() {
		_, err := e.Explain(ctx, mirrorTarget(nil), "SELECT 1")
		done <- err
	}()
	receive(t, h.arrived)
	cancel()
	h.release()
	if err := receive(t, done); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	h.wantOpen(t, 0)
}

// A broken connection does not close the session on a server that keeps sessions: another connection does.
func TestMirrorSessionIsClosedWhenTheConnectionBreaks(t *testing.T) {
	h := startHive(t)
	h.set(func() { h.mu.breaks = func(call string) bool { return call == "ExecuteStatement" } })
	_, err := h.explainer(t, nil).Explain(within(t), mirrorTarget(nil), "SELECT 1")
	if _, refused := refusal(err); err == nil || refused {
		t.Fatalf("got %v, want a transport error", err)
	}
	h.wantOpen(t, 0)
}

// The plan counts although the mirror session could not be closed.
func TestMirrorSessionNotClosed(t *testing.T) {
	h := startHive(t)
	h.plan("plan")
	h.set(func() { h.mu.breaks = func(call string) bool { return call == "CloseSession" } })
	got, err := h.explainer(t, nil).Explain(within(t), mirrorTarget(nil), "SELECT 1")
	if err != nil || got.Text != "plan" {
		t.Fatalf("got %+v, %v", got, err)
	}
	eventually(t, "the broken connection is closed", func() bool { return h.connections() == 0 })
}

func TestStaleConnectionIsReplaced(t *testing.T) {
	h := startHive(t)
	h.plan("plan")
	e, own := h.explainer(t, nil), h.session()
	explain := func() {
		t.Helper()
		if _, err := e.Explain(within(t), Target{Session: &own}, "SELECT 1"); err != nil {
			t.Fatal(err)
		}
	}
	explain()
	explain()
	if h.accepted() != 1 {
		t.Fatalf("%d connections, want the first one again", h.accepted())
	}
	h.disconnect()
	eventually(t, "the connection is gone", func() bool { return h.connections() == 0 })
	explain()
	if h.accepted() != 2 {
		t.Errorf("%d connections, want one more", h.accepted())
	}
	if e.Open() {
		t.Error("the breaker counted a stale connection")
	}
}

func TestBreakerIgnoresRefusals(t *testing.T) {
	h := startHive(t)
	h.set(func() {
		h.mu.refuse = func(*hiveserver.TExecuteStatementReq) *hiveserver.TStatus { return refusedStatus(40000, "no") }
	})
	e, own := h.explainer(t, nil), h.session()
	for range 10 {
		_, err := e.Explain(within(t), Target{Session: &own}, "SELECT 1")
		if _, ok := refusal(err); !ok {
			t.Fatalf("got %v", err)
		}
	}
	if e.Open() {
		t.Error("refusals opened the breaker")
	}
	if h.accepted() != 1 {
		t.Errorf("%d connections: a refusal cost one", h.accepted())
	}
}

func TestBreakerIgnoresWhoGivesUp(t *testing.T) {
	h := startHive(t)
	e, own := h.explainer(t, nil), h.session()
	for range 5 {
		h.hold()
		ctx, cancel := context.WithCancel(within(t))
		done := make(chan error, 1)
		go func() {
			_, err := e.Explain(ctx, Target{Session: &own}, "SELECT 1")
			done <- err
		}()
		receive(t, h.arrived)
		cancel()
		h.release()
		if err := receive(t, done); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	}
	if e.Open() {
		t.Error("cancelled EXPLAINs opened the breaker")
	}
}

func TestBreakerOpens(t *testing.T) {
	t.Run("broken connections", func(t *testing.T) {
		h := startHive(t)
		h.set(func() { h.mu.breaks = func(string) bool { return true } })
		e, own := h.explainer(t, nil), h.session()
		for range 3 {
			if _, err := e.Explain(within(t), Target{Session: &own}, "SELECT 1"); err == nil || errors.Is(err, ErrBusy) {
				t.Fatalf("got %v", err)
			}
		}
		before := h.accepted()
		if _, err := e.Explain(within(t), Target{Session: &own}, "SELECT 1"); !errors.Is(err, ErrBusy) || !e.Open() {
			t.Errorf("got %v, open %v", err, e.Open())
		}
		if _, err := e.ModifiedRows(within(t), "", client.Handle{}); !errors.Is(err, ErrBusy) {
			t.Errorf("got %v", err)
		}
		if h.accepted() != before {
			t.Error("the open breaker let something through")
		}
	})
	t.Run("time-outs", func(t *testing.T) {
		h := startHive(t)
		e, own := h.explainer(t, func(c *ExplainConfig) { c.Timeout, c.BreakerFailures = time.Nanosecond, 2 }), h.session()
		for range 2 {
			if _, err := e.Explain(within(t), Target{Session: &own}, "SELECT 1"); !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
				t.Fatalf("got %v", err)
			}
		}
		if !e.Open() {
			t.Error("time-outs did not open the breaker")
		}
	})
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

func TestExplainIsBusy(t *testing.T) {
	t.Run("rate", func(t *testing.T) {
		h := startHive(t)
		h.plan("plan")
		e, own := h.explainer(t, func(c *ExplainConfig) { c.Rate, c.Concurrency = 1e-9, 1 }), h.session()
		if _, err := e.Explain(within(t), Target{Session: &own}, "SELECT 1"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := e.Explain(ctx, Target{Session: &own}, "SELECT 1"); !errors.Is(err, ErrBusy) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("concurrency", func(t *testing.T) {
		h := startHive(t)
		h.hold()
		e, own := h.explainer(t, func(c *ExplainConfig) { c.Concurrency = 1 }), h.session()
		done := make(chan error, 1)
		go func() {
			_, err := e.Explain(within(t), Target{Session: &own}, "SELECT 1")
			done <- err
		}()
		receive(t, h.arrived)
		ctx, cancel := context.WithCancel(within(t))
		second := make(chan error, 1)
		go func() {
			_, err := e.Explain(ctx, Target{Session: &own}, "SELECT 2")
			second <- err
		}()
		cancel()
		if err := receive(t, second); !errors.Is(err, ErrBusy) {
			t.Errorf("got %v", err)
		}
		h.release()
		if err := receive(t, done); err != nil {
			t.Errorf("the first: %v", err)
		}
		if n := len(h.statements()); n != 1 {
			t.Errorf("%d statements reached the server", n)
		}
	})
}

func TestExplainerClose(t *testing.T) {
	h := startHive(t)
	h.plan("plan")
	e, own := h.explainer(t, nil), h.session()
	explain := func() error {
		_, err := e.Explain(within(t), Target{Session: &own}, "SELECT 1")
		return err
	}
	if err := explain(); err != nil {
		t.Fatal(err)
	}
	h.hold()
	done := make(chan error, 1)
	go func() { done <- explain() }()
	receive(t, h.arrived)
	receive(t, h.arrived)
	e.Close()
	h.release()
	if err := receive(t, done); err != nil {
		t.Errorf("a running EXPLAIN failed: %v", err)
	}
	eventually(t, "every connection is closed", func() bool { return h.connections() == 0 })
}

func TestAPanicKeepsNoConnection(t *testing.T) {
	h := startHive(t)
	e := h.explainer(t, nil)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = e.line("").protected(within(t), func(*client.Conn) (client.Result, error) { panic("defect") })
	}()
	eventually(t, "its connection is closed", func() bool { return h.connections() == 0 })
}

func TestModifiedRows(t *testing.T) {
	h := startHive(t)
	e := h.explainer(t, nil)
	op := h.operation(new(int64(7)))
	rows, err := e.ModifiedRows(within(t), "", op)
	if err != nil || rows == nil || *rows != 7 {
		t.Fatalf("got %v, %v", rows, err)
	}
	op.Secret[0]++
	_, err = e.ModifiedRows(within(t), "", op)
	if refused, ok := refusal(err); !ok || !strings.Contains(refused.Message, "Invalid OperationHandle") {
		t.Errorf("got %v", err)
	}
}

// A client that closes its session while our EXPLAIN runs takes the operation with it; the mirror answers then.
func TestSessionGone(t *testing.T) {
	for message, want := range map[string]bool{
		"Invalid SessionHandle: SessionHandle [x]":                                      true,
		"Invalid OperationHandle: OperationHandle [opType=EXECUTE_STATEMENT]":           true,
		"the operation ended in state CANCELED":                                         true,
		"the operation ended in state CLOSED":                                           true,
		"Error while compiling statement: FAILED: SemanticException Table not found x":  false,
		"Error while compiling statement: FAILED: ParseException line 1:0 cannot parse": false,
	} {
		if got := sessionGone(fmt.Errorf("explain: %w", &client.Error{Message: message})); got != want {
			t.Errorf("%q: %v", message, got)
		}
	}
	if sessionGone(errors.New("Invalid SessionHandle")) {
		t.Error("a transport error is no answer of HiveServer2")
	}
	if !sessionGone(errNoSession) {
		t.Error("without a session there is only the mirror")
	}
}
