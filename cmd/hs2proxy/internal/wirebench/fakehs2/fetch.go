package fakehs2

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"sync"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"
)

const (
	// sequenceAt is where the sequence id is in a framed FetchResults reply: behind length, version, name length and name.
	sequenceAt = 4 + 4 + 4 + len("FetchResults")
	// offsetMark stands for startRowOffset in a batch until it is known; nothing else in front of it looks like it.
	offsetMark = 0x7766554433221100
	// copied is the longest reply that is copied in order to be sent by one plain write, in bytes.
	copied = 64 << 10
	// fetchLog is TFetchResultsReq.fetchType for operation logs.
	fetchLog = 1
)

// batch is a FetchResults reply of so many rows, serialised once; only the sequence id and startRowOffset, both in head, differ
// between calls. The ids of every batch start at 0.
type batch struct {
	head     []byte // with the frame's length
	offsetAt int
	tail     []byte
}

var batches = struct {
	sync.Mutex
	known map[Result]*batch // Rows are those of the batch, Batch is 0
}{known: map[Result]*batch{}}

func batchOf(rows, width int) *batch {
	key := Result{Rows: rows, Width: width}
	batches.Lock()
	defer batches.Unlock()
	if b := batches.known[key]; b != nil {
		return b
	}
	ids, payloads := make([]int64, rows), make([]string, rows)
	payload := strings.Repeat("abcdefghijklmnopqrstuvwxyz0123456789", width/36+1)[:width-leastWidth]
	for i := range rows {
		ids[i], payloads[i] = int64(i), payload
	}
	reply := fetchReply(&hiveserver.TRowSet{StartRowOffset: offsetMark, Rows: []*hiveserver.TRow{}, Columns: []*hiveserver.TColumn{
		{I64Val: &hiveserver.TI64Column{Values: ids, Nulls: []byte{}}},
		{StringVal: &hiveserver.TStringColumn{Values: payloads, Nulls: []byte{}}},
	}})
	at := bytes.Index(reply, binary.BigEndian.AppendUint64(nil, offsetMark))
	b := &batch{head: reply[:at+8], offsetAt: at, tail: reply[at+8:]}
	batches.known[key] = b
	return b
}

// fetchReply serialises a reply of success, behind the frame's length.
func fetchReply(set *hiveserver.TRowSet) []byte {
	more := false // as HiveServer2 always says
	return framed(&hiveserver.TFetchResultsResp{Status: success(), HasMoreRows: &more, Results: set})
}

func framed(resp *hiveserver.TFetchResultsResp) []byte {
	ctx := context.Background()
	buffer := athrift.NewTMemoryBuffer()
	out := athrift.NewTBinaryProtocolConf(buffer, &athrift.TConfiguration{})
	result := &hiveserver.TCLIServiceFetchResultsResult{Success: resp}
	if err := errors.Join(out.WriteMessageBegin(ctx, "FetchResults", athrift.REPLY, 0), result.Write(ctx, out)); err != nil {
		panic(err) // into memory
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(buffer.Len())), buffer.Bytes()...) //nolint:gosec // bounded by mostBatch
}

// fetch answers FetchResults.
func (c *connection) fetch(ctx context.Context, seq int32) error {
	var args hiveserver.TCLIServiceFetchResultsArgs
	if err := args.Read(ctx, c.protocol.in); err != nil {
		return err
	}
	op, status := c.server.operation(args.GetReq().GetOperationHandle())
	if op == nil {
		return c.reply(seq, framed(&hiveserver.TFetchResultsResp{Status: status}))
	}
	first := args.Req.Orientation == hiveserver.TFetchOrientation_FETCH_FIRST
	switch {
	case args.Req.FetchType == fetchLog:
		return c.reply(seq, op.nextLog(first))
	case op.text != nil:
		return c.reply(seq, op.nextText(first))
	}
	offset, rows := op.next(int(args.Req.MaxRows), first)
	return c.rows(seq, batchOf(rows, op.result.Width), offset)
}

// reply sends a serialised reply, which it owns.
func (c *connection) reply(seq int32, framed []byte) error {
	binary.BigEndian.PutUint32(framed[sequenceAt:], uint32(seq)) //nolint:gosec // the same bits
	_, err := c.conn.Write(framed)
	return err
}

func (c *connection) rows(seq int32, b *batch, offset int) error {
	c.head = append(c.head[:0], b.head...)
	binary.BigEndian.PutUint32(c.head[sequenceAt:], uint32(seq))    //nolint:gosec // the same bits
	binary.BigEndian.PutUint64(c.head[b.offsetAt:], uint64(offset)) //nolint:gosec // never negative
	if len(b.tail) > copied {
		_, err := (&net.Buffers{c.head, b.tail}).WriteTo(c.conn)
		return err
	}
	c.head = append(c.head, b.tail...)
	_, err := c.conn.Write(c.head)
	return err
}

// next moves the cursor over the next rows, at most limit.
func (op *operation) next(limit int, first bool) (offset, rows int) {
	op.mu.Lock()
	defer op.mu.Unlock()
	if first {
		op.fetched = 0
	}
	offset = op.fetched
	rows = min(op.result.Rows-offset, op.result.Batch)
	if limit > 0 {
		rows = min(rows, limit)
	}
	op.fetched += rows
	return offset, rows
}

// nextText is all of the text at once, then no row.
func (op *operation) nextText(first bool) []byte {
	op.mu.Lock()
	defer op.mu.Unlock()
	if op.fetched > 0 && !first {
		return op.text.end()
	}
	op.fetched = 1
	return op.text.bytes()
}

func (op *operation) nextLog(first bool) []byte {
	op.mu.Lock()
	defer op.mu.Unlock()
	if op.log == nil || op.logged && !first {
		return none().bytes()
	}
	op.logged = true
	return op.log.bytes()
}
