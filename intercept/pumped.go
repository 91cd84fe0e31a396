package intercept

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/upstream"
	"github.com/hs2proxy/hs2proxy/thrift"
)

// pumped is a relay whose bytes are moved by a goroutine for each direction: every connection where there is no event loop, else
// those that an event loop cannot carry, for TLS or a choice of servers within the connection. First one goroutine opens it and
// connects, then the last of the two directions ends it.
type pumped struct {
	*relay
	clientEnded atomic.Bool // the client has closed its side
	running     atomic.Int32
	login       *time.Timer // bounds the login; nil before there is a server

	conns struct {
		sync.Mutex
		client, upstream net.Conn // upstream is nil before it is connected
		server           *upstream.Server
		route            *route // in their place where each request has its server
		closed           bool
	}
}

// pump relays a client whose first bytes may have been read already. The relay is ended by it.
func (s *Server) pump(r *relay, client net.Conn, first []byte) {
	p := &pumped{relay: r}
	p.conns.client = client
	if !r.carry(p) {
		p.close()
	}
	s.keepAlive(client)
	p.running.Store(1)
	s.work.Go(func() { p.open(first) })
}

// open is the first goroutine. Connecting takes a deep stack, which the goroutines that stay do without: their stacks are most of
// what an idle connection costs.
func (p *pumped) open(first []byte) {
	defer p.done()
	ctx := p.server.ctx
	f := &front{p.relay, p.conns.client, first}
	o, err := f.open(ctx)
	if err != nil {
		p.fail(&failure{thrift.Client, phaseOf(err), err})
		return
	}
	if o == thrift.OpeningHTTP && p.server.routed() {
		p.route(f)
		return
	}
	conn, server, err := p.dial(ctx, transportOf(o))
	if err != nil {
		p.fail(&failure{thrift.HiveServer2, phaseConnect, err})
		return
	}
	if !p.connected(f.client, conn, server) {
		return
	}
	up := newPump(p, thrift.Client, f.client, conn)
	down := newPump(p, thrift.HiveServer2, conn, f.client)
	up.first = f.first
	p.login = time.AfterFunc(p.server.cfg.LoginTimeout, p.slowLogin)
	p.running.Add(2)
	p.server.work.Go(down.run)
	p.server.work.Go(up.run)
}

// slowLogin is called when the time for a login is over.
func (p *pumped) slowLogin() {
	if p.wire.LoggingIn() {
		p.fail(&failure{thrift.Client, phaseLogin, errSlowLogin})
	}
}

// phaseOf is where a connection failed before it had a server.
func phaseOf(err error) string {
	if isLimit(err) {
		return phaseLimit
	}
	return phaseLogin
}

// connected notes both ends; false when the relay has been closed meanwhile.
func (p *pumped) connected(client, conn net.Conn, server *upstream.Server) bool {
	p.conns.Lock()
	defer p.conns.Unlock()
	p.conns.client, p.conns.upstream, p.conns.server = client, conn, server
	if p.conns.closed {
		_ = conn.Close()
	}
	return !p.conns.closed
}

// done is deferred by each goroutine of the relay; the last ends it.
func (p *pumped) done() {
	if p.running.Add(-1) > 0 {
		return
	}
	p.close()
	if p.login != nil {
		p.login.Stop()
	}
	p.conns.Lock()
	server := p.conns.server
	p.conns.Unlock()
	if server != nil {
		server.Closed()
	}
	p.end()
}

// fail notes why the connection ends, if it is the first to know, and closes both sides.
func (p *pumped) fail(f *failure) {
	p.note(f)
	p.close()
}

func (p *pumped) close() {
	p.conns.Lock()
	defer p.conns.Unlock()
	p.conns.closed = true
	_ = p.conns.client.Close()
	if p.conns.upstream != nil {
		_ = p.conns.upstream.Close()
	}
	if p.conns.route != nil {
		p.conns.route.closeAll()
	}
}

// keepAlive asks the system to notice a dead peer. Package net has turned off Nagle's delay, which would hold small messages back.
func (s *Server) keepAlive(conn net.Conn) {
	if c, ok := conn.(*net.TCPConn); ok {
		_ = c.SetKeepAliveConfig(s.cfg.probes())
	}
}

// closeWrite passes a half-close on; where the connection knows none, the whole close.
func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = conn.Close()
}
