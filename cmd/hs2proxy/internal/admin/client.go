package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
)

// Client asks the admin port of a running proxy.
type Client struct {
	base  string
	token string
	http  *http.Client
}

// maxAnswer bounds an answer, in bytes: 20,000 sessions with long statements fit.
const maxAnswer = 128 << 20

// NewClient asks the port that listens on cfg.Listen; a proxy that listens on every interface is asked on this machine.
func NewClient(cfg config.Admin, timeout time.Duration) (*Client, error) {
	host, port, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("admin.listen: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return &Client{
		base: "http://" + net.JoinHostPort(host, port), token: cfg.Token,
		// The port is near by: no proxy of the environment's is asked, and the token goes nowhere else.
		http: &http.Client{Timeout: timeout, Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}},
	}, nil
}

// Sessions lists the live sessions, the oldest first.
func (c *Client) Sessions(ctx context.Context) ([]Session, error) {
	var out []Session
	err := c.do(ctx, http.MethodGet, "/sessions", &out)
	return out, err
}

// Kill ends a session, by cutting the connection that opened it or by its handle.
func (c *Client) Kill(ctx context.Context, id string) (Killed, error) {
	var out Killed
	err := c.do(ctx, http.MethodPost, "/sessions/"+url.PathEscape(id)+"/kill", &out)
	return out, err
}

func (c *Client) do(ctx context.Context, method, path string, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, nil)
	if err != nil {
		return fmt.Errorf("ask the admin port: %w", err)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("ask the admin port (does the proxy run, with this admin.listen?): %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	body := io.LimitReader(resp.Body, maxAnswer)
	if resp.StatusCode != http.StatusOK {
		var failure failureAnswer
		if err := json.NewDecoder(body).Decode(&failure); err != nil || failure.Error == "" {
			return fmt.Errorf("the admin port answers %s", resp.Status)
		}
		return errors.New(failure.Error)
	}
	if err := json.NewDecoder(body).Decode(out); err != nil {
		return fmt.Errorf("read the admin port's answer: %w", err)
	}
	return nil
}
