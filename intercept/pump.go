package intercept

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/hs2proxy/hs2proxy/thrift"
)

// pump moves one direction's bytes: read, show to the observation, write.
type pump struct {
	relay  *relay
	side   thrift.Side // where the bytes come from
	from   net.Conn
	to     net.Conn
	reader reader
	stream *thrift.Stream
	// toTCP is to where bytes may be spliced, nil elsewhere; limited is splice's reader, kept to save its allocation.
	toTCP   *net.TCPConn
	limited io.LimitedReader
	// coming is how many of the next bytes are to be spliced.
	coming int64
	// counted is the relay's counter of these bytes, total the server's.
	counted, total *atomic.Int64
	// pieces are those read so far, counted from somewhere so that the login is not always the piece that is timed.
	pieces uint8
}

func newPump(r *relay, side thrift.Side, from, to net.Conn) *pump {
	p := &pump{relay: r, side: side, from: from, to: to, reader: newReader(from), stream: r.wire.Stream(side), pieces: uint8(r.id)} //nolint:gosec // any number will do
	if _, ok := from.(*net.TCPConn); ok {
		p.toTCP, _ = to.(*net.TCPConn)
	}
	if side == thrift.Client {
		p.counted, p.total = &r.fromClient, &r.server.counters.bytesFromClients
	} else {
		p.counted, p.total = &r.fromServer, &r.server.counters.bytesFromServer
	}
	return p
}

func (p *pump) run() {
	defer p.relay.done()
	for p.step() {
		if p.side == thrift.HiveServer2 && p.relay.clientEnded.Load() {
			p.relay.boundUpstream()
		}
	}
}

// step moves the next bytes. It reports whether the direction goes on.
func (p *pump) step() bool {
	if n := p.coming; n > 0 {
		if !p.splice(n) {
			return false
		}
		p.coming = p.spliceable()
		return true
	}
	b, err := p.reader.read()
	if err != nil {
		p.ended(err)
		return false
	}
	defer p.reader.release()
	return p.forward(b)
}

// forward shows b to the observation and writes it. It reports whether the direction goes on.
func (p *pump) forward(b []byte) bool {
	n, refused := p.timed(b)
	if n > 0 {
		p.coming = p.spliceable()
		written, err := p.to.Write(b[:n])
		p.counted.Add(int64(written))
		p.total.Add(int64(written))
		if err != nil {
			p.unwritable(err)
			return false
		}
	}
	if refused != nil {
		p.relay.fail(&failure{p.side, phaseLength, refused})
		return false
	}
	return true
}

// unwritable deals with a side that takes no more bytes. What HiveServer2 said before it closed still goes to the client, which
// would see it without us: a refused login, for one.
func (p *pump) unwritable(err error) {
	r := p.relay
	f := &failure{p.other(), phaseWrite, err}
	if p.side == thrift.HiveServer2 || errors.Is(err, net.ErrClosed) {
		r.fail(f)
		return
	}
	if r.interrupted() {
		r.note(f)
	}
	_ = p.to.SetReadDeadline(time.Now().Add(r.server.cfg.HalfClose))
}

// observe never fails but for a refused length; a panic turns the connection blind.
func (p *pump) observe(b []byte) (n int, err error) {
	n = len(b) // what stays after a panic
	defer p.relay.recovered()
	return p.stream.Feed(b)
}

func (p *pump) other() thrift.Side {
	if p.side == thrift.Client {
		return thrift.HiveServer2
	}
	return thrift.Client
}

// ended deals with the end of the direction's bytes: a half-close goes on to the other side, which is then given the time to
// finish; anything else closes both.
func (p *pump) ended(err error) {
	r := p.relay
	switch {
	case errors.Is(err, io.EOF):
		if r.interrupted() {
			r.note(&failure{p.side, phaseCall, errClosedInCall})
		}
		closeWrite(p.to)
		if p.side == thrift.Client {
			r.clientEnded.Store(true)
			r.boundUpstream()
			return
		}
		// HiveServer2 never closes only one side. Whatever the client still sends is read and dropped by the kernel's
		// refusal, as it would be without us; its own close is awaited so that it can read the last bytes in peace.
		_ = p.to.SetReadDeadline(time.Now().Add(r.server.cfg.HalfClose))
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, net.ErrClosed):
		r.close()
	default:
		if r.interrupted() {
			r.note(&failure{p.side, phaseRead, err})
		}
		r.close()
	}
}

// interrupted reports whether an end now leaves a call without its reply or a message without its end.
func (r *relay) interrupted() bool {
	return r.wire.Waiting() > 0 || r.wire.Stream(thrift.Client).Inside() || r.wire.Stream(thrift.HiveServer2).Inside()
}

// boundUpstream bounds what follows the client's end: nothing while a reply is awaited or on its way, and nothing on a blind
// connection, whose calls are not known. It may be called again with every reply.
func (r *relay) boundUpstream() {
	if r.interrupted() || r.wire.Blind() != thrift.NotBlind {
		return
	}
	r.mu.Lock()
	upstream := r.mu.upstream
	r.mu.Unlock()
	_ = upstream.SetReadDeadline(time.Now().Add(r.server.cfg.HalfClose))
}

// closeWrite passes a half-close on; where the connection knows none, the whole close.
func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = conn.Close()
}
