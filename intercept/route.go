package intercept

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/upstream"
	"github.com/hs2proxy/hs2proxy/thrift"
)

var errSessionServer = errors.New("the HiveServer2 that has the session is not known any more")

// route is a pumped HTTP connection whose requests go each to the HiveServer2 that has the session they are about: HTTP clients pool
// connections, so one connection carries calls of many sessions. It keeps a connection to each server that it has used. Only one
// request is under way at a time, whatever the client sends meanwhile, so that replies keep their order; requests and replies
// pass as they are. Nothing is ever sent a second time.
type route struct {
	*pumped
	client net.Conn
	reader reader
	stream *thrift.Stream
	clock  clock
	held   []byte // what the client has sent of a request that cannot go on yet

	// All of the following is guarded by pumped.conns.
	free    sync.Cond // with every change that lets a request go on
	kept    map[string]*branch
	current *branch // where the last request went; only the client's goroutine changes it
	asked   thrift.HTTPRequest
	busy    bool // its reply is awaited, or on its way to the client
	open    bool // the client has not sent all of it
	over    bool // the client's goroutine has ended
}

// route carries the connection, in the goroutine that opened it.
func (p *pumped) route(f *front) {
	r := &route{
		pumped: p, client: f.client, reader: newReader(f.client, true), stream: p.wire.Stream(thrift.Client), clock: newClock(p.relay),
		kept: map[string]*branch{},
	}
	r.free.L = &p.conns.Mutex
	p.wire.RequestByRequest()
	p.conns.Lock()
	p.conns.client, p.conns.route = f.client, r
	p.conns.Unlock()
	p.login = time.AfterFunc(p.server.cfg.LoginTimeout, p.slowLogin)
	r.run(f.first)
}

func (r *route) run(first []byte) {
	defer r.leave()
	on := r.take(first)
	clear(first)
	for on {
		b, err := r.reader.read()
		if err != nil {
			r.ended(err)
			return
		}
		on = r.take(b)
		r.reader.release()
	}
}

// take sends on what has come from the client, and holds what is too little to tell where it belongs.
func (r *route) take(b []byte) bool {
	if len(r.held) > 0 {
		r.hold(b)
		b = r.held
	}
	rest, on := r.pass(b)
	switch held := r.held; {
	case !on || len(rest) == 0:
		clear(held)
		r.held = nil
	case len(rest) < len(held) || len(held) == 0:
		r.held = nil
		r.hold(rest)
		clear(held)
	}
	return on
}

// hold appends to held and leaves no copies: there may be a password in it.
func (r *route) hold(b []byte) {
	if cap(r.held)-len(r.held) < len(b) {
		grown := append(make([]byte, 0, 2*(len(r.held)+len(b))), r.held...)
		clear(r.held)
		r.held = grown
	}
	r.held = append(r.held, b...)
}

// pass sends b on, the rest of a request or several of them, and returns what needs more bytes.
func (r *route) pass(b []byte) (rest []byte, on bool) {
	for len(b) > 0 {
		to, begins := r.current, false
		if to == nil || r.wire.AtRequest(b[0]) {
			q, state := thrift.PeekHTTP(b)
			if state == thrift.PeekMore {
				return b, true
			}
			if !r.settled() {
				return nil, false
			}
			var err error
			if to, err = r.next(&q); err != nil {
				r.fail(&failure{thrift.HiveServer2, phaseConnect, err})
				return nil, false
			}
			begins = true
		}
		n, on := r.send(to, b, begins)
		if !on {
			return nil, false
		}
		b = b[n:]
	}
	return nil, true
}

// settled waits until the reply before is with the client. It is false when that will not happen.
func (r *route) settled() bool {
	r.conns.Lock()
	defer r.conns.Unlock()
	for r.busy && !r.conns.closed && !r.current.gone {
		r.free.Wait()
	}
	return !r.busy && !r.conns.closed
}

// next is where the next request goes. The connection stays with its server when it is said to end with what was asked there.
func (r *route) next(q *thrift.HTTPRequest) (to *branch, err error) {
	r.login.Stop()
	if to = r.current; to == nil || r.wire.Blind() == thrift.NotBlind && !r.wire.Answer().Closing {
		if to, err = r.choose(q); err != nil {
			return nil, err
		}
	}
	r.via(to.server)
	r.conns.Lock()
	defer r.conns.Unlock()
	r.current, r.asked = to, *q
	return to, nil
}

// choose finds the server of a request: the one that has the session, or none. A request without a session goes where its cookie is
// valid, else where the connection's last request went (a negotiation goes on there), else where there are the fewest connections.
func (r *route) choose(q *thrift.HTTPRequest) (*branch, error) {
	s := r.server
	if id, known := s.affinity.handle(q); known {
		server, ok := s.cfg.Servers.ByID(id)
		if !ok {
			return nil, fmt.Errorf("%w: %s", errSessionServer, id)
		}
		return r.to(server)
	}
	if id, known := s.affinity.cookie(q); known {
		if server, ok := s.cfg.Servers.ByID(id); ok && takes(server, q) {
			if b, err := r.to(server); err == nil {
				return b, nil
			}
		}
	}
	if r.current != nil && takes(r.current.server, q) {
		// A session that is not known to be elsewhere is here: it must not move.
		if b, err := r.to(r.current.server); err == nil || q.Handle != thrift.NoHandle {
			return b, err
		}
	}
	err := errNoServer
	for _, server := range s.candidates(upstream.HTTP) {
		var b *branch
		if b, err = r.to(server); err == nil {
			return b, nil
		}
		if s.ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

// takes reports whether a server may get such a request without having the session: one that was deregistered opens none.
func takes(server *upstream.Server, q *thrift.HTTPRequest) bool {
	return q.Call != thrift.OpenSession || server.Listed()
}

// ended deals with the end of the client's bytes.
func (r *route) ended(err error) {
	if r.missed(thrift.Client) && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, net.ErrClosed) {
		f := &failure{thrift.Client, phaseRead, err}
		if errors.Is(err, io.EOF) {
			f.phase, f.err = phaseCall, errClosedInCall
		}
		r.note(f)
	}
	if errors.Is(err, io.EOF) {
		r.finished(r.stream)
		return
	}
	r.close()
}

// leave is deferred by the client's goroutine: nothing more is sent. A reply that is awaited still comes; the half-close goes on to
// the server it comes from, and every other connection is closed.
func (r *route) leave() {
	blind := r.wire.Blind() != thrift.NotBlind
	r.conns.Lock()
	r.over = true
	b := r.current
	awaited := b != nil && !b.gone && (r.busy || r.open || blind)
	for _, other := range r.kept {
		if other != b {
			_ = other.conn.Close()
		}
	}
	r.conns.Unlock()
	if !awaited {
		r.close()
		return
	}
	closeWrite(b.conn)
}

// closeAll closes the connections to the servers, for pumped.close. It needs the lock.
func (r *route) closeAll() {
	for _, b := range r.kept {
		_ = b.conn.Close()
	}
	r.free.Broadcast()
}
