package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/sony/gobreaker/v2"

	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// Login says how a connection of ours reaches a HiveServer2, by its ID in the upstream; an empty ID is any of them. The error
// says that there is no such server.
type Login func(server string) (client.Config, error)

// To is the Login of a single server.
func To(c client.Config) Login { return func(string) (client.Config, error) { return c, nil } }

// line is our way to one HiveServer2: idle connections, and a breaker, for one server that is down says nothing of the others.
type line struct {
	pool    pool
	breaker *gobreaker.CircuitBreaker[client.Result]
}

func (e *Explainer) newLine(server string) *line {
	l := &line{
		pool: pool{login: func() (client.Config, error) { return e.cfg.Login(server) }},
		breaker: gobreaker.NewCircuitBreaker[client.Result](gobreaker.Settings{
			Name:        "explain",
			Timeout:     e.cfg.BreakerPause,
			ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= e.cfg.BreakerFailures },
			IsSuccessful: func(err error) bool {
				_, refused := refusal(err)
				return err == nil || refused
			},
			// Whoever gives up has learnt nothing of the server.
			IsExcluded: func(err error) bool { return errors.Is(err, context.Canceled) },
			OnStateChange: func(_ string, from, to gobreaker.State) {
				e.log.Warn().Str("server", server).Stringer("from", from).Stringer("to", to).Msg("explain breaker changed")
			},
		}),
	}
	l.pool.rest.limit, l.pool.rest.over = idleLimit, l.pool.empty
	return l
}

// Guard runs what connects to HiveServer2 for other uses behind the breaker of any server; ErrBusy means that it is open.
func (e *Explainer) Guard(connect func() error) error {
	_, err := e.line("").breaker.Execute(func() (client.Result, error) { return client.Result{}, connect() })
	return busy(err)
}

// busy marks a breaker's refusal.
func busy(err error) error {
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return err
}

// line is the one to a server; it is made when first needed.
func (e *Explainer) line(server string) *line {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.mu.lines[server]
	if l == nil {
		l = e.newLine(server)
		e.mu.lines[server] = l
	}
	return l
}

// protected has one conversation behind the breaker. Connections that had been idle are replaced when they prove dead: the
// server may have been restarted since.
func (l *line) protected(ctx context.Context, talk func(*client.Conn) (client.Result, error)) (client.Result, error) {
	res, err := l.breaker.Execute(func() (client.Result, error) {
		for {
			res, stale, err := l.pool.converse(ctx, talk)
			if !stale {
				return res, err
			}
		}
	})
	return res, busy(err)
}

// Close closes the idle connections; running EXPLAINs close theirs when they end.
func (e *Explainer) Close() {
	for _, l := range e.all() {
		l.pool.close()
	}
}

func (e *Explainer) all() []*line {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]*line, 0, len(e.mu.lines))
	for _, l := range e.mu.lines {
		out = append(out, l)
	}
	return out
}

// Open reports whether a breaker keeps EXPLAIN from being sent now.
func (e *Explainer) Open() bool { return e.worst() == gobreaker.StateOpen }

// Breaker is the state of the worst breaker: closed, half-open or open.
func (e *Explainer) Breaker() string { return e.worst().String() }

func (e *Explainer) worst() gobreaker.State {
	e.mu.Lock()
	defer e.mu.Unlock()
	worst := gobreaker.StateClosed
	for _, l := range e.mu.lines {
		worst = max(worst, l.breaker.State())
	}
	return worst
}

// End closes a client's session by its handle: the way to end one that no connection ends. An operator asks for it, perhaps because
// HiveServer2 is slow, so the breaker has no say in it and learns nothing from it.
func (e *Explainer) End(ctx context.Context, server string, session client.Handle) error {
	l := e.line(server)
	for {
		_, stale, err := l.pool.converse(ctx, func(c *client.Conn) (client.Result, error) {
			return client.Result{}, c.CloseSession(ctx, session)
		})
		switch {
		case stale:
			continue
		case err != nil:
			return fmt.Errorf("end session: %w", err)
		default:
			return nil
		}
	}
}
