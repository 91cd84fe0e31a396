package intercept

import (
	"errors"
	"net"
	"time"

	"github.com/hs2proxy/hs2proxy/thrift"
)

// send shows the client's next bytes, up to the end of the request, to the observation and writes them. It returns how many that
// were, and whether the connection goes on.
func (r *route) send(to *branch, b []byte, begins bool) (n int, on bool) {
	n, _, _ = r.clock.observe(r.relay, r.stream, b) // HTTP has no length that is refused
	if e, answer := r.limited(); e != nil {
		_, _ = r.client.Write(answer)
		r.fail(&failure{thrift.Client, phaseLimit, e})
		return n, false
	}
	inside := r.stream.Inside()
	for {
		if !r.begin(to, begins, inside) {
			if !begins {
				r.close()
				return n, false
			}
			var on bool
			if to, on = r.again(to); !on {
				return n, false
			}
			continue
		}
		written, err := to.conn.Write(b[:n])
		r.count(thrift.Client, int64(written))
		switch {
		case err == nil:
			to.used = true
			return n, true
		case begins && to.stale(written):
			r.forget(to)
		default:
			r.unwritable(to, err)
			return n, false
		}
	}
}

// begin notes that bytes are about to be written, and whether the request goes on after them: the server may have answered before we
// hear that they are written. It is false when the connection to the server has ended already.
func (r *route) begin(to *branch, begins, inside bool) bool {
	r.conns.Lock()
	defer r.conns.Unlock()
	if to.gone {
		return false
	}
	r.open = inside
	if begins {
		r.busy = true
	}
	return true
}

// again connects anew to a server that has closed a kept connection before it got a byte of the request.
func (r *route) again(old *branch) (*branch, bool) {
	b, err := r.to(old.server)
	if err != nil {
		r.fail(&failure{thrift.HiveServer2, phaseConnect, err})
		return nil, false
	}
	r.conns.Lock()
	defer r.conns.Unlock()
	r.current = b
	return b, true
}

// stale: the system refused to take a single byte for a connection that was kept, so the server did not get one.
func (b *branch) stale(written int) bool {
	_, tcp := b.conn.(*net.TCPConn) // TLS may have sent a part of a record
	return tcp && b.used && written == 0
}

// forget takes a connection out of use that took no byte of a request.
func (r *route) forget(b *branch) {
	r.conns.Lock()
	defer r.conns.Unlock()
	b.forgotten, r.busy, r.open = true, false, false
	b.leave()
	_ = b.conn.Close()
}

// unwritable deals with a server that takes no more bytes. What it said before it closed still goes to the client.
func (r *route) unwritable(to *branch, err error) {
	f := &failure{thrift.HiveServer2, phaseWrite, err}
	if errors.Is(err, net.ErrClosed) {
		r.fail(f)
		return
	}
	if r.interrupted() {
		r.note(f)
	}
	_ = to.conn.SetReadDeadline(time.Now().Add(r.server.cfg.HalfClose))
}
