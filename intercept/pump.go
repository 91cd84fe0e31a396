package intercept

import (
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/hs2proxy/hs2proxy/thrift"
)

// pump moves one direction's bytes: read, show to the observation, write.
type pump struct {
	relay  *pumped
	side   thrift.Side // where the bytes come from
	from   net.Conn
	to     net.Conn
	first  []byte // read before
	reader reader
	stream *thrift.Stream
	// toTCP is to where bytes may be spliced, nil elsewhere; limited is splice's reader, kept to save its allocation.
	toTCP   *net.TCPConn
	limited io.LimitedReader
	// coming is how many of the next bytes are to be spliced.
	coming int64
	clock  clock
	// forgotten, where there is one, is asked at the end of the bytes: true, and nothing follows from it.
	forgotten func() bool
}

func newPump(r *pumped, side thrift.Side, from, to net.Conn) *pump {
	p := &pump{relay: r, side: side, from: from, to: to, reader: newReader(from, side == thrift.Client), stream: r.wire.Stream(side), clock: newClock(r.relay)}
	if _, ok := from.(*net.TCPConn); ok {
		p.toTCP, _ = to.(*net.TCPConn)
	}
	return p
}

func (p *pump) run() {
	defer p.relay.done()
	if first := p.first; first != nil {
		p.first = nil
		on := p.forward(first)
		clear(first)
		if !on {
			return
		}
	}
	for p.step() {
		if p.side == thrift.HiveServer2 && !p.answered() {
			return
		}
	}
}

// answered is called when bytes of HiveServer2's have reached the client; false when the connection was only kept for them.
func (p *pump) answered() bool {
	r := p.relay
	if r.clientEnded.Load() {
		r.boundUpstream()
	}
	if r.retired.Load() && r.idle() {
		r.close()
		return false
	}
	return true
}

// step moves the next bytes. It reports whether the direction goes on.
func (p *pump) step() bool {
	if n := p.coming; n > 0 {
		return p.splice(n)
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
	r := p.relay
	n, coming, refused := p.clock.observe(r.relay, p.stream, b)
	if p.side == thrift.HiveServer2 {
		r.judge()
	}
	if e, answer := r.limited(); e != nil {
		_, _ = r.conns.client.Write(answer)
		r.fail(&failure{thrift.Client, phaseLimit, e})
		return false
	}
	if n > 0 {
		p.coming = p.spliceable(coming)
		written, err := p.to.Write(b[:n])
		r.count(p.side, int64(written))
		if err != nil {
			p.unwritable(err)
			return false
		}
	}
	if refused != nil {
		r.fail(&failure{p.side, phaseLength, refused})
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
		r.noteUnread(f, r.clientEnded.Load())
		r.close()
		return
	}
	if r.interrupted() {
		r.note(f)
	}
	_ = p.to.SetReadDeadline(time.Now().Add(r.server.cfg.HalfClose))
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
	if p.forgotten != nil && p.forgotten() {
		return
	}
	switch {
	case errors.Is(err, io.EOF):
		r.finished(p.stream)
		if r.missed(p.side) {
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
		if r.missed(p.side) {
			r.note(&failure{p.side, phaseRead, err})
		}
		r.close()
	}
}

// boundUpstream bounds what follows the client's end: nothing while a reply is awaited or on its way, and nothing on a blind
// connection. It may be called again with every reply.
func (p *pumped) boundUpstream() {
	if p.idle() {
		_ = p.conns.upstream.SetReadDeadline(time.Now().Add(p.server.cfg.HalfClose))
	}
}
