package client

import (
	"context"
	"net"
	"time"
)

// wire shows a link that has logged in to gohive as a bare connection (NOSASL), so that one login serves both kinds of
// connection. Thrift asks and then reads the answer: a read behind writes is where the call ends.
type wire struct {
	link
	unsent bool
}

func (w *wire) Write(p []byte) (int, error) {
	w.unsent = true
	return w.link.Write(p)
}

func (w *wire) Read(p []byte) (int, error) {
	if w.unsent {
		w.unsent = false
		if err := w.Flush(context.Background()); err != nil {
			return 0, err
		}
	}
	return w.link.Read(p)
}

// What else a net.Conn has, and gohive does not use. The link has its own deadlines.

func (w *wire) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (w *wire) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (w *wire) SetDeadline(time.Time) error      { return nil }
func (w *wire) SetReadDeadline(time.Time) error  { return nil }
func (w *wire) SetWriteDeadline(time.Time) error { return nil }
