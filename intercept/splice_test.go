package intercept

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"testing"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"

	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
)

// longReply is the beginning of a reply to FetchResults with sequence id 1 in a frame of the given size, filled to size bytes.
func longReply(announced, sent int) []byte {
	b := frameOf("FetchResults", athrift.REPLY, &hiveserver.TCLIServiceFetchResultsResult{})
	binary.BigEndian.PutUint32(b, uint32(announced))
	fill := bytes.Repeat([]byte("0123456789abcdef"), sent/16+1)
	return slices.Concat(b, fill)[:sent+4]
}

// fetchLong logs in and asks for a result.
func fetchLong(t *testing.T, r *rig) *hs2test.Client {
	t.Helper()
	c := r.dial()
	call := frameOf("FetchResults", athrift.CALL, &hiveserver.TCLIServiceFetchResultsArgs{Req: &hiveserver.TFetchResultsReq{OperationHandle: anOperation('o')}})
	if _, err := c.Conn.Write(call); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSplice: a frame of 40 MB arrives unchanged and is counted, and the calls after it are observed.
func TestSplice(t *testing.T) {
	r := newRig(t, hs2test.Config{}, Config{})
	want := longReply(40<<20, 40<<20)
	r.hive.Override("FetchResults", func(x *hs2test.Exchange) error { return x.Raw(want) })
	c := fetchLong(t, r)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c.Conn, got); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%v, or bytes changed", err)
	}
	if _, err := c.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	r.want("opened")
	if got := r.server.Connections(); len(got) != 1 || got[0].FromServer < int64(len(want)) || got[0].Waiting != 0 {
		t.Errorf("connections %+v", got)
	}
}

// TestUpstreamDiesInFrame: what came of the frame reaches the client before the end, and the line names HiveServer2.
func TestUpstreamDiesInFrame(t *testing.T) {
	r := newRig(t, hs2test.Config{}, Config{})
	want := longReply(40<<20, 9<<20)
	r.hive.Override("FetchResults", func(x *hs2test.Exchange) error {
		if err := x.Raw(want); err != nil {
			return err
		}
		return io.EOF
	})
	c := fetchLong(t, r)
	got, err := io.ReadAll(c.Conn)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d of %d bytes, %v", len(got), len(want), err)
	}
	eventually(t, "the line", func() bool { return len(r.log.failures(t)) == 1 })
	if got := r.log.failures(t); got[0] != "HiveServer2 call" {
		t.Errorf("failures %q", got)
	}
}

// TestClientGoneInFrame: a client that vanishes while a frame is spliced takes its connection to HiveServer2 with it.
func TestClientGoneInFrame(t *testing.T) {
	r := newRig(t, hs2test.Config{}, Config{})
	part := longReply(1000<<20, 64<<10)
	r.hive.Override("FetchResults", func(x *hs2test.Exchange) error {
		if err := x.Raw(part); err != nil {
			return err
		}
		for { // until nobody reads
			if err := x.Raw(part[4:]); err != nil {
				return err
			}
		}
	})
	c := fetchLong(t, r)
	if _, err := io.CopyN(io.Discard, c.Conn, 5<<20); err != nil {
		t.Fatal(err)
	}
	_ = c.Conn.Close()
	eventually(t, "the end at HiveServer2", func() bool {
		connections, _, _ := r.hive.Open()
		return connections == 0 && r.server.Stats().Open == 0
	})
	if got := r.log.failures(t); len(got) != 1 || got[0] != "client write" && got[0] != "client read" && got[0] != "client call" {
		t.Errorf("failures %q", got)
	}
}
