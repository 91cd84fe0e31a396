package intercept

import (
	"io"
	"net"
	"testing"
)

// TestCloseAfterLargeReply: a client that closes with the last byte of a spliced reply interrupts nothing.
func TestCloseAfterLargeReply(t *testing.T) {
	forWays(t, func(t *testing.T, w way) {
		hive := newScript(t)
		r := w.rig(t, Config{Address: hive.addr})
		reply := longReply(300<<10, 300<<10)
		for range 40 {
			client, server := hive.connect(t, r.addr)
			logIn(t, client, server)
			says(t, client, server, fetchCall())
			writes(t, server, reply)
			if _, err := io.ReadFull(client, make([]byte, len(reply))); err != nil {
				t.Fatal(err)
			}
			_ = client.Close()
			ends(t, server)
			_ = server.Close()
		}
		r.failed()
	})
}

// TestSpliceLeavesTheLastByte: what ends a message is read and shown before it goes on, for the side that has it may close at once.
func TestSpliceLeavesTheLastByte(t *testing.T) {
	p := &pump{toTCP: &net.TCPConn{}}
	for _, coming := range []int64{spliceFrom, spliceFrom + 1, 1 << 20, spliceMost, spliceMost + 1, 1 << 40} {
		if n := p.spliceable(coming); n <= 0 || n >= coming {
			t.Errorf("%d of %d bytes are spliced", n, coming)
		}
	}
}
