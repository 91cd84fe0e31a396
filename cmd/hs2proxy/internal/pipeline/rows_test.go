package pipeline

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// synchronous is an INSERT as PyHive sends it: finished by its own reply, with a handle and without rows.
func synchronous(id string, op client.Handle) *intercept.Statement {
	st := statement(id, "INSERT INTO t VALUES (1)")
	st.OperationID, st.OperationSecret = intercept.SessionHandle{GUID: op.GUID}.ID(), op.Secret
	return st
}

func TestRowsOfASynchronousWrite(t *testing.T) {
	b := newBench(t, nil).begin(t)
	st := synchronous("1", b.server.operation(new(int64(5))))
	b.start(st)
	b.end(st)
	o := b.observation(t)
	if o.Statement.ModifiedRows == nil || *o.Statement.ModifiedRows != 5 || len(o.Writes) != 1 || o.Writes[0].Rows == nil || *o.Writes[0].Rows != 5 {
		t.Errorf("got %+v", o)
	}
	closed := synchronous("2", client.Handle{GUID: newID(), Secret: newID()})
	b.start(closed)
	b.end(closed)
	if o := b.observation(t); o.Statement.ModifiedRows != nil || len(o.Writes) != 1 || o.Writes[0].Rows != nil {
		t.Errorf("the operation is closed, yet %+v", o)
	}
	b.Stop(within(t))
	b.wantNoMore(t)
}

// rowsFunc is a RowCounter.
type rowsFunc func(context.Context, client.Handle) (*int64, error)

func (f rowsFunc) Prepare(context.Context, string) error { return nil }

func (f rowsFunc) ModifiedRows(ctx context.Context, _ string, h client.Handle) (*int64, error) {
	return f(ctx, h)
}

func TestRowsAreNotAskedForInVain(t *testing.T) {
	handle := client.Handle{GUID: newID(), Secret: newID()}
	tests := map[string]func(*intercept.Statement){
		"told already":  func(st *intercept.Statement) { st.ModifiedRows = new(int64(1)) },
		"no handle":     func(st *intercept.Statement) { st.OperationSecret = [16]byte{} },
		"handle unread": func(st *intercept.Statement) { st.OperationID = "x" },
		"failed":        func(st *intercept.Statement) { st.State = intercept.StateError },
		"no write":      func(st *intercept.Statement) { st.Info.Writes = nil },
		"multi-insert": func(st *intercept.Statement) {
			st.Info = statement("", "FROM u INSERT INTO t SELECT a INSERT INTO v SELECT b").Info
		},
		"a directory too": func(st *intercept.Statement) {
			st.Info = statement("", "FROM u INSERT INTO t SELECT a INSERT OVERWRITE DIRECTORY '/x' SELECT b").Info
		},
		"rows not added": func(st *intercept.Statement) { st.Info = statement("", "TRUNCATE TABLE t").Info },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			st := synchronous("1", handle)
			st.State = intercept.StateFinished
			if got, ok := askRows(st); !ok || got != handle {
				t.Fatalf("got %v, %v", got, ok)
			}
			change(st)
			if _, ok := askRows(st); ok {
				t.Error("asked for")
			}
		})
	}
}

func TestRowsArePreparedFor(t *testing.T) {
	b := newBench(t, nil).begin(t)
	b.start(statement("1", "INSERT INTO t VALUES (1)"))
	pool := &b.cfg.Analyzer.Explainer.line("").pool
	eventually(t, "an idle connection is there before the write ends", func() bool {
		pool.mu.Lock()
		defer pool.mu.Unlock()
		return len(pool.mu.idle) == 1
	})
	if err := b.cfg.Analyzer.Explainer.Prepare(within(t), ""); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server has accepted it", func() bool { return b.server.accepted() > 0 }) // a client may be through before
	if n := b.server.accepted(); n != 1 {
		t.Errorf("%d connections, one was idle", n)
	}
	if n := len(b.server.statements()); n != 0 {
		t.Errorf("%d statements were run for it", n)
	}
}

func TestRowsQuestions(t *testing.T) {
	handle := client.Handle{GUID: newID(), Secret: newID()}
	t.Run("a panic", func(t *testing.T) {
		b := newBench(t, func(c *RecorderConfig) {
			c.Rows = rowsFunc(func(context.Context, client.Handle) (*int64, error) { panic("defect") })
		}).begin(t)
		for i := range 2 {
			b.end(synchronous(fmt.Sprint(i), handle))
			if o := b.observation(t); o.Statement.ModifiedRows != nil {
				t.Errorf("got %+v", o)
			}
		}
		if n := b.counters.Panics.Load(); n != 2 {
			t.Errorf("%d panics", n)
		}
	})
	t.Run("too many", func(t *testing.T) {
		asked := make(chan struct{}, rowsBacklog+1)
		answer := make(chan struct{})
		b := newBench(t, func(c *RecorderConfig) {
			c.Rows = rowsFunc(func(context.Context, client.Handle) (*int64, error) {
				asked <- struct{}{}
				<-answer
				return new(int64(1)), nil
			})
		}).begin(t)
		b.end(synchronous("first", handle))
		receive(t, asked)
		for i := range rowsBacklog + 1 {
			b.end(synchronous(fmt.Sprint(i), handle))
		}
		if o := b.observation(t); o.Statement.ID != fmt.Sprint(rowsBacklog) || o.Writes[0].Rows != nil {
			t.Errorf("got %+v, want the one too many, uncounted", o)
		}
		close(answer)
		b.Stop(within(t))
		if n := len(b.records); n != rowsBacklog+1 {
			t.Errorf("%d records", n)
		}
	})
	t.Run("stopped in a hurry", func(t *testing.T) {
		asked := make(chan struct{}, 1)
		b := newBench(t, func(c *RecorderConfig) {
			c.Rows = rowsFunc(func(ctx context.Context, _ client.Handle) (*int64, error) {
				asked <- struct{}{}
				<-ctx.Done()
				return nil, errors.New("no answer")
			})
		}).begin(t)
		b.end(synchronous("1", handle))
		receive(t, asked)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		b.Stop(ctx)
		if o := b.observation(t); len(o.Writes) != 1 || o.Writes[0].Rows != nil {
			t.Errorf("got %+v", o)
		}
	})
}
