package intercept

import (
	"bytes"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
)

// bounds are what one read of an event loop may bring in these tests, in bytes.
var bounds = []int{1, 7, 1460, bufferSize}

func reading(most int) func(*Server) { return func(s *Server) { s.loops.readMost = most } }

// inLoops looks at every connection of the event loops; one look at a time.
func inLoops(s *Server, look func(*loopConn)) {
	var mu sync.Mutex
	each(s.loops.running(), func(l *loop) {
		mu.Lock()
		defer mu.Unlock()
		for _, e := range l.ends {
			if e != nil && e == &e.conn.client {
				look(e.conn)
			}
		}
	})
}

// TestLoopUnchanged: a conversation arrives unchanged and is seen alike, however its bytes fall into reads.
func TestLoopUnchanged(t *testing.T) {
	fromClient, fromServer := conversation()
	var want []string
	for _, most := range bounds {
		hive := newScript(t)
		r := looped.rig(t, Config{Address: hive.addr}, reading(most))
		client, server := hive.connect(t, r.addr)
		says(t, client, server, fromClient)
		says(t, server, client, fromServer)
		for _, conn := range []*net.TCPConn{client, server} {
			if err := conn.CloseWrite(); err != nil {
				t.Fatal(err)
			}
		}
		if extra := slices.Concat(ends(t, client), ends(t, server)); len(extra) > 0 {
			t.Errorf("reads of %d: %q at the end", most, extra)
		}
		r.failed()
		stats := r.server.Stats()
		if stats.BytesFromClients != int64(len(fromClient)) || stats.BytesFromServer != int64(len(fromServer)) || len(stats.Blind) > 0 {
			t.Errorf("reads of %d: %+v", most, stats)
		}
		got := r.events(r.queue.Len())
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) || len(got) < 4 {
			t.Errorf("reads of %d: events %q, want %q", most, got, want)
		}
	}
}

// throughLoop sends bytes both ways at once through an event loop whose reads bring at most `most` bytes, and returns what arrives.
func throughLoop(t *testing.T, most int, fromClient, fromServer []byte) (toServer, toClient []byte, r *rig) {
	t.Helper()
	hive := newScript(t)
	r = looped.rig(t, Config{Address: hive.addr, HalfClose: hang}, reading(most))
	client, server := hive.connect(t, r.addr)
	var work sync.WaitGroup
	for _, end := range []struct {
		conn *net.TCPConn
		send []byte
		got  *[]byte
	}{{client, fromClient, &toClient}, {server, fromServer, &toServer}} {
		work.Go(func() {
			_, _ = end.conn.Write(end.send)
			_ = end.conn.CloseWrite()
		})
		work.Go(func() { *end.got, _ = io.ReadAll(end.conn) })
	}
	work.Wait()
	r.over()
	return toServer, toClient, r
}

// FuzzLoopRelay: whatever both sides send, the other gets exactly that; when a length is refused, the beginning of it.
func FuzzLoopRelay(f *testing.F) {
	fromClient, fromServer := conversation()
	f.Add(fromClient, fromServer)
	f.Add(fromClient[:300], fromServer[:100])
	f.Add(append(hs2test.Plain("bi", "x"), 0x7f, 0xff, 0xff, 0xff, 1, 2, 3), []byte{5, 0, 0, 0, 0, 0x80, 0, 0, 0})
	f.Add([]byte("POST /cliservice HTTP/1.1\r\n\r\n"), []byte("HTTP/1.1 401 Unauthorized\r\n\r\n"))
	f.Add(slices.Concat(hs2test.Plain("bi", "x"), longReply(40_000, 40_000)), slices.Concat(complete, longReply(70_000, 70_000)))
	f.Fuzz(func(t *testing.T, fromClient, fromServer []byte) {
		for _, most := range []int{1, 1460, bufferSize} {
			toServer, toClient, r := throughLoop(t, most, fromClient, fromServer)
			refused := slices.ContainsFunc(r.log.failures(t), func(line string) bool { return strings.HasSuffix(line, phaseLength) })
			if !refused && (!bytes.Equal(toServer, fromClient) || !bytes.Equal(toClient, fromServer)) {
				t.Fatalf("reads of %d: bytes changed", most)
			}
			if !bytes.HasPrefix(fromClient, toServer) || !bytes.HasPrefix(fromServer, toClient) {
				t.Fatalf("reads of %d: bytes changed", most)
			}
			if stats := r.server.Stats(); stats.Accepted != 1 {
				t.Fatalf("stats %+v", stats)
			}
		}
	})
}

// TestLoopSlowReaders: frames far larger than all buffers, both ways at once, to sides that do not read until the loop can write to
// neither; small socket buffers make it stop often.
func TestLoopSlowReaders(t *testing.T) {
	hive := newScript(t)
	r := looped.rig(t, Config{Address: hive.addr}, reading(1460))
	client, server := hive.connect(t, r.addr)
	for _, conn := range []*net.TCPConn{client, server} {
		_, _ = conn.SetReadBuffer(512<<10), conn.SetWriteBuffer(512<<10) // less than a segment of the loopback waits for timers
	}
	logIn(t, client, server)
	const size = 12 << 20
	call, reply := longReply(size, size), longReply(size+1, size+1)
	call[7] = 1 // a call, where longReply has a reply
	var work sync.WaitGroup
	work.Go(func() { _, _ = client.Write(call) })
	receives(t, server, call[:100])
	work.Go(func() { _, _ = server.Write(reply) })
	eventually(t, "full buffers on both sides", func() bool {
		full := 0
		inLoops(r.server, func(c *loopConn) {
			if !c.client.writable && !c.upstream.writable {
				full++
			}
		})
		return full == 1
	})
	work.Go(func() {
		if got, err := io.ReadAll(io.LimitReader(server, size+4-100)); err != nil || !bytes.Equal(got, call[100:]) {
			t.Errorf("%d bytes of the call, %v, or they changed", len(got)+100, err)
		}
	})
	receives(t, client, reply)
	work.Wait()
	if got := r.server.Connections(); len(got) != 1 || got[0].BytesFromClient < size || got[0].FromServer < size || got[0].Waiting != 0 {
		t.Errorf("connections %+v", got)
	}
	_ = client.Close()
	r.failed()
}

// TestLoopHalfClosedSlowReader: a client that has closed its side and is slow to read gets the reply to its end, which the proxy has
// read long before.
func TestLoopHalfClosedSlowReader(t *testing.T) {
	hive := newScript(t)
	r := looped.rig(t, Config{Address: hive.addr, HalfClose: time.Millisecond})
	client, server := hive.connect(t, r.addr)
	logIn(t, client, server)
	call, reply := fetchCall(), rowsReply(20_000)
	stuck := func() (is bool) {
		inLoops(r.server, func(c *loopConn) { is = is || !c.client.writable })
		return is
	}
	// Calls are answered until a reply stays with the proxy.
	replies := 0
	for done := false; !done; replies++ {
		says(t, client, server, call)
		writes(t, server, reply)
		eventually(t, "the reply, or full buffers", func() bool {
			done = stuck()
			return done || r.server.Stats().BytesFromServer == int64(len(complete)+(replies+1)*len(reply))
		})
	}
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if extra := ends(t, server); len(extra) > 0 {
		t.Fatalf("%q at the end", extra)
	}
	bounded := false
	inLoops(r.server, func(c *loopConn) { bounded = c.deadline.in != nil })
	if bounded {
		t.Error("the client's time runs although its reply has not been written")
	}
	receives(t, client, bytes.Repeat(reply, replies))
	ends(t, client)
	r.failed()
	if blind := r.server.Stats().Blind; len(blind) > 0 {
		t.Errorf("blind: %v", blind)
	}
}
