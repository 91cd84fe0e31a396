package intercept

import (
	"sync/atomic"
	"time"

	"github.com/hs2proxy/hs2proxy/thrift"
)

// Stats is a snapshot of a Server's counters since its start.
type Stats struct {
	// Accepted connections, those open now, and those that ended with a failure of a side.
	Accepted, Open                    int64
	ClientFailures, UpstreamFailures  int64
	BytesFromClients, BytesFromServer int64
	// HTTP connections of those accepted, and of those open now, as far as they are followed.
	HTTP, OpenHTTP int64
	// Limited connections were refused at the door by a limit.
	Limited int64
	// Dials are attempts to connect to HiveServer2, FailedDials those of them without success.
	Dials, FailedDials int64
	// RefusedLogins were ended by HiveServer2 with BAD or ERROR.
	RefusedLogins int64
	// Blind counts connections that were relayed without being observed, by reason; reasons without one are missing.
	Blind map[thrift.BlindReason]int64
	// DecodeFailures are watched messages whose content could not be read.
	DecodeFailures int64
	// Added is what the observation of the bytes adds to their way.
	Added Latencies
	// Calls by method; methods never called are missing.
	Calls []CallStats
	// Tracker holds sessions, statements and dropped events.
	Tracker TrackerStats
}

// ConnectionInfo is a snapshot of one open connection.
type ConnectionInfo struct {
	ID         int64
	ClientAddr string
	// Server is the ID of the HiveServer2; empty before one is chosen.
	Server                      string
	OpenedAt                    time.Time
	BytesFromClient, FromServer int64
	// Blind is why the connection is not observed, NotBlind while it is; Waiting is how many calls wait for their reply.
	Blind   thrift.BlindReason
	Waiting int
}

// counters are the live form of Stats.
type counters struct {
	accepted, open                   atomic.Int64
	clientFailures, upstreamFailures atomic.Int64
	dials, failedDials               atomic.Int64
	refusedLogins                    atomic.Int64
	limited                          atomic.Int64
	http, openHTTP                   atomic.Int64
	decodeFailures                   atomic.Int64
	blind                            [256]atomic.Int64 // by thrift.BlindReason
	added                            latencies
	traffic                          allTraffic
}

func (c *counters) snapshot() Stats {
	s := Stats{
		Accepted: c.accepted.Load(), Open: c.open.Load(),
		ClientFailures: c.clientFailures.Load(), UpstreamFailures: c.upstreamFailures.Load(),
		HTTP: c.http.Load(), OpenHTTP: c.openHTTP.Load(),
		BytesFromClients: c.traffic.sum(func(f *traffic) *atomic.Int64 { return &f.bytesFromClients }),
		BytesFromServer:  c.traffic.sum(func(f *traffic) *atomic.Int64 { return &f.bytesFromServer }),
		Dials:            c.dials.Load(), FailedDials: c.failedDials.Load(),
		RefusedLogins: c.refusedLogins.Load(), Limited: c.limited.Load(), DecodeFailures: c.decodeFailures.Load(),
		Blind: map[thrift.BlindReason]int64{}, Calls: c.traffic.calls(), Added: c.added.snapshot(),
	}
	for _, reason := range thrift.BlindReasons() {
		if n := c.blind[reason].Load(); n > 0 {
			s.Blind[reason] = n
		}
	}
	return s
}
