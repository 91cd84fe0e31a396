package hs2test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	athrift "github.com/apache/thrift/lib/go/thrift"
)

// authCookie is the cookie by which HiveServer2 knows a client that logged in before.
const authCookie = "hive.server2.auth"

// serveHTTP answers one call a request, as ThriftHttpServlet does, until the server is closed.
func (s *Server) serveHTTP() {
	server := &http.Server{
		Handler: http.HandlerFunc(s.post), ReadHeaderTimeout: time.Minute,
		ConnState: func(conn net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				s.opened(conn)
			case http.StateClosed, http.StateHijacked:
				s.mu.Lock()
				delete(s.mu.conns, conn)
				s.mu.Unlock()
			default:
			}
		},
	}
	_ = server.Serve(s.listener) // ends when the listener is closed
	_ = server.Close()
}

// post answers a request. An Override that fails breaks the connection.
func (s *Server) post(w http.ResponseWriter, r *http.Request) {
	w.Header()["Date"] = nil // runs of one conversation shall be alike
	user, ok := s.httpUser(r)
	if !ok {
		w.Header().Set("WWW-Authenticate", `Basic realm="hive"`)
		http.Error(w, "Authentication Error: Error validating the login", http.StatusUnauthorized)
		return
	}
	s.mu.Lock()
	ctx := s.ctx
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.Context(), cancel)()

	call, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	in := &athrift.TMemoryBuffer{Buffer: bytes.NewBuffer(call)}
	out := athrift.NewTMemoryBuffer()
	c := &connection{server: s, user: user, opened: map[[16]byte]struct{}{}}
	conf := &athrift.TConfiguration{MaxMessageSize: maxMessage}
	if err := c.call(ctx, processors(&service{connection: c}), athrift.NewTBinaryProtocolConf(in, conf), athrift.NewTBinaryProtocolConf(out, conf)); err != nil {
		panic(http.ErrAbortHandler)
	}
	if _, err := r.Cookie(authCookie); errors.Is(err, http.ErrNoCookie) {
		http.SetCookie(w, &http.Cookie{Name: authCookie, Value: "cu=" + user, HttpOnly: true, Secure: false, SameSite: http.SameSiteStrictMode}) //nolint:gosec // no TLS here
	}
	w.Header().Set("Content-Type", "application/x-thrift")
	_, _ = w.Write(out.Bytes())
}

// httpUser is who sends the request: by Basic, or by the cookie of an earlier reply.
func (s *Server) httpUser(r *http.Request) (string, bool) {
	if cookie, err := r.Cookie(authCookie); err == nil && len(cookie.Value) > len("cu=") {
		return cookie.Value[len("cu="):], true
	}
	user, password, ok := r.BasicAuth()
	if !ok {
		return "", false
	}
	return user, s.accepts(user, password)
}
