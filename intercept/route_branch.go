package intercept

import (
	"errors"
	"net"

	"github.com/hs2proxy/hs2proxy/intercept/upstream"
	"github.com/hs2proxy/hs2proxy/thrift"
)

var errUnasked = errors.New("sent something that no request had asked for")

// branch is a routed connection's connection to one HiveServer2. Its goroutine moves what comes from there.
type branch struct {
	route  *route
	server *upstream.Server
	conn   net.Conn
	down   *pump
	used   bool // a request was sent on it; only the client's goroutine touches it
	// gone: it has ended. forgotten: by us, since it took no byte of a request. Both are guarded by conns.
	gone, forgotten bool
}

// to is the connection to a server: the one that is kept, or a new one.
func (r *route) to(server *upstream.Server) (*branch, error) {
	r.conns.Lock()
	b := r.kept[server.ID]
	r.conns.Unlock()
	if b != nil {
		return b, nil
	}
	conn, err := r.dialServer(r.server.ctx, server, upstream.HTTP)
	if err != nil {
		return nil, err
	}
	b = &branch{route: r, server: server, conn: conn}
	b.down = newPump(r.pumped, thrift.HiveServer2, conn, r.client)
	b.down.forgotten = b.idle
	r.conns.Lock()
	defer r.conns.Unlock()
	if r.conns.closed {
		server.Closed()
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	r.kept[server.ID] = b
	r.running.Add(1)
	r.server.work.Go(b.run)
	return b, nil
}

// run moves the replies of one server until it closes, or is closed.
func (b *branch) run() {
	defer b.done()
	for b.step() && b.answered() {
	}
}

// step moves the next bytes, which somebody must have asked for.
func (b *branch) step() bool {
	p := b.down
	if p.coming > 0 {
		return p.step()
	}
	bytes, err := p.reader.read()
	if err != nil {
		p.ended(err)
		return false
	}
	defer p.reader.release()
	if !b.expected() {
		p.ended(errUnasked)
		return false
	}
	return p.forward(bytes)
}

// expected reports whether something may come from this server now.
func (b *branch) expected() bool {
	r := b.route
	blind := r.wire.Blind() != thrift.NotBlind
	r.conns.Lock()
	defer r.conns.Unlock()
	return r.current == b && (r.busy || blind)
}

// answered is called when what came has been written to the client. It lets the next request go where the reply is complete, and
// reports whether the connection is of any more use.
func (b *branch) answered() bool {
	r := b.route
	if !r.wire.Answered() {
		return true
	}
	blind, answer := r.wire.Blind() != thrift.NotBlind, r.wire.Answer()
	r.conns.Lock()
	defer r.conns.Unlock()
	if r.busy {
		r.busy = false
		r.server.affinity.taken(&r.asked, answer, b.server.ID)
		r.free.Broadcast()
	}
	return blind || !r.over
}

// idle reports whether the end of this connection is of no consequence: the server has closed one that was kept, as servers do after
// a while, and the client's goes on.
func (b *branch) idle() bool {
	r := b.route
	last := r.wire.Blind() != thrift.NotBlind || r.wire.Answer().Closing
	r.conns.Lock()
	defer r.conns.Unlock()
	b.leave()
	return b.forgotten || r.current != b || !r.busy && !r.open && !last && !r.over
}

// done is deferred: the goroutine has ended.
func (b *branch) done() {
	r := b.route
	defer r.done()
	_ = b.conn.Close()
	b.server.Closed()
	r.conns.Lock()
	b.leave()
	last := r.over && r.current == b
	r.conns.Unlock()
	if last {
		r.close()
	}
}

// leave takes the connection out of use. It needs the lock.
func (b *branch) leave() {
	r := b.route
	b.gone = true
	if r.kept[b.server.ID] == b {
		delete(r.kept, b.server.ID)
	}
	r.free.Broadcast()
}
