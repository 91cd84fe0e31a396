package hs2test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
)

// Recorder forwards connections and keeps what passes, so that two runs of a conversation can be compared.
type Recorder struct {
	listener net.Listener
	to       string
	work     sync.WaitGroup

	mu struct {
		sync.Mutex
		closed  bool
		open    map[net.Conn]struct{}
		records []*record
	}
}

type record struct{ fromClient, fromServer []byte }

// Record starts a Recorder in front of an address.
func Record(to string) (*Recorder, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	r := &Recorder{listener: listener, to: to}
	r.mu.open = map[net.Conn]struct{}{}
	r.work.Go(r.accept)
	return r, nil
}

// Addr is host:port.
func (r *Recorder) Addr() string { return r.listener.Addr().String() }

// Close cuts what is open and returns what each connection's sides said, in order of arrival.
func (r *Recorder) Close() (fromClient, fromServer [][]byte) {
	_ = r.listener.Close()
	r.mu.Lock()
	r.mu.closed = true
	for conn := range r.mu.open {
		_ = conn.Close()
	}
	r.mu.Unlock()
	r.work.Wait()
	for _, rec := range r.mu.records {
		fromClient, fromServer = append(fromClient, rec.fromClient), append(fromServer, rec.fromServer)
	}
	return fromClient, fromServer
}

func (r *Recorder) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		rec := &record{}
		r.mu.Lock()
		r.mu.records = append(r.mu.records, rec)
		r.mu.Unlock()
		r.work.Go(func() { r.forward(client, rec) })
	}
}

func (r *Recorder) forward(client net.Conn, rec *record) {
	defer r.forget(client)
	if !r.keep(client) {
		return
	}
	var d net.Dialer
	server, err := d.DialContext(context.Background(), "tcp", r.to)
	if err != nil {
		return
	}
	defer r.forget(server)
	if !r.keep(server) {
		return
	}
	var other sync.WaitGroup
	other.Go(func() { tee(server, client, &rec.fromClient) })
	tee(client, server, &rec.fromServer)
	other.Wait()
}

// keep notes a connection for Close; false when that has been called.
func (r *Recorder) keep(conn net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.open[conn] = struct{}{}
	return !r.mu.closed
}

func (r *Recorder) forget(conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.mu.open, conn)
	_ = conn.Close()
}

// tee forwards to the end of from, which it passes on: a half-close as such, anything else as a close.
func tee(to, from net.Conn, kept *[]byte) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		*kept = append(*kept, b[:n]...)
		if _, writeErr := to.Write(b[:n]); writeErr != nil {
			err = errors.Join(err, writeErr)
		}
		if err != nil {
			if half, ok := to.(*net.TCPConn); ok {
				_ = half.CloseWrite()
			}
			return
		}
	}
}
