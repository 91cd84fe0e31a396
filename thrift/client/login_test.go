package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// saslMessage is a negotiation message.
func saslMessage(status byte, payload string) string {
	n := len(payload)
	return string([]byte{status, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) + payload
}

// replying reads the client's START and response, then sends reply.
func replying(reply string) func(net.Conn) {
	return func(conn net.Conn) {
		// START "PLAIN" and the response NUL "u" NUL "hunter2".
		if _, err := io.ReadFull(conn, make([]byte, 5+5+5+1+1+1+7)); err != nil {
			return
		}
		_, _ = io.WriteString(conn, reply)
		_, _ = io.Copy(io.Discard, conn)
	}
}

func TestLogin(t *testing.T) {
	c, err := Dial(t.Context(), listen(t, replying(saslMessage(saslComplete, ""))))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestLoginFails(t *testing.T) {
	tests := map[string]struct {
		reply   string
		refusal string // the message of an Error
		want    error
	}{
		"wrong password": {saslMessage(saslBad, "Error validating the login"), "login refused: Error validating the login", nil},
		"server error":   {saslMessage(saslError, ""), "login refused: ", nil},
		"HTTP":           {"HTTP/1.1 400 Bad Request\r\n\r\n", "", errNotSASL},
		"TLS alert":      {"\x15\x03\x01\x00\x02\x02\x46", "", errNotSASL},
		"huge message":   {"\x02\x7f\xff\xff\xff", "", errNotSASL},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			config := listen(t, replying(tt.reply))
			for kind, open := range map[string]func() error{
				"Dial": func() error { _, err := Dial(t.Context(), config); return err },
				"Open": func() error { _, err := Open(t.Context(), config, nil); return err },
			} {
				err := open()
				var refusal *Error
				switch {
				case err == nil:
					t.Errorf("%s: want an error", kind)
				case tt.want != nil && !errors.Is(err, tt.want):
					t.Errorf("%s: error %v, want %v", kind, err, tt.want)
				case tt.want == nil && (!errors.As(err, &refusal) || refusal.Message != tt.refusal):
					t.Errorf("%s: error %v, want the refusal %q", kind, err, tt.refusal)
				case strings.Contains(err.Error(), "hunter2"):
					t.Errorf("%s: the error shows the password: %v", kind, err)
				case !strings.HasPrefix(err.Error(), "HiveServer2 "+config.Address):
					t.Errorf("%s: error %q does not name the server", kind, err)
				}
			}
		})
	}
}

func TestLoginHangs(t *testing.T) {
	config := listen(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	config.DialTimeout = 20 * time.Millisecond
	if _, err := Dial(t.Context(), config); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Dial: %v, want the deadline", err)
	}
	if _, err := Open(t.Context(), config, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Open: %v, want the deadline", err)
	}
	asked := make(chan struct{}, 1)
	config = listen(t, func(conn net.Conn) {
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			asked <- struct{}{}
		}
		_, _ = io.Copy(io.Discard, conn)
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if _, err := Open(ctx, config, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: %v, want the context's end", err)
	}
}

func TestNobodyListens(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config := Config{Address: listener.Addr().String(), Auth: "NONE", User: "u"}
	_ = listener.Close()
	if _, err := Dial(t.Context(), config); err == nil || !strings.Contains(err.Error(), config.Address) {
		t.Errorf("Dial: %v", err)
	}
	if _, err := Open(t.Context(), config, nil); err == nil || !strings.Contains(err.Error(), config.Address) {
		t.Errorf("Open: %v", err)
	}
	for _, open := range []func(Config) error{
		func(c Config) error { _, err := Dial(t.Context(), c); return err },
		func(c Config) error { _, err := Open(t.Context(), c, nil); return err },
	} {
		if err := open(Config{}); err == nil || !strings.Contains(err.Error(), "address") {
			t.Errorf("an empty configuration: %v", err)
		}
	}
}

// readWriter is a server that says what it says, whatever it is told.
type readWriter struct {
	io.Reader
	told bytes.Buffer
}

func (rw *readWriter) Write(p []byte) (int, error) { return rw.told.Write(p) }

// However the bytes are split, the login reads the same, and not one byte too many.
func TestNegotiate(t *testing.T) {
	tests := []struct {
		stream  string
		err     error
		refused string
	}{
		{saslMessage(saslComplete, "x"), nil, ""},
		{saslMessage(saslComplete, "") + "\xff\xff", nil, ""},
		{saslMessage(saslBad, "no"), nil, "login refused: no"},
		{saslMessage(saslError, ""), nil, "login refused: "},
		{saslMessage(saslStart, ""), errNotSASL, ""},
		{saslMessage(saslComplete+1, ""), errNotSASL, ""},
		{"HTTP/1.1 400", errNotSASL, ""},
		{"\x05\x00\x04\x00\x01", errNotSASL, ""},
		{"\x05\x00\x04\x00\x00", io.EOF, ""},
		{"\x05\x00\x00", io.ErrUnexpectedEOF, ""},
		{"", io.EOF, ""},
	}
	for _, tt := range tests {
		for _, read := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.HalfReader} {
			rest := strings.NewReader(tt.stream)
			server := &readWriter{Reader: read(rest)}
			err := negotiate(server, &plain{user: "u", password: "p"})
			refused := ""
			if refusal := (*Error)(nil); errors.As(err, &refusal) {
				refused, err = refusal.Message, nil
			}
			if !errors.Is(err, tt.err) || refused != tt.refused {
				t.Errorf("%q: error %v, refusal %q; want %v, %q", tt.stream, err, refused, tt.err, tt.refused)
			}
			if want := saslMessage(saslStart, "PLAIN") + saslMessage(saslOK, "\x00u\x00p"); server.told.String() != want {
				t.Errorf("the server was told %q, want %q", server.told.String(), want)
			}
			if strings.HasSuffix(tt.stream, "\xff\xff") && rest.Len() != 2 {
				t.Errorf("%d bytes behind the login are left, want 2", rest.Len())
			}
		}
	}
}

// PLAIN has nothing to say to a challenge.
func TestPlainIsAskedForMore(t *testing.T) {
	err := negotiate(&readWriter{Reader: strings.NewReader(saslMessage(saslOK, "more"))}, &plain{user: "u", password: "p"})
	if err == nil || !strings.Contains(err.Error(), "more than a name") {
		t.Errorf("error %v", err)
	}
}

func FuzzNegotiate(f *testing.F) {
	f.Add([]byte(saslMessage(saslOK, "x") + saslMessage(saslComplete, "")))
	f.Add([]byte("HTTP/1.1"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		err := negotiate(&readWriter{Reader: bytes.NewReader(stream)}, &plain{user: "u", password: "p"})
		if err == nil && stream[0] != saslComplete {
			t.Errorf("logged in by %q", stream)
		}
	})
}
