package intercept

import (
	"context"
	"time"
)

// drainLook is how often a drain looks for connections that nobody uses.
const drainLook = time.Second

// quiet is what a drain knows of a connection: how many bytes had passed, and since when there are no more.
type quiet struct {
	bytes int64
	since time.Time
}

// drain waits until every connection has ended. It ends those itself that are idle for Config.DrainIdle: nothing runs in their
// sessions, no call waits, no byte has passed. The error is that of ctx, which ended first.
func (s *Server) drain(ctx context.Context) error {
	look := time.NewTicker(min(drainLook, s.cfg.DrainIdle))
	defer look.Stop()
	seen := map[*relay]quiet{}
	for {
		select {
		case <-s.mu.idle:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
			for _, r := range s.relays() {
				if s.unused(r, seen) {
					r.cut()
				}
			}
		}
	}
}

// unused reports whether a connection has been idle for long enough.
func (s *Server) unused(r *relay, seen map[*relay]quiet) bool {
	now := s.now()
	bytes := r.fromClient.Load() + r.fromServer.Load()
	q, known := seen[r]
	if !known || q.bytes != bytes || !r.idle() || r.watch.running() {
		seen[r] = quiet{bytes, now}
		return false
	}
	return now.Sub(q.since) >= s.cfg.DrainIdle
}

// running reports whether a statement of the connection, or of a session that it opened, has not ended.
func (c *Connection) running() bool {
	c.tracker.mu.Lock()
	defer c.tracker.mu.Unlock()
	if len(c.calls) > 0 {
		return true
	}
	for _, s := range c.opened {
		if len(s.statements) > 0 {
			return true
		}
	}
	return false
}
