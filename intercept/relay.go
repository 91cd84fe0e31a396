package intercept

import (
	"net"
	"net/netip"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/intercept/limit"
	"github.com/hs2proxy/hs2proxy/intercept/upstream"
	"github.com/hs2proxy/hs2proxy/thrift"
)

// relay is one client connection and its connection to HiveServer2: what is known of them, and how they end. A carrier moves the
// bytes.
type relay struct {
	server   *Server
	id       int64
	openedAt time.Time
	peer     netip.AddrPort // the connection's own; the client's is watch's
	source   netip.AddrPort // peer, or what its PROXY header says
	reached  netip.AddrPort // where the client connected to, known where HiveServer2 is told
	watch    watcher
	wire     *thrift.Conn
	ticket   limit.Ticket
	traffic  *traffic // of the server's counters

	fromClient, fromServer atomic.Int64
	// loggedIn: the login has been judged. Only the goroutine of HiveServer2's bytes touches it.
	loggedIn bool
	// http: counted as HTTP.
	http atomic.Bool
	// refusal is set when a limit refuses the login that is passing.
	refusal atomic.Pointer[limit.Exceeded]

	// retired: end the connection when its client waits for nothing.
	retired atomic.Bool

	mu struct {
		sync.Mutex
		carrier  carrier
		upstream *upstream.Server // from the first attempt to connect on
		cut      bool
		failure  *failure // the first
	}
}

// carrier moves the bytes of a relay: an event loop's connection, or two goroutines.
type carrier interface {
	// close ends both connections; from any goroutine, more than once.
	close()
}

// begin makes r the relay of a client and registers it, unless the Server is closing or a limit is reached. clientAddr is what
// RemoteAddr says, also for connections that are not TCP's.
func (s *Server) begin(r *relay, peer netip.AddrPort, clientAddr string) bool {
	r.server, r.peer, r.source, r.openedAt = s, peer, peer, s.now()
	addr := peer.Addr()
	if s.proxied(peer) {
		addr = netip.Addr{} // it comes with the PROXY header
	}
	var err error
	if r.ticket, err = s.cfg.Limiter.Connect(addr); err != nil {
		s.refused(peer, err)
		return false
	}
	r.watch = watcher{Connection: s.tracker.Connect(clientAddr), relay: r}
	r.wire = thrift.NewConn(s.cfg.Limits, &r.watch)
	if !s.add(r) {
		r.ticket.Release()
		return false
	}
	return true
}

// proxied reports whether connections from this peer begin with a PROXY header.
func (s *Server) proxied(peer netip.AddrPort) bool {
	return s.cfg.ReadProxyHeader && s.cfg.Trusted.Contains(peer.Addr())
}

// carry says who moves the bytes now. It is false when the relay has been cut meanwhile.
func (r *relay) carry(c carrier) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.carrier = c
	return !r.mu.cut
}

// via notes the HiveServer2 that is being connected to.
func (r *relay) via(server *upstream.Server) {
	r.mu.Lock()
	r.mu.upstream = server
	r.mu.Unlock()
	r.watch.via(server.ID)
}

// note keeps the first reason why the connection ends; that we refused a length is one of its own, whatever came before.
func (r *relay) note(f *failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if (r.mu.failure == nil || f.phase == phaseLength) && !r.mu.cut {
		r.mu.failure = f
	}
}

// cut ends the connection for the proxy's own reasons.
func (r *relay) cut() {
	r.mu.Lock()
	r.mu.cut = true
	c := r.mu.carrier
	r.mu.Unlock()
	if c != nil {
		c.close()
	}
}

// end is called once, when both sides are closed and nothing moves any more: it tells the tracker, counts and logs.
func (r *relay) end() {
	s := r.server
	defer s.remove(r)
	r.guard(r.watch.Close)
	if r.wire.Refused() && r.watch.seen().Transport == thrift.Binary { // HTTP's were counted one by one
		s.counters.refusedLogins.Add(1)
		_ = r.ticket.LoginFailed()
	}
	if r.http.Load() {
		s.counters.openHTTP.Add(-1)
	}
	r.wire.Release()
	r.ticket.Release()

	r.mu.Lock()
	f := r.mu.failure
	r.mu.Unlock()
	if f == nil || ordinary(f.err) {
		if e := r.log(zerolog.DebugLevel); e != nil {
			r.summary(e).Bool("login_refused", r.wire.Refused()).Msg("connection ended")
		}
		return
	}
	switch {
	case f.phase == phaseLimit: // counted by the limiter
	case f.side == thrift.Client:
		s.counters.clientFailures.Add(1)
	default:
		s.counters.upstreamFailures.Add(1)
	}
	r.summary(r.log(zerolog.WarnLevel)).Stringer("side", f.side).Str("phase", f.phase).Err(f.err).Str("advice", f.advice()).
		Msg("connection failed")
}

// log begins a line about the connection, nil where nobody reads that level. A logger of its own would cost every idle
// connection half a kilobyte.
func (r *relay) log(level zerolog.Level) *zerolog.Event {
	if r.server.log.GetLevel() > level || zerolog.GlobalLevel() > level {
		return nil
	}
	return r.server.log.WithLevel(level).Int64("connection", r.id).Str("client", r.watch.clientAddr())
}

func (r *relay) summary(e *zerolog.Event) *zerolog.Event {
	r.mu.Lock()
	server := r.mu.upstream
	r.mu.Unlock()
	if server != nil {
		e = e.Str("upstream", server.ID)
	}
	return e.Int64("bytes_from_client", r.fromClient.Load()).Int64("bytes_from_server", r.fromServer.Load())
}

// observe shows b, the next bytes of a side, to the observation. n of them may go on; the error is a refused length. coming is
// how many of the bytes after them need not be shown. A panic turns the connection blind.
func (r *relay) observe(stream *thrift.Stream, b []byte) (n int, coming int64, err error) {
	n = len(b) // what stays after a panic
	defer r.recovered()
	if n, err = stream.Feed(b); err == nil && n == len(b) {
		coming = stream.Skip()
	}
	return n, coming, err
}

// judge looks, with each of HiveServer2's answers that has been observed, whether the login is over. Then the user counts.
func (r *relay) judge() {
	if r.loggedIn || r.wire.LoggingIn() {
		return
	}
	r.loggedIn = true
	if !r.wire.Refused() {
		r.guard(func() { r.watch.limit(r.ticket.Login(r.watch.seen().User)) })
	}
}

// finished tells the observation that a side has sent its last byte.
func (r *relay) finished(stream *thrift.Stream) { r.guard(stream.End) }

// advance accounts for n bytes that were moved without being shown, and says how many more may be.
func (r *relay) advance(stream *thrift.Stream, n int64) (coming int64) {
	defer r.recovered()
	stream.Advance(n)
	return stream.Skip()
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

// interrupted reports whether an end now leaves a call without its reply or a message without its end.
func (r *relay) interrupted() bool {
	return r.wire.Waiting() > 0 || r.wire.Stream(thrift.Client).Inside() || r.wire.Stream(thrift.HiveServer2).Inside()
}

// missed reports whether an end of this side's bytes, now, leaves the other with less than it should have had. Clients over HTTP
// that make a connection for each call close it when they have the message, before the end of the response that it came in.
func (r *relay) missed(side thrift.Side) bool {
	if side == thrift.Client && r.watch.seen().Transport == thrift.HTTP {
		return r.wire.Waiting() > 0 || r.wire.Stream(thrift.Client).Inside()
	}
	return r.interrupted()
}

// noteUnread notes that the client takes no more of what HiveServer2 says, unless it has left with all that it asked for (missed).
func (r *relay) noteUnread(f *failure, clientEnded bool) {
	if !clientEnded || r.missed(thrift.Client) || r.watch.seen().Transport != thrift.HTTP {
		r.note(f)
	}
}

// idle reports whether the client waits for nothing. A blind connection never is: its calls are not known.
func (r *relay) idle() bool { return !r.interrupted() && r.wire.Blind() == thrift.NotBlind }

// count adds bytes that have been forwarded.
func (r *relay) count(side thrift.Side, n int64) {
	if side == thrift.Client {
		r.fromClient.Add(n)
		r.traffic.bytesFromClients.Add(n)
		return
	}
	r.fromServer.Add(n)
	r.traffic.bytesFromServer.Add(n)
}

func (r *relay) info() ConnectionInfo {
	info := ConnectionInfo{
		ID: r.id, ClientAddr: r.watch.clientAddr(), OpenedAt: r.openedAt,
		BytesFromClient: r.fromClient.Load(), FromServer: r.fromServer.Load(),
		Blind: r.wire.Blind(), Waiting: r.wire.Waiting(),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.upstream != nil {
		info.Server = r.mu.upstream.ID
	}
	return info
}

// tcpAddr is the address of a connection, not valid for one that is not TCP's.
func tcpAddr(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		p := t.AddrPort()
		return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
	}
	return netip.AddrPort{}
}
