package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive"
)

// login opens the socket and negotiates SASL where the authentication has it.
func login(ctx context.Context, c Config) (*socket, athrift.TTransport, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.DialTimeout, loginTimeout(c))
	defer cancel()
	s, err := dial(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	tcp := athrift.NewTSocketFromConnConf(s, thriftConfig(c))
	if c.Auth == "NOSASL" {
		return s, athrift.NewTBufferedTransport(tcp, 4096), nil
	}
	host, _, _ := net.SplitHostPort(c.Address)
	sasl, err := gohive.NewTSaslTransport(tcp, host, "PLAIN", map[string]string{"username": c.User, "password": c.Password}, c.MaxMessageSize)
	if err == nil {
		end := s.begin(ctx, 2*c.DialTimeout, 0) // ctx ends before
		err = loginError(ctx, s, sasl.Open())
		end()
	}
	if err != nil {
		_ = s.Close()
		return nil, nil, err
	}
	return s, sasl, nil
}

func loginTimeout(c Config) error {
	return fmt.Errorf("no login within %s: %w", c.DialTimeout, context.DeadlineExceeded)
}

// loginError finds the reason why a login failed: HiveServer2's refusal, the end of ctx, or the transport.
func loginError(ctx context.Context, s *socket, err error) error {
	if err == nil {
		return nil
	}
	if refusal := s.login.refusal(); refusal != nil {
		return refusal
	}
	return contextError(ctx, s.explain(err))
}

// thriftConfig bounds what Thrift reads. Validate has bounded the size.
func thriftConfig(c Config) *athrift.TConfiguration {
	size := int32(c.MaxMessageSize) //nolint:gosec // Validate refuses more than math.MaxInt32
	return &athrift.TConfiguration{MaxMessageSize: size, MaxFrameSize: size}
}

// errNotSASL is the answer of something else than a SASL server.
var errNotSASL = errors.New("the reply to the login is not SASL: an HTTP or TLS port, or authentication NOSASL?")

// The status of a SASL message, as TSaslTransport.NegotiationStatus has it.
const (
	saslOK       = 2
	saslBad      = 3
	saslError    = 4
	saslComplete = 5
)

// maxLoginMessage bounds a SASL message of the login; PLAIN's are a few hundred bytes.
const maxLoginMessage = 64 << 10

// loginGuard follows the SASL negotiation (status, 4-byte length, payload) and refuses what gohive would allocate for
// without a bound: the letters "HTTP" read as a length are 1.2 GB. It also keeps the reason of a refusal.
type loginGuard struct {
	header  [5]byte
	have    int    // bytes of the header
	payload uint32 // bytes of the payload still to come
	reason  []byte
	done    atomic.Bool
}

// see takes the next bytes of the connection.
func (g *loginGuard) see(p []byte) error {
	for len(p) > 0 && !g.done.Load() {
		if g.have < len(g.header) {
			n := copy(g.header[g.have:], p)
			g.have += n
			p = p[n:]
			if err := g.seeHeader(); err != nil {
				return err
			}
		} else {
			n := min(uint64(len(p)), uint64(g.payload))
			if g.header[0] != saslOK {
				g.reason = append(g.reason, p[:n]...)
			}
			g.payload -= uint32(n) //nolint:gosec // n is at most payload
			p = p[n:]
		}
		if g.have == len(g.header) && g.payload == 0 {
			g.done.Store(g.header[0] != saslOK)
			g.have = 0
		}
	}
	return nil
}

// seeHeader checks the header as far as it is there.
func (g *loginGuard) seeHeader() error {
	if g.header[0] < saslOK || g.header[0] > saslComplete {
		return errNotSASL
	}
	if g.have < len(g.header) {
		return nil
	}
	g.payload = uint32(g.header[1])<<24 | uint32(g.header[2])<<16 | uint32(g.header[3])<<8 | uint32(g.header[4])
	if g.payload > maxLoginMessage {
		return fmt.Errorf("%w (a message of %d bytes)", errNotSASL, g.payload)
	}
	return nil
}

// refusal is the server's no to the login, nil when it did not say so.
func (g *loginGuard) refusal() error {
	if g == nil || !g.done.Load() || g.header[0] != saslBad && g.header[0] != saslError {
		return nil
	}
	return &Error{SQLState: "08004", Message: "login refused: " + string(g.reason)}
}
