package intercept

import (
	"errors"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/intercept/limit"
	"github.com/hs2proxy/hs2proxy/intercept/proxyheader"
	"github.com/hs2proxy/hs2proxy/thrift"
)

// watcher is the thrift.Observer of one connection: the tracker's part, and what the server counts.
type watcher struct {
	*Connection
	relay *relay
}

// Login hands the login on. Who the client says it is counts once HiveServer2 has agreed.
func (w *watcher) Login(l thrift.Login) {
	r := w.relay
	if l.Transport == thrift.HTTP && !r.http.Swap(true) {
		r.server.counters.http.Add(1)
		r.server.counters.openHTTP.Add(1)
	}
	// The sender of the bytes is judged, not the balancer that carried them and said so in a PROXY header.
	if trusted := r.server.cfg.Trusted; trusted.Contains(r.source.Addr()) {
		from, text := proxyheader.ForwardedFor(l.ForwardedFor, r.source.Addr(), trusted), r.source.String()
		if from != r.source.Addr() {
			text = from.String()
		}
		w.from(text) // the request before may have been another client's
		w.limit(r.ticket.Move(from))
	}
	w.Connection.Login(l)
}

// limit has the relay end the connection when err is a limit's.
func (w *watcher) limit(err error) {
	var exceeded *limit.Exceeded
	if errors.As(err, &exceeded) {
		w.relay.refusal.Store(exceeded)
	}
}

// judged counts the login that an HTTP response is about. One without credentials is refused as part of every negotiation.
func (w *watcher) judged(status int) {
	login := w.seen()
	switch {
	case status/100 == 2:
		w.limit(w.relay.ticket.Login(login.User))
	case (status == 401 || status == 403) && login.Mechanism != "":
		w.relay.server.counters.refusedLogins.Add(1)
		w.limit(w.relay.ticket.LoginFailed())
	}
}

// Blind counts the connection.
func (w *watcher) Blind(reason thrift.BlindReason) {
	w.relay.server.counters.blind[reason].Add(1)
	w.relay.log(zerolog.InfoLevel).Stringer("reason", reason).Msg("connection is relayed without being observed")
}

// DecodeFailed counts the message; the bytes have gone on.
func (w *watcher) DecodeFailed(side thrift.Side, m thrift.Method, err error) {
	w.relay.server.counters.decodeFailures.Add(1)
	w.relay.log(zerolog.DebugLevel).Stringer("side", side).Stringer("method", m).Err(err).Msg("message could not be decoded")
}
