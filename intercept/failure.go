package intercept

import (
	"context"
	"errors"
	"io"

	"github.com/hs2proxy/hs2proxy/thrift"
)

// Phases in which a connection fails, as log lines name them.
const (
	phaseConnect = "connect"
	phaseRead    = "read"
	phaseWrite   = "write"
	phaseLength  = "length"
	phaseCall    = "call" // a side closed while a call waited for its reply, or within a message
)

var errClosedInCall = errors.New("closed the connection in the middle of a call")

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

// ordinary reports whether err only says that the connection is over.
func ordinary(err error) bool {
	return err == nil || errors.Is(err, io.EOF) || errors.Is(err, context.Canceled)
}
