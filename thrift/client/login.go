package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	athrift "github.com/apache/thrift/lib/go/thrift"
)

// link is a way to HiveServer2 that has logged in. One call at a time goes over it; only Close may come from elsewhere.
type link interface {
	athrift.TTransport
	// begin starts a call that may take timeout, and grace from the moment ctx ends. The caller calls end behind it.
	begin(ctx context.Context, timeout, grace time.Duration) (end func())
	// explain returns the cause of a transport error in place of what gohive or Thrift made of it.
	explain(err error) error
	// broken reports whether a transport error was seen.
	broken() bool
}

// binaryLink is a socket with Thrift's framing, if any, over it.
type binaryLink struct {
	athrift.TTransport
	*socket
}

// The methods that both halves have.

func (l binaryLink) Read(p []byte) (int, error)  { return l.TTransport.Read(p) }
func (l binaryLink) Write(p []byte) (int, error) { return l.TTransport.Write(p) }
func (l binaryLink) Close() error                { return l.socket.Close() }

// login connects and authenticates within Config.DialTimeout.
func login(ctx context.Context, c Config) (link, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.DialTimeout, fmt.Errorf("no login within %s: %w", c.DialTimeout, context.DeadlineExceeded))
	defer cancel()
	if c.http() {
		return loginHTTP(ctx, c)
	}
	m, err := newMechanism(ctx, c)
	if err != nil {
		return nil, err
	}
	s, err := dial(ctx, c)
	if err != nil {
		return nil, contextError(ctx, err)
	}
	tcp := athrift.NewTSocketFromConnConf(s, thriftConfig(c))
	if m == nil {
		return binaryLink{athrift.NewTBufferedTransport(tcp, 4096), s}, nil
	}
	end := s.begin(ctx, 2*c.DialTimeout, 0) // ctx ends before
	err = negotiate(s, m)
	end()
	if err != nil {
		_ = s.Close()
		if refusal := (*Error)(nil); c.Auth == "KERBEROS" && errors.As(err, &refusal) {
			refusal.Message += " (HiveServer2 took the ticket ill: its log tells whether its keytab is outdated or the clocks differ)"
		}
		return nil, contextError(ctx, err)
	}
	return binaryLink{athrift.NewTFramedTransportConf(tcp, thriftConfig(c)), s}, nil
}

// newMechanism is the SASL mechanism for Config.Auth, nil for NOSASL. For KERBEROS it asks the KDC for a ticket: without
// one, HiveServer2 need not be bothered.
func newMechanism(ctx context.Context, c Config) (mechanism, error) {
	switch c.Auth {
	case "NOSASL":
		return nil, nil
	case "KERBEROS":
		k, err := newKerberos(c)
		if err != nil {
			return nil, err
		}
		defer k.destroy()
		return newGSSAPI(ctx, k)
	default:
		return &plain{user: c.User, password: c.Password}, nil
	}
}

// thriftConfig bounds what Thrift reads. Validate has bounded the size.
func thriftConfig(c Config) *athrift.TConfiguration {
	size := int32(c.MaxMessageSize) //nolint:gosec // Validate refuses more than math.MaxInt32
	return &athrift.TConfiguration{MaxMessageSize: size, MaxFrameSize: size}
}
