package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/upstream"
)

const (
	// retryFailure is how long a failed connection to HiveServer2 stands before a health check tries again.
	retryFailure = 5 * time.Second
	// believeSuccess is how long a successful one stands while no client is connected there. Then a health check costs HiveServer2 one
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

// upstream goes by the attempts to connect that the relay and its checks make anyway, and has one made only where the last of them
// say nothing any more. One server that can be reached is enough.
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

// known is what the last attempts to connect say together, and whether they still say something.
func (h *health) known() (outcome error, known bool) {
	var failed []upstream.Status
	listed, stale := 0, false
	for _, s := range h.source.Relay.Servers() {
		if !s.Listed {
			continue
		}
		listed++
		age := h.now().Sub(s.LastDial.At)
		switch {
		case s.LastDial.At.IsZero():
			stale = true
		case s.LastDial.Err != nil:
			failed = append(failed, s)
			stale = stale || age >= retryFailure
		case age < believeSuccess || s.Open > 0: // an open connection would have ended with the server, and its client come back
			return nil, true
		default:
			stale = true
		}
	}
	if listed == 0 {
		return h.noServer(), true
	}
	return unreachable(failed), !stale
}

// maxTold bounds the servers that an answer tells about.
const maxTold = 5

func unreachable(failed []upstream.Status) error {
	var told []string
	for _, s := range failed[:min(len(failed), maxTold)] {
		told = append(told, fmt.Sprintf("%s: %v", s.ID, s.LastDial.Err))
	}
	if more := len(failed) - len(told); more > 0 {
		told = append(told, fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("no HiveServer2 can be reached: %s", strings.Join(told, "; "))
}

var (
	errNoServer     = errors.New("no HiveServer2 is known")
	errNotPublished = fmt.Errorf("%w: none is registered in ZooKeeper (upstream.zookeeper.namespace)", errNoServer)
)

// noServer is why there is none.
func (h *health) noServer() error {
	z, ok := h.source.Discovery()
	switch {
	case !ok:
		return errNoServer
	case z.Err != nil:
		return fmt.Errorf("%w: ZooKeeper's list cannot be read: %w", errNoServer, z.Err)
	case !z.Connected:
		return fmt.Errorf("%w: no connection to ZooKeeper since %s", errNoServer, z.Since.UTC().Format(time.RFC3339))
	default:
		return errNotPublished
	}
}
