package intercept

import (
	"context"
	"errors"
	"io"

	"github.com/hs2proxy/hs2proxy/intercept/limit"
	"github.com/hs2proxy/hs2proxy/thrift"
)

// Phases in which a connection fails, as log lines name them.
const (
	phaseConnect = "connect"
	phaseLogin   = "login" // nothing came in time, a TLS handshake failed, a PROXY header was bad
	phaseLimit   = "limit" // one of ours was reached
	phaseRead    = "read"
	phaseWrite   = "write"
	phaseLength  = "length"
	phaseCall    = "call" // a side closed while a call waited for its reply, or within a message
)

var (
	errNoServer     = errors.New("no HiveServer2 is known for this transport")
	errSlowLogin    = errors.New("no login within the time for it")
	errProxyHeader  = errors.New("no PROXY header, although clients.proxy_protocol expects one from this network")
	errTLSRequired  = errors.New("no TLS, although clients.tls.required demands it")
	errClosedInCall = errors.New("closed the connection in the middle of a call")
)

// failure is why a connection ended before its time.
type failure struct {
	side  thrift.Side
	phase string
	err   error
}

// advice tells the operator what to do about it.
func (f *failure) advice() string {
	client := f.side == thrift.Client
	switch f.phase {
	case phaseConnect:
		return "check that HiveServer2 runs at this address and that this host may connect to it"
	case phaseLogin:
		return "find out what speaks to this port and how: TLS, a PROXY header, or neither (clients.tls, clients.proxy_protocol, clients.login_timeout)"
	case phaseLimit:
		return "nothing, if the limit does what it is for; else raise it"
	case phaseLength:
		if client {
			return "find out what speaks to this port; raise the limit, and hive.server2.thrift.max.message.size with it, if a client really sends this much"
		}
		return "raise the limit of replies if HiveServer2 really sends this much, or fetch fewer rows at a time"
	default:
		if client {
			return "nothing, if the client was stopped; else look for its own error, or for a firewall in between"
		}
		return "look into HiveServer2's log at this time: it restarted, died or closed the connection; clients would have seen the same without the proxy"
	}
}

// isLimit reports whether a limit of ours refused the connection.
func isLimit(err error) bool {
	var e *limit.Exceeded
	return errors.As(err, &e)
}

// ordinary reports whether err only says that the connection is over.
func ordinary(err error) bool {
	return err == nil || errors.Is(err, io.EOF) || errors.Is(err, context.Canceled)
}
