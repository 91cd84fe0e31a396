package intercept

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/beltran/gohive/hiveserver"
	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
)

func cancelOperation(ctx context.Context, c *hs2test.Client, of *hiveserver.TExecuteStatementResp) error {
	_, err := c.CancelOperation(ctx, &hiveserver.TCancelOperationReq{OperationHandle: of.OperationHandle})
	return err
}

// TestDisconnectAtEveryByte: a client that vanishes after any number of bytes, politely or not, leaves nothing behind.
func TestDisconnectAtEveryByte(t *testing.T) {
	r := newRig(t, hs2test.Config{}, Config{})
	fromClient, _ := conversation()
	for n := range len(fromClient) + 1 {
		conn, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(fromClient[:n]); err != nil {
			t.Fatal(err)
		}
		if n%2 == 1 {
			_ = conn.(*net.TCPConn).SetLinger(0)
		}
		_ = conn.Close()
		drainEvents(r.queue)
	}
	eventually(t, "the end of every connection", func() bool {
		drainEvents(r.queue)
		connections, sessions, operations := r.hive.Open()
		stats := r.server.Stats()
		return stats.Accepted == int64(len(fromClient)+1) && connections == 0 && sessions == 0 && operations == 0 &&
			stats.Open == 0 && stats.Tracker.Sessions == 0 && stats.Tracker.Statements == 0
	})
	if stats := r.server.Stats(); stats.Tracker.DroppedEvents != 0 || len(stats.Blind) != 0 {
		t.Errorf("stats %+v", stats)
	}
}

func drainEvents(q *Queue) {
	for q.Len() > 0 {
		<-q.Events()
	}
}

// TestStartStop: many servers, each with busy clients, are stopped in the middle; TestMain looks for what is left.
func TestStartStop(t *testing.T) {
	hive, err := hs2test.Start(hs2test.Config{Execute: blockSlow})
	if err != nil {
		t.Fatal(err)
	}
	defer hive.Close()
	for round := range 30 {
		server, err := NewServer(Config{Address: hive.Addr()}, NewTracker(TrackerConfig{}, NewQueue(100)), zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var work sync.WaitGroup
		work.Go(func() {
			if err := server.Serve(context.Background(), ln); err != nil {
				t.Error(err)
			}
		})
		half := make(chan struct{}, 100)
		for range 4 {
			work.Go(func() {
				for i := 0; ; i++ {
					if err := talk(context.Background(), ln.Addr().String()); err != nil {
						return // cut
					}
					if i == round%3 {
						half <- struct{}{}
					}
				}
			})
		}
		<-half
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = server.Shutdown(ctx)
		work.Wait()
		if stats := server.Stats(); stats.Open != 0 || stats.Tracker.Sessions != 0 {
			t.Fatalf("round %d: stats %+v", round, stats)
		}
	}
}

// TestManyClients: concurrent conversations are all recorded, each statement once.
func TestManyClients(t *testing.T) {
	r := newRig(t, hs2test.Config{Execute: func(string) hs2test.Outcome { return hs2test.Outcome{Rows: 10, Batch: 4} }}, Config{})
	const clients, each = 16, 10
	var work sync.WaitGroup
	for i := range clients {
		work.Go(func() {
			for j := range each {
				if err := one(t.Context(), r.addr, fmt.Sprintf("select %d from t%d", i, j)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	eventually(t, "the end", func() bool { return r.server.Stats().Open == 0 })
	ended := map[string]int{}
	for r.queue.Len() > 0 {
		if e := <-r.queue.Events(); e.Kind == StatementEnded && e.Statement.State == StateFinished {
			ended[e.Statement.SQL]++
		}
	}
	for sql, n := range ended {
		if n != 1 {
			t.Errorf("%s was recorded %d times", sql, n)
		}
	}
	if len(ended) != clients*each {
		t.Errorf("%d of %d statements recorded", len(ended), clients*each)
	}
}

func one(ctx context.Context, addr, sql string) error {
	c, err := hs2test.Dial(ctx, addr, "bi", "s3cret")
	if err != nil {
		return err
	}
	defer func() { _ = c.Conn.Close() }()
	session, err := c.Open(ctx, nil)
	if err != nil {
		return err
	}
	resp, err := c.Execute(ctx, session, sql, false)
	if err != nil {
		return err
	}
	if rows, err := c.Fetch(ctx, resp.OperationHandle); err != nil || rows != 10 {
		return fmt.Errorf("%d rows: %w", rows, err)
	}
	_, err = c.CloseSession(ctx, &hiveserver.TCloseSessionReq{SessionHandle: session})
	return err
}
