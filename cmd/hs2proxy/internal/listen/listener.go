package listen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// settle is how long Yield watches whether connections still come here: longer than a handshake that is under way.
const settle = 500 * time.Millisecond

// Listener is a TCP listener that can give its share of new connections to another process. Yield may be called once.
type Listener struct {
	*net.TCPListener
	socket   *os.File // the listener's, to steer it while an event loop accepts; nil where it is not shared
	accepted atomic.Int64
	settle   time.Duration
}

// Open listens on address. With share it does so beside other processes of the same user that share it; the error tells when the
// system cannot.
func Open(ctx context.Context, address string, share bool) (*Listener, error) {
	var lc net.ListenConfig
	if share {
		lc.Control = control
		lc.SetMultipathTCP(false) // its sockets do not take the program that Yield attaches
	}
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	out := &Listener{TCPListener: l.(*net.TCPListener), settle: settle} // as "tcp" always is
	if share {
		if out.socket, err = out.File(); err != nil {
			_ = l.Close()
			return nil, fmt.Errorf("share the port: %w", err)
		}
		out.unsteer()
	}
	return out, nil
}

// Accept is the listener's own, counted.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.TCPListener.Accept()
	if err == nil {
		l.Accepted()
	}
	return c, err
}

// TCP is the listener itself, for one who accepts from its socket and says so by Accepted.
func (l *Listener) TCP() *net.TCPListener { return l.TCPListener }

// Accepted counts a connection.
func (l *Listener) Accepted() { l.accepted.Add(1) }

// Close closes the listener.
func (l *Listener) Close() error {
	err := l.TCPListener.Close()
	if l.socket != nil {
		_ = l.socket.Close()
	}
	return err
}

// ErrAlone: no other process takes the connections, or the system cannot hand them over.
var ErrAlone = errors.New("new connections still come here")

// Yield sends new connections to another process that listens on the same address, and returns once none comes here any more:
// closing the listener then refuses nobody. What the kernel had given us must be accepted meanwhile. A listener that is not
// shared returns nil at once; the error says why connections still come (ErrAlone, or ctx's).
//
// The kernel chooses by a number that the attached program returns: the place of a socket in its group, the oldest first. We do
// not know our own place, so we try the second, which is right for the older of two, and then the first.
func (l *Listener) Yield(ctx context.Context) error {
	if l.socket == nil {
		return nil
	}
	for _, place := range []uint32{1, 0} {
		if err := l.steer(place); err != nil {
			return fmt.Errorf("%w: %w", ErrAlone, err)
		}
		if err := l.wait(ctx); err != nil { // what was on its way to us arrives
			return err
		}
		before := l.accepted.Load()
		if err := l.wait(ctx); err != nil {
			return err
		}
		if l.accepted.Load() == before {
			return nil
		}
	}
	return ErrAlone
}

func (l *Listener) wait(ctx context.Context) error {
	timer := time.NewTimer(l.settle)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("hand over new connections: %w", ctx.Err())
	}
}
