package intercept

import (
	"context"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/thrift"
)

// relay is one client connection and its connection to HiveServer2. Its goroutines own both: first one that connects, then one
// for each direction, the last of which ends the relay.
type relay struct {
	server   *Server
	id       int64
	openedAt time.Time
	client   net.Conn
	watch    *watcher
	wire     *thrift.Conn

	fromClient, fromServer atomic.Int64
	clientEnded            atomic.Bool // the client has closed its side
	running                atomic.Int32

	mu struct {
		sync.Mutex
		upstream net.Conn // nil before it is connected
		cut      bool
		failure  *failure // the first
	}
}

func (s *Server) newRelay(id int64, client net.Conn) *relay {
	r := &relay{server: s, id: id, client: client, openedAt: s.now()}
	r.watch = &watcher{Connection: s.tracker.Connect(client.RemoteAddr().String()), relay: r}
	r.wire = thrift.NewConn(s.cfg.Limits, r.watch)
	return r
}

// connect dials HiveServer2 and has both directions relayed until they have ended. Connecting takes a deep stack, which the
// goroutines that stay do without: their stacks are most of what an idle connection costs.
func (r *relay) connect(ctx context.Context) {
	r.running.Store(1)
	defer r.done()
	upstream, err := r.dial(ctx)
	if err != nil {
		r.fail(&failure{thrift.HiveServer2, phaseConnect, err})
		return
	}
	r.server.keepAlive(r.client)

	up := newPump(r, thrift.Client, r.client, upstream)
	down := newPump(r, thrift.HiveServer2, upstream, r.client)
	r.running.Add(2)
	r.server.work.Go(down.run)
	r.server.work.Go(up.run)
}

// done is deferred by each goroutine of the relay; the last ends it.
func (r *relay) done() {
	if r.running.Add(-1) == 0 {
		defer r.server.finish(r)
		r.end()
	}
}

func (r *relay) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, r.server.cfg.DialTimeout)
	defer cancel()
	upstream, err := r.server.dial(ctx)
	r.server.dialed(err)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.mu.upstream = upstream
	cut := r.mu.cut
	r.mu.Unlock()
	if cut {
		return nil, context.Canceled
	}
	return upstream, nil
}

// keepAlive asks the system to notice a dead peer. Package net has turned off Nagle's delay, which would hold small messages back.
func (s *Server) keepAlive(conn net.Conn) {
	if c, ok := conn.(*net.TCPConn); ok {
		_ = c.SetKeepAliveConfig(s.cfg.probes())
	}
}

// fail notes why the connection ends, if it is the first to know, and closes both sides.
func (r *relay) fail(f *failure) {
	r.note(f)
	r.close()
}

func (r *relay) note(f *failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.failure == nil && !r.mu.cut {
		r.mu.failure = f
	}
}

// cut ends the connection for the proxy's own reasons.
func (r *relay) cut() {
	r.mu.Lock()
	r.mu.cut = true
	r.mu.Unlock()
	r.close()
}

func (r *relay) close() {
	_ = r.client.Close()
	r.mu.Lock()
	upstream := r.mu.upstream
	r.mu.Unlock()
	if upstream != nil {
		_ = upstream.Close()
	}
}

// end closes what is open, tells the tracker, counts and logs.
func (r *relay) end() {
	r.close()
	r.guard(r.watch.Close)
	s := r.server
	if r.wire.Refused() {
		s.counters.refusedLogins.Add(1)
	}
	r.wire.Release()

	r.mu.Lock()
	f := r.mu.failure
	r.mu.Unlock()
	if f != nil && !ordinary(f.err) {
		if f.side == thrift.Client {
			s.counters.clientFailures.Add(1)
		} else {
			s.counters.upstreamFailures.Add(1)
		}
		r.summary(zerolog.WarnLevel).Stringer("side", f.side).Str("phase", f.phase).Err(f.err).Str("advice", f.advice()).
			Msg("connection failed")
		return
	}
	r.summary(zerolog.DebugLevel).Bool("login_refused", r.wire.Refused()).Msg("connection ended")
}

// log begins a line about the connection. A logger of its own would cost every idle connection half a kilobyte.
func (r *relay) log(level zerolog.Level) *zerolog.Event {
	return r.server.log.WithLevel(level).Int64("connection", r.id).Str("client", r.watch.addr)
}

func (r *relay) summary(level zerolog.Level) *zerolog.Event {
	return r.log(level).Str("upstream", r.server.cfg.Address).
		Int64("bytes_from_client", r.fromClient.Load()).Int64("bytes_from_server", r.fromServer.Load())
}

// guard keeps a panic of the observation away from the bytes: the connection turns blind.
func (r *relay) guard(observe func()) {
	defer r.recovered()
	observe()
}

// recovered is deferred around every use of the observation.
func (r *relay) recovered() {
	v := recover()
	if v == nil {
		return
	}
	if r.wire.TurnBlind(thrift.BlindPanic) {
		r.server.counters.blind[thrift.BlindPanic].Add(1)
	}
	r.log(zerolog.ErrorLevel).Interface("panic", v).Bytes("stack", debug.Stack()).Msg("observation failed, connection is relayed without being observed")
}

func (r *relay) info() ConnectionInfo {
	return ConnectionInfo{
		ID: r.id, ClientAddr: r.watch.addr, OpenedAt: r.openedAt,
		BytesFromClient: r.fromClient.Load(), FromServer: r.fromServer.Load(),
		Blind: r.wire.Blind(), Waiting: r.wire.Waiting(),
	}
}
