package client

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"sync/atomic"
	"time"

	athrift "github.com/apache/thrift/lib/go/thrift"
)

// httpLink is Thrift over HTTP as ThriftHttpServlet speaks it: a POST for each call. It has at most one connection, kept
// alive between calls. Credentials go with the first call; from then on HiveServer2's cookie stands for them, until it
// is refused.
type httpLink struct {
	config   Config
	url      string
	client   *http.Client
	kerberos *kerberos // nil for Basic
	request  bytes.Buffer
	reply    bytes.Reader
	// credentials is set where every call has to carry them, because a cookie was not enough once.
	credentials bool
	known       bool            // a login has succeeded
	call        context.Context //nolint:containedctx // between begin and end: Thrift passes no deadline of its own to Flush
	life        context.Context //nolint:containedctx // ends with Close, which may come during a call
	end         context.CancelCauseFunc
	cause       atomic.Pointer[error]
}

// loginHTTP makes the link and one call that needs no session, so that a wrong address or password is known now.
func loginHTTP(ctx context.Context, c Config) (_ link, err error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	scheme := "http"
	if c.TLS != nil {
		scheme = "https"
	}
	h := &httpLink{
		config: c,
		url:    scheme + "://" + c.Address + "/" + strings.TrimPrefix(c.HTTPPath, "/"),
		client: &http.Client{
			Jar:           jar,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				DialContext:         c.dialer(),
				TLSClientConfig:     tlsConfig(c),
				TLSHandshakeTimeout: c.DialTimeout,
				MaxIdleConns:        1,
				IdleConnTimeout:     30 * time.Second, // less than any balancer's: a POST is not sent twice
				DisableCompression:  true,
			},
		},
	}
	if c.Auth == "KERBEROS" {
		if h.kerberos, err = newKerberos(c); err != nil {
			return nil, err
		}
	}
	h.life, h.end = context.WithCancelCause(context.Background())
	defer h.begin(ctx, 2*c.DialTimeout, 0)() // ctx ends before
	if err := h.knock(); err != nil {
		_ = h.Close()
		return nil, contextError(ctx, err)
	}
	return h, nil
}

// knock makes a call that HiveServer2 does not know. Its TApplicationException leaves no trace in HiveServer2's log, and
// comes only behind a login.
func (h *httpLink) knock() error {
	buffer := athrift.NewTMemoryBuffer()
	protocol := athrift.NewTBinaryProtocolConf(buffer, nil)
	ctx := context.Background()
	err := errors.Join(protocol.WriteMessageBegin(ctx, "CheckLogin", athrift.CALL, 0), protocol.WriteFieldStop(ctx), protocol.WriteMessageEnd(ctx))
	if err != nil {
		return err
	}
	reply, err := h.exchange(buffer.Bytes())
	if err != nil {
		return err
	}
	if len(reply) == 0 || reply[0] != 0x80 {
		return fmt.Errorf("%s answers, but not in Thrift: is it HiveServer2's HTTP port and path?", h.url)
	}
	return nil
}

// exchange posts one message and reads the reply.
func (h *httpLink) exchange(message []byte) ([]byte, error) {
	withCredentials := h.credentials || !h.known
	response, err := h.post(message, withCredentials)
	if err == nil && response.StatusCode == http.StatusUnauthorized && !withCredentials {
		// The call was not made: the servlet authenticates before it reads.
		_, _ = io.CopyN(io.Discard, response.Body, 4096) // so that the connection can be used again
		_ = response.Body.Close()
		h.credentials = true
		response, err = h.post(message, true)
	}
	if err != nil {
		return nil, contextError(h.call, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, refusal(response)
	}
	h.known = true
	limit := int64(h.config.MaxMessageSize)
	if response.ContentLength > limit {
		return nil, fmt.Errorf("a reply of %d bytes, more than %d", response.ContentLength, limit)
	}
	reply, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	switch {
	case err != nil:
		return nil, contextError(h.call, err)
	case int64(len(reply)) > limit:
		return nil, fmt.Errorf("a reply of more than %d bytes", limit)
	}
	return reply, nil
}

func (h *httpLink) post(message []byte, credentials bool) (*http.Response, error) {
	request, err := http.NewRequestWithContext(h.call, http.MethodPost, h.url, bytes.NewReader(message))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-thrift")
	request.Header.Set("Accept", "application/x-thrift")
	// hive.server2.xsrf.filter.enabled wants it; the value does not count.
	request.Header.Set("X-XSRF-HEADER", "true")
	switch {
	case !credentials:
	case h.kerberos != nil:
		header, err := h.kerberos.negotiateHeader(h.call)
		if err != nil {
			return nil, err
		}
		request.Header.Set("Authorization", header)
	default:
		// SetBasicAuth is the same for ASCII; the servlet reads UTF-8.
		request.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(h.config.User+":"+h.config.Password)))
	}
	return h.client.Do(request)
}

// refusal turns an HTTP status into an error. What the servlet says of it is the first line of the body.
func refusal(response *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(response.Body, 500))
	line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
	message := "HTTP " + response.Status
	if line != "" && !strings.HasPrefix(line, "<") {
		message += ": " + line
	}
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		if offers := response.Header.Values("WWW-Authenticate"); len(offers) > 0 {
			scheme, _, _ := strings.Cut(offers[0], " ")
			message += fmt.Sprintf(" (it takes %s)", scheme)
		}
		return &Error{SQLState: "08004", Message: "login refused: " + message}
	case http.StatusNotFound, http.StatusMethodNotAllowed: // Jetty's answers to another path
		return fmt.Errorf("%s: is the path hive.server2.thrift.http.path?", message)
	}
	return errors.New(message)
}

// Flush makes the call that was written.
func (h *httpLink) Flush(context.Context) error {
	reply, err := h.exchange(h.request.Bytes())
	h.request.Reset()
	if err != nil {
		h.cause.CompareAndSwap(nil, &err)
		return err
	}
	h.reply.Reset(reply)
	return nil
}

func (h *httpLink) Read(p []byte) (int, error) { return h.reply.Read(p) }

func (h *httpLink) Write(p []byte) (int, error) { return h.request.Write(p) }

// RemainingBytes is what is left of the reply.
func (h *httpLink) RemainingBytes() uint64 { return uint64(h.reply.Len()) } //nolint:gosec // not negative

// Open does nothing: the link is open from the start.
func (h *httpLink) Open() error { return nil }

// IsOpen is false from Close on.
func (h *httpLink) IsOpen() bool { return h.life.Err() == nil }

// Close ends a call in progress and the connection.
func (h *httpLink) Close() error {
	h.end(net.ErrClosed)
	h.client.CloseIdleConnections()
	if h.kerberos != nil {
		h.kerberos.destroy()
	}
	return nil
}

func (h *httpLink) begin(ctx context.Context, timeout, grace time.Duration) (end func()) {
	ended, cancel := context.WithCancelCause(h.life)
	call, release := context.WithTimeout(ended, timeout)
	var timer atomic.Pointer[time.Timer]
	stop := context.AfterFunc(ctx, func() {
		timer.Store(time.AfterFunc(grace, func() { cancel(context.Cause(ctx)) }))
	})
	h.call = call
	return func() {
		stop()
		if t := timer.Load(); t != nil {
			t.Stop()
		}
		release()
		cancel(nil)
	}
}

func (h *httpLink) explain(err error) error {
	if cause := h.cause.Load(); err != nil && cause != nil {
		return *cause
	}
	return err
}

func (h *httpLink) broken() bool { return h.cause.Load() != nil }
