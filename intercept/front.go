package intercept

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/limit"
	"github.com/hs2proxy/hs2proxy/intercept/proxyheader"
	"github.com/hs2proxy/hs2proxy/intercept/upstream"
	"github.com/hs2proxy/hs2proxy/thrift"
)

// transportOf is where such a connection goes. TLS that is passed through may hide either; it goes where binary clients go.
func transportOf(o thrift.Opening) upstream.Transport {
	if o == thrift.OpeningHTTP {
		return upstream.HTTP
	}
	return upstream.Binary
}

// eager reports whether HiveServer2 can be connected to before the client has said anything: nothing depends on its first bytes.
func (s *Server) eager(peer netip.AddrPort) bool {
	if s.cfg.ClientTLS != nil || s.proxied(peer) {
		return false
	}
	list := s.listed(upstream.Binary)
	return len(list) == 1 && addressOf(list[0], upstream.HTTP) == addressOf(list[0], upstream.Binary) && !s.routed()
}

// routed reports whether the requests of an HTTP connection may go to different servers: there are several, or a session is on one
// that is not listed any more.
func (s *Server) routed() bool {
	list := s.listed(upstream.HTTP)
	return len(list) > 1 || len(list) == 1 && s.affinity.beside(list[0].ID)
}

// candidates are the servers to try, in that order. One that is known for a single transport serves all clients: what they speak is
// theirs to know.
func (s *Server) candidates(t upstream.Transport) []*upstream.Server {
	if list := s.cfg.Servers.Candidates(t); len(list) > 0 {
		return list
	}
	return s.cfg.Servers.Candidates(1 - t)
}

// listed are the same servers, in no order.
func (s *Server) listed(t upstream.Transport) []*upstream.Server {
	if list := s.cfg.Servers.Listed(t); len(list) > 0 {
		return list
	}
	return s.cfg.Servers.Listed(1 - t)
}

// addressOf is where a server is reached for a transport, by the same rule.
func addressOf(server *upstream.Server, t upstream.Transport) string {
	if a := server.Address(t); a != "" {
		return a
	}
	return server.Address(1 - t)
}

// readProxyHeader takes the PROXY header from the first bytes of a connection: n are its own. more asks for more of them.
func (r *relay) readProxyHeader(b []byte) (n int, more bool, err error) {
	h, n, state := proxyheader.Parse(b)
	switch state {
	case proxyheader.NeedMore:
		return 0, true, nil
	case proxyheader.Complete:
		if !h.Local {
			r.source, r.reached = h.Source, h.Destination
			r.watch.from(r.source.String())
		}
		return n, false, r.ticket.Move(r.source.Addr())
	default:
		return 0, false, errProxyHeader
	}
}

// proxyHeader is what a connection to HiveServer2 begins with, nil where it does not: the client, and where it connected to.
func (r *relay) proxyHeader() []byte {
	version := r.server.cfg.SendProxyHeader
	if version == 0 {
		return nil
	}
	from, err := netip.ParseAddrPort(r.watch.clientAddr())
	if err != nil { // an address without a port, from X-Forwarded-For
		addr, _ := netip.ParseAddr(r.watch.clientAddr())
		from = netip.AddrPortFrom(addr, 0)
	}
	return proxyheader.Append(nil, version, from, r.reached)
}

// limited reports the limit that refuses the login which has just been observed, and what tells the client so in its own
// protocol; nil where there is no such thing.
func (r *relay) limited() (*limit.Exceeded, []byte) {
	e := r.refusal.Load()
	if e == nil {
		return nil, nil
	}
	if r.watch.seen().Transport == thrift.HTTP && r.fromServer.Load() > 0 {
		return e, nil // in the middle of a conversation
	}
	return e, r.wire.Refusal(e.Error())
}

// front is the part of a pumped connection before its bytes are relayed.
type front struct {
	*relay
	client net.Conn
	first  []byte // read and not yet shown to the observation
}

// open waits for the first bytes, reads a PROXY header and ends TLS, as configured. It returns what the client's bytes begin with.
func (f *front) open(ctx context.Context) (thrift.Opening, error) {
	if len(f.first) == 0 && f.server.eager(f.peer) {
		return thrift.OpeningUnknown, nil
	}
	_ = f.client.SetReadDeadline(time.Now().Add(f.server.cfg.LoginTimeout))
	defer func() { _ = f.client.SetReadDeadline(time.Time{}) }()
	if f.server.proxied(f.peer) && !f.hasProxyHeader() {
		for more := true; more; {
			if err := f.read(); err != nil {
				return 0, err
			}
			var n int
			var err error
			if n, more, err = f.readProxyHeader(f.first); err != nil {
				return 0, err
			}
			f.first = f.first[n:]
		}
	}
	if len(f.first) == 0 {
		if err := f.read(); err != nil {
			return 0, err
		}
	}
	o := thrift.OpeningOf(f.first[0])
	switch {
	case o == thrift.OpeningTLS && f.server.cfg.ClientTLS != nil:
		conn := tls.Server(&replayed{f.client, f.first}, f.server.cfg.ClientTLS)
		if err := conn.HandshakeContext(ctx); err != nil {
			return 0, fmt.Errorf("TLS handshake: %w", err)
		}
		f.client, f.first = conn, nil
		if err := f.read(); err != nil {
			return 0, err
		}
		o = thrift.OpeningOf(f.first[0])
	case f.server.cfg.TLSRequired:
		return 0, errTLSRequired
	}
	return o, nil
}

// hasProxyHeader: an event loop has read it before it handed the connection over.
func (f *front) hasProxyHeader() bool { return len(f.first) > 0 }

// read appends to first what the client sends next.
func (f *front) read() error {
	buffer := buffers.Get().(*[bufferSize]byte)
	defer func() {
		clear(buffer[:]) // there may be a password in it
		buffers.Put(buffer)
	}()
	n, err := f.client.Read(buffer[:])
	if n > 0 {
		f.first = append(f.first, buffer[:n]...)
		return nil
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errSlowLogin
	case errors.Is(err, syscall.ECONNRESET) && len(f.first) == 0:
		return io.EOF // it was a look whether we are there
	default:
		return err
	}
}

// replayed is a connection of which the first bytes have been read already.
type replayed struct {
	net.Conn
	first []byte
}

// Read gives the first bytes again.
func (c *replayed) Read(p []byte) (int, error) {
	if len(c.first) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.first)
	c.first = c.first[n:]
	return n, nil
}

// dial connects to the first candidate that can be reached.
func (r *relay) dial(ctx context.Context, t upstream.Transport) (net.Conn, *upstream.Server, error) {
	err := errNoServer
	for _, server := range r.server.candidates(t) {
		var conn net.Conn
		if conn, err = r.dialServer(ctx, server, t); err == nil {
			return conn, server, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, nil, err
}

// dialServer connects to one server, TLS and PROXY header included. The caller calls server.Closed when it closes the connection.
func (r *relay) dialServer(ctx context.Context, server *upstream.Server, t upstream.Transport) (conn net.Conn, err error) {
	s := r.server
	ctx, cancel := context.WithTimeout(ctx, s.cfg.DialTimeout)
	defer cancel()
	r.via(server)
	server.Opened()
	defer func() {
		s.dialed(server, err)
		if err != nil {
			server.Closed()
		}
	}()
	address := addressOf(server, t)
	raw, err := s.dial(ctx, address)
	if err != nil {
		return nil, err
	}
	if header := r.proxyHeader(); header != nil {
		if _, err := raw.Write(header); err != nil {
			_ = raw.Close()
			return nil, fmt.Errorf("PROXY header: %w", err)
		}
	}
	if s.cfg.ServerTLS == nil {
		return raw, nil
	}
	host, _, _ := net.SplitHostPort(address)
	secured := tls.Client(raw, s.cfg.ServerTLS(host))
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	return secured, nil
}
