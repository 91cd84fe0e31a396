package upstream

import (
	"sync"
	"sync/atomic"
	"time"
)

// Transport is hive.server2.transport.mode as a client speaks it.
type Transport uint8

// The two transports; a HiveServer2 in mode "all" has a port for each.
const (
	Binary Transport = iota
	HTTP
)

// String is hive.server2.transport.mode's word.
func (t Transport) String() string {
	if t == HTTP {
		return "http"
	}
	return "binary"
}

// Server is one HiveServer2 of a Set. Its fields never change: a server that publishes other addresses is a new Server with the
// same ID, and both count the same connections.
type Server struct {
	// ID names the server within its Set and stays over its restarts: what the configuration says, or the host:port of its znode.
	ID string
	// Binary and HTTP are host:port of the two transports; empty where the server does not speak one.
	Binary, HTTP string
	// Published is what the server says about itself in ZooKeeper; zero in a static Set.
	Published Published

	*live
}

// Published are the settings that a HiveServer2 publishes with its address when hive.server2.zookeeper.publish.configs is true
// (HiveServer2.addConfsToPublish). Version is there in any case.
type Published struct {
	Version        string // of Hive
	TransportMode  string // hive.server2.transport.mode
	Authentication string // hive.server2.authentication
	Principal      string // hive.server2.authentication.kerberos.principal; with _HOST not replaced
	SASLQOP        string // hive.server2.thrift.sasl.qop
	HTTPPath       string // hive.server2.thrift.http.path
	TLS            bool   // hive.server2.use.SSL
}

// live is what all Servers of the same ID share.
type live struct {
	open   atomic.Int64
	listed atomic.Bool
	// retryAt is 0 while the server is healthy, else the end of its back-off in Unix nanoseconds. Changed under health.mu, except
	// by a candidate that takes the one try after the back-off.
	retryAt atomic.Int64
	trial   atomic.Bool // such a candidate has not told yet how its try went
	health  struct {
		mu       sync.Mutex
		failures int // in a row, each after the back-off of the one before
		lastDial Dial
	}
}

// Address is host:port for a transport, or empty.
func (s *Server) Address(t Transport) string {
	if t == HTTP {
		return s.HTTP
	}
	return s.Binary
}

// Opened counts a connection to the server. Call it when the dial begins rather than when it has succeeded: connects at the same
// moment then spread over the servers.
func (s *Server) Opened() { s.open.Add(1) }

// Closed takes back one Opened, whether the dial failed or the connection has ended.
func (s *Server) Closed() { s.open.Add(-1) }

// Open is the number of connections.
func (s *Server) Open() int64 { return s.open.Load() }

// Listed reports whether the server still takes new connections: it is in the configuration, or registered in ZooKeeper. One that
// was deregistered (hive --service hiveserver2 --deregister) goes on serving the sessions it has.
func (s *Server) Listed() bool { return s.listed.Load() }

// Dial is the outcome of an attempt to connect to a server.
type Dial struct {
	// At is zero when there was no attempt yet.
	At  time.Time
	Err error
}

// Status is a server at one moment, for display.
type Status struct {
	*Server
	Open     int64
	LastDial Dial
	// DownUntil is the end of the back-off after a failed dial; zero while the server is healthy. It may be past: the server is
	// then tried with the next connect, or with Options.Probe by the next check.
	DownUntil time.Time
	Listed    bool
}
