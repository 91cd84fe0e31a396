package faults

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
)

// splitter sends the connections of the proxy's own user one way and those of clients another, so that a fault hits the former only.
type splitter struct {
	listener     net.Listener
	ours, theirs string
	work         sync.WaitGroup

	mu struct {
		sync.Mutex
		closed bool
		open   map[net.Conn]struct{}
	}
}

func split(t *testing.T, ours, theirs string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &splitter{listener: listener, ours: ours, theirs: theirs}
	s.mu.open = map[net.Conn]struct{}{}
	s.work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.work.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(s.close)
	return listener.Addr().String()
}

func (s *splitter) close() {
	_ = s.listener.Close()
	s.mu.Lock()
	s.mu.closed = true
	for conn := range s.mu.open {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.work.Wait()
}

func (s *splitter) keep(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.open[conn] = struct{}{}
	return !s.mu.closed
}

func (s *splitter) drop(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.open, conn)
	_ = conn.Close()
}

func (s *splitter) serve(conn net.Conn) {
	defer s.drop(conn)
	if !s.keep(conn) {
		return
	}
	in := bufio.NewReader(conn)
	var said bytes.Buffer
	var payload []byte
	for range 2 { // START and PLAIN's response
		var head [5]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return
		}
		payload = make([]byte, binary.BigEndian.Uint32(head[1:]))
		if _, err := io.ReadFull(in, payload); err != nil {
			return
		}
		said.Write(head[:])
		said.Write(payload)
	}
	to := s.theirs
	if bytes.HasPrefix(payload, []byte("\x00"+config.Default().Service.User+"\x00")) {
		to = s.ours
	}
	var d net.Dialer
	up, err := d.DialContext(context.Background(), "tcp", to)
	if err != nil {
		return
	}
	defer s.drop(up)
	if !s.keep(up) {
		return
	}
	var back sync.WaitGroup
	defer back.Wait()
	back.Go(func() {
		_, err := io.Copy(conn, up)
		end(conn, err)
	})
	_, err = io.Copy(up, io.MultiReader(&said, in))
	end(up, err)
}

// end passes on how the other direction ended.
func end(conn net.Conn, err error) {
	if err == nil {
		_ = conn.(*net.TCPConn).CloseWrite()
		return
	}
	_ = conn.Close()
}
