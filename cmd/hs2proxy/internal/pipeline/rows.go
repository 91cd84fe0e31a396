package pipeline

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// RowCounter asks HiveServer2 for the rows that an operation modified; nil when it does not say. Prepare is called when a
// write starts, so that asking takes no longer than it must when it ends.
type RowCounter interface {
	Prepare(ctx context.Context, server string) error
	ModifiedRows(ctx context.Context, server string, operation client.Handle) (*int64, error)
}

const (
	// rowsTimeout bounds one question. It is a race against the client, which closes its operation next.
	rowsTimeout = 2 * time.Second
	// rowsBacklog bounds the questions that wait; by the time more were asked, their operations would be closed.
	rowsBacklog = 64
)

// ModifiedRows implements RowCounter on a connection of the pool. It takes neither rate nor slot of an EXPLAIN, being one
// look-up in HiveServer2's memory, but stops with it when the breaker is open.
func (e *Explainer) ModifiedRows(ctx context.Context, server string, operation client.Handle) (*int64, error) {
	ctx, cancel := context.WithTimeout(ctx, rowsTimeout)
	defer cancel()
	res, err := e.line(server).protected(ctx, func(c *client.Conn) (client.Result, error) {
		rows, _, err := c.OperationStatus(ctx, operation.GUID, operation.Secret)
		return client.Result{ModifiedRows: rows}, err
	})
	if err != nil {
		return nil, fmt.Errorf("modified rows: %w", err)
	}
	return res.ModifiedRows, nil
}

// Prepare implements RowCounter: it dials where no connection is idle.
func (e *Explainer) Prepare(ctx context.Context, server string) error {
	ctx, cancel := context.WithTimeout(ctx, rowsTimeout)
	defer cancel()
	_, err := e.line(server).protected(ctx, func(*client.Conn) (client.Result, error) { return client.Result{}, nil })
	return err
}

// askRows: a synchronous write (PyHive's) ends with the reply to ExecuteStatement, which names no rows, and its client asks
// for no state. Until it closes the operation, anybody with the handle may ask.
func askRows(st *intercept.Statement) (client.Handle, bool) {
	if st.State != intercept.StateFinished || st.ModifiedRows != nil || st.OperationSecret == [16]byte{} || !oneTable(st) {
		return client.Handle{}, false
	}
	guid, err := hex.DecodeString(strings.ReplaceAll(st.OperationID, "-", ""))
	if err != nil || len(guid) != 16 {
		return client.Handle{}, false
	}
	return client.Handle{GUID: [16]byte(guid), Secret: st.OperationSecret}, true
}

// question is a statement whose rows are asked for, without an id one that will ask; count is the answer, nil when there
// was none.
type question struct {
	id        string
	server    string
	operation client.Handle
}

type count struct {
	id   string
	rows *int64
}

// ask answers questions until there are none any more.
func (r *Recorder) ask(ctx context.Context) {
	for q := range r.questions {
		if q.id == "" {
			r.prepare(ctx, q.server)
			continue
		}
		rows := r.answer(ctx, q)
		select {
		case r.counts <- count{id: q.id, rows: rows}:
		case <-ctx.Done():
			return
		}
	}
}

func (r *Recorder) prepare(ctx context.Context, server string) {
	defer isolate(r.log, r.counters, "preparing a row count panicked")
	if err := r.cfg.Rows.Prepare(ctx, server); err != nil {
		r.log.Debug().Err(err).Msg("not prepared to ask for the rows of a write")
	}
}

func (r *Recorder) answer(ctx context.Context, q question) (rows *int64) {
	defer isolate(r.log, r.counters, "row count panicked; the write is recorded as uncounted")
	rows, err := r.cfg.Rows.ModifiedRows(ctx, q.server, q.operation)
	if err != nil { // most often the client has closed it already
		r.log.Debug().Err(err).Msg("rows of a synchronous write not told")
		return nil
	}
	return rows
}
