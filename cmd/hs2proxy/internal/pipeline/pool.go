package pipeline

import (
	"context"
	"sync"

	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// pool keeps connections of ours for the next conversation. It holds as many as were ever in use at once.
type pool struct {
	login func() (client.Config, error)

	// rest closes those that nobody has used for a while: each holds one of HiveServer2's worker threads.
	rest idleTimer

	mu struct {
		sync.Mutex
		idle   []*client.Conn
		closed bool
	}
}

// take returns the connection used last, else a fresh one. The server may have ended an idle one since.
func (p *pool) take(ctx context.Context) (c *client.Conn, fresh bool, err error) {
	p.mu.Lock()
	if n := len(p.mu.idle); n > 0 {
		c = p.mu.idle[n-1]
		p.mu.idle = p.mu.idle[:n-1]
	}
	p.mu.Unlock()
	if c != nil {
		return c, false, nil
	}
	cfg, err := p.login()
	if err != nil {
		return nil, true, err
	}
	c, err = client.Dial(ctx, cfg)
	return c, true, err
}

// give takes a connection back.
func (p *pool) give(c *client.Conn) {
	p.mu.Lock()
	keep := !p.mu.closed && c.Alive()
	if keep {
		p.mu.idle = append(p.mu.idle, c)
	}
	p.mu.Unlock()
	if !keep {
		_ = c.Close()
		return
	}
	p.rest.start()
}

// close closes the idle connections; those in use are closed when they come back.
func (p *pool) close() {
	p.mu.Lock()
	p.mu.closed = true
	p.mu.Unlock()
	p.rest.stop()
	p.empty()
}

func (p *pool) empty() {
	p.mu.Lock()
	idle := p.mu.idle
	p.mu.idle = nil
	p.mu.Unlock()
	for _, c := range idle {
		_ = c.Close()
	}
}

// converse has one conversation on a connection, which is kept unless the conversation broke it. stale says that it broke
// on a connection that had been idle, so that another one may do.
func (p *pool) converse(ctx context.Context, talk func(*client.Conn) (client.Result, error)) (res client.Result, stale bool, err error) {
	c, fresh, err := p.take(ctx)
	if err != nil {
		return client.Result{}, false, err
	}
	intact := false
	defer func() { // also when talk panics
		if intact {
			p.give(c)
		} else {
			_ = c.Close()
		}
	}()
	res, err = talk(c)
	_, refused := refusal(err)
	intact = err == nil || refused
	return res, !intact && !fresh && ctx.Err() == nil, err
}
