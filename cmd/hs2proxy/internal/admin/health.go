package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	// retryFailure is how long a failed connection to HiveServer2 stands before a health check tries again.
	retryFailure = 5 * time.Second
	// believeSuccess is how long a successful one stands while no client is connected. Then a health check costs HiveServer2 one
	// connection without a login, which older versions log.
	believeSuccess = 10 * time.Minute
)

// health answers /healthz and /readyz.
type health struct {
	source Source
	now    func() time.Time
	// probing is held by the one that connects, so that many checks at once cost one connection.
	probing chan struct{}
}

func newHealth(source Source, now func() time.Time) *health {
	return &health{source: source, now: now, probing: make(chan struct{}, 1)}
}

// healthAnswer is the body of both.
type healthAnswer struct {
	Status string        `json:"status"` // ok or unavailable
	Checks []checkAnswer `json:"checks"`
}

type checkAnswer struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
}

func (a *healthAnswer) add(name string, err error) {
	c := checkAnswer{Name: name, OK: err == nil}
	if err != nil {
		c.Detail, a.Status = err.Error(), "unavailable"
	}
	a.Checks = append(a.Checks, c)
}

func (a *healthAnswer) write(w http.ResponseWriter) {
	status := http.StatusOK
	if a.Status != "ok" {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, a)
}

// alive: the process answers, and the relay accepts.
func (h *health) alive(w http.ResponseWriter, _ *http.Request) {
	a := healthAnswer{Status: "ok"}
	a.add("relay", h.relay())
	a.write(w)
}

// ready: a client that comes now is served, and what it does is kept.
func (h *health) ready(w http.ResponseWriter, r *http.Request) {
	a := healthAnswer{Status: "ok"}
	a.add("relay", h.relay())
	a.add("upstream", h.upstream(r.Context()))
	if h.source.SchemaReady != nil {
		a.add("database", h.database())
	}
	a.write(w)
}

var (
	errNotAccepting = errors.New("the relay accepts no connections: it starts or stops")
	errNoSchema     = errors.New("the schema is not there yet; observations wait, traffic is not affected")
)

func (h *health) relay() error {
	if !h.source.Relay.Accepting() {
		return errNotAccepting
	}
	return nil
}

func (h *health) database() error {
	if !h.source.SchemaReady() {
		return errNoSchema
	}
	return nil
}

// upstream goes by the relay's own attempts to connect, and connects itself only where the last one says nothing any more.
func (h *health) upstream(ctx context.Context) error {
	if err, known := h.known(); known {
		return err
	}
	select {
	case h.probing <- struct{}{}:
		defer func() { <-h.probing }()
	case <-ctx.Done():
		return fmt.Errorf("connect to HiveServer2: %w", ctx.Err())
	}
	if err, known := h.known(); known { // somebody else has asked meanwhile
		return err
	}
	return h.source.Relay.Probe(ctx)
}

// known is the outcome of the last attempt to connect, and whether it still says something.
func (h *health) known() (outcome error, known bool) {
	last := h.source.Relay.LastDial()
	age := h.now().Sub(last.At)
	switch {
	case last.At.IsZero():
		return nil, false
	case last.Err != nil:
		return fmt.Errorf("connect to HiveServer2: %w", last.Err), age < retryFailure
	default: // an open connection would have ended with the server, and its client come back
		return nil, age < believeSuccess || h.source.Relay.Stats().Open > 0
	}
}
