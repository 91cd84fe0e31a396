package intercept

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"
)

// TestLoopBatch: what comes for many connections while their loop is busy, ends of either side among it, is dealt with together, and
// reaches each of them as it was sent.
func TestLoopBatch(t *testing.T) {
	hive := newScript(t)
	r := looped.rig(t, Config{Address: hive.addr, Loops: 1})
	handle := aSession('s')
	call := frameOf("CloseSession", athrift.CALL, &hiveserver.TCLIServiceCloseSessionArgs{Req: &hiveserver.TCloseSessionReq{SessionHandle: handle}})
	reply := frameOf("CloseSession", athrift.REPLY, &hiveserver.TCLIServiceCloseSessionResult{Success: &hiveserver.TCloseSessionResp{Status: good()}})

	type pair struct {
		client, server               *net.TCPConn
		speaker, listener            *net.TCPConn
		said, heard                  []byte
		speakerEnds, listenerHasLeft bool
	}
	pairs := make([]pair, 3*batch)
	for i := range pairs {
		p := &pairs[i]
		p.client, p.server = hive.connect(t, r.addr)
		logIn(t, p.client, p.server)
		p.speaker, p.listener, p.said = p.client, p.server, call
		if i%2 == 1 { // HiveServer2 answers
			says(t, p.client, p.server, call)
			p.speaker, p.listener, p.said = p.server, p.client, reply
		}
		p.speakerEnds, p.listenerHasLeft = i%3 == 1, i%3 == 2
	}

	held, release := make(chan struct{}), make(chan struct{})
	r.server.loops.running()[0].post(func() {
		close(held)
		<-release
	})
	<-held
	for i := range pairs {
		p := &pairs[i]
		if p.listenerHasLeft {
			_ = p.listener.CloseWrite()
		}
		if _, err := p.speaker.Write(p.said); err != nil {
			t.Fatal(err)
		}
		if p.speakerEnds {
			_ = p.speaker.CloseWrite()
		}
	}
	close(release)

	var work sync.WaitGroup
	for i := range pairs {
		p := &pairs[i]
		work.Go(func() {
			p.heard = make([]byte, len(p.said))
			if n, err := io.ReadFull(p.listener, p.heard); err != nil {
				t.Errorf("connection %d: %d of %d bytes: %v", i, n, len(p.said), err)
			}
		})
	}
	work.Wait()
	for i := range pairs {
		if p := &pairs[i]; !bytes.Equal(p.heard, p.said) {
			t.Errorf("connection %d: bytes changed", i)
		}
		_, _ = pairs[i].client.Close(), pairs[i].server.Close()
	}
	r.over()
	stats := r.server.Stats()
	if len(stats.Blind) > 0 || stats.DecodeFailures > 0 || stats.Accepted != int64(len(pairs)) {
		t.Errorf("stats %+v", stats)
	}
	if calls := stats.Calls; len(calls) != 1 || calls[0].Calls != int64(len(pairs)) || calls[0].Outcomes[OutcomeOK] != int64(len(pairs)/2) {
		t.Errorf("observed %+v", calls)
	}
}
