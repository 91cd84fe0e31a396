package load

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/wirebench/fakehs2"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// smallest sizes that still take every step: a result of two full batches and a rest.
var smallest = Sizes{Many: 3, Fetch: fakehs2.Result{Rows: 25, Width: 20, Batch: 10}}

// once has every connection do a few operations, for a result's end to be among them.
var once = Timing{Least: 5}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func fake(t *testing.T) *fakehs2.Server {
	t.Helper()
	s, err := fakehs2.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// relay is the proxy's own, in this process; its end checks that it understood what passed.
func relay(t *testing.T, upstream string) string {
	t.Helper()
	server, err := intercept.NewServer(intercept.Config{Address: upstream}, intercept.NewTracker(intercept.TrackerConfig{}, intercept.NewQueue(1)), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(context.Background(), listener) }()
	t.Cleanup(func() {
		if err := errors.Join(server.Shutdown(context.Background()), <-served); err != nil {
			t.Error(err)
		}
		if stats := server.Stats(); stats.Accepted == 0 || len(stats.Blind) > 0 {
			t.Errorf("%d connections, blind: %v", stats.Accepted, stats.Blind)
		}
	})
	return listener.Addr().String()
}

// targets are the ways to the fake: directly, and through the relay.
func targets(t *testing.T) map[string]string {
	t.Helper()
	addr := fake(t).Addr()
	return map[string]string{"direct": addr, "relay": relay(t, addr)}
}

func TestScenarios(t *testing.T) {
	for name, addr := range targets(t) {
		for _, sc := range Scenarios(smallest) {
			t.Run(sc.Name+" "+name, func(t *testing.T) {
				marks := 0
				s, err := Measure(within(t), sc, addr, once, func() { marks++ })
				if err != nil {
					t.Fatal(err)
				}
				if marks != 2 || s.Operations != once.Least*sc.Connections {
					t.Errorf("%d marks, %d operations of %d connections", marks, s.Operations, sc.Connections)
				}
				if sc.Name != "connect" && s.Bytes == 0 {
					t.Error("nothing received")
				}
				if s.Figure(sc.Figure) <= 0 {
					t.Errorf("%s %v", sc.Figure, s.Figure(sc.Figure))
				}
			})
		}
	}
}

func TestIdle(t *testing.T) {
	s := fake(t)
	idle, err := OpenIdle(within(t), relay(t, s.Addr()), 20)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	if sessions, _ := s.Open(); sessions != 20 {
		t.Errorf("%d sessions", sessions)
	}
	if err := idle.Touch(); err != nil {
		t.Error(err)
	}
}

func TestSlow(t *testing.T) {
	const size = 3 * slowPiece
	for name, addr := range targets(t) {
		if n, err := Slow(within(t), addr, size, 1<<30); err != nil || n < size {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
	}
}

// Whatever a proxy might do to a reply is noticed.
func TestChecks(t *testing.T) {
	good := &hiveserver.TStatus{StatusCode: hiveserver.TStatusCode_SUCCESS_STATUS}
	text := "no"
	info := func(status *hiveserver.TStatus) *hiveserver.TCLIServiceGetInfoResult {
		return &hiveserver.TCLIServiceGetInfoResult{Success: &hiveserver.TGetInfoResp{Status: status, InfoValue: &hiveserver.TGetInfoValue{StringValue: &text}}}
	}
	rows := func(columns ...*hiveserver.TColumn) hs2test.Override {
		return func(x *hs2test.Exchange) error {
			return x.Reply(&hiveserver.TCLIServiceFetchResultsResult{Success: &hiveserver.TFetchResultsResp{
				Status: good, Results: &hiveserver.TRowSet{Rows: []*hiveserver.TRow{}, Columns: columns},
			}})
		}
	}
	longs := func(n int) *hiveserver.TColumn {
		return &hiveserver.TColumn{I64Val: &hiveserver.TI64Column{Values: make([]int64, n), Nulls: []byte{}}}
	}
	tests := map[string]struct {
		scenario, method string
		answer           hs2test.Override
		want             string // "": no error
	}{
		"right":     {"ping", "GetInfo", nil, ""},
		"name":      {"ping", "GetInfo", func(x *hs2test.Exchange) error { return x.ReplyAs("GetInfos", x.SeqID, info(good)) }, `is named "GetInfos"`},
		"sequence":  {"ping", "GetInfo", func(x *hs2test.Exchange) error { return x.ReplyAs(x.Method, x.SeqID+1, info(good)) }, "is number"},
		"exception": {"ping", "GetInfo", func(x *hs2test.Exchange) error { return x.Exception(athrift.INTERNAL_ERROR, "no") }, "of type 3"},
		"status": {"ping", "GetInfo", func(x *hs2test.Exchange) error {
			return x.Reply(info(&hiveserver.TStatus{StatusCode: hiveserver.TStatusCode_ERROR_STATUS, ErrorMessage: &text}))
		}, "status 3: no"},
		"cut": {"ping", "GetInfo", func(x *hs2test.Exchange) error {
			return x.Raw([]byte("\x00\x00\x00\x13\x80\x01\x00\x02\x00\x00\x00\x07GetInfo\x00\x00\x00\x02"))
		}, "ends inside a value"},
		"broken off":      {"ping", "GetInfo", func(*hs2test.Exchange) error { return errors.New("broken") }, "receive reply to GetInfo"},
		"rows":            {"query", "FetchResults", rows(longs(99), longs(99)), "99 rows from 0, want 100 from 0"},
		"ragged":          {"query", "FetchResults", rows(longs(100), longs(99)), "different lengths"},
		"rows of nothing": {"query", "FetchResults", rows(), "-1 rows"},
		"right rows":      {"query", "FetchResults", rows(longs(100), longs(100)), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server, err := hs2test.Start(hs2test.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			server.Override(test.method, test.answer)
			for _, sc := range Scenarios(smallest) {
				if sc.Name != test.scenario {
					continue
				}
				_, err := Measure(within(t), sc, server.Addr(), Timing{Least: 1}, func() {})
				if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
					t.Errorf("got %v, want %q", err, test.want)
				}
			}
		})
	}
}

// Each statement is another one when its literals are taken away.
func TestStatementsDiffer(t *testing.T) {
	a, b := execute("").append(nil, 1, &handle{}, 0x1), execute("").append(nil, 1, &handle{}, 0xabcdef12)
	if string(a) == string(b) || !strings.Contains(string(a), "orders q00000001 JOIN") || strings.Count(string(b), "qabcdef12") != 4 {
		t.Errorf("%q\n%q", a, b)
	}
}

func TestMeasureEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(within(t))
	_, err := Measure(ctx, Scenarios(smallest)[0], fake(t).Addr(), Timing{Length: time.Hour}, cancel)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
