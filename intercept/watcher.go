package intercept

import (
	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/thrift"
)

// watcher is the thrift.Observer of one connection: the tracker's part, and what the server counts.
type watcher struct {
	*Connection
	relay *relay
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
