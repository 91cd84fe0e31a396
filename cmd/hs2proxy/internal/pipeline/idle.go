package pipeline

import (
	"sync"
	"time"
)

// idleLimit is how long a connection of ours may be idle.
const idleLimit = 5 * time.Minute

// idleTimer calls over when nothing has been started again for limit.
type idleTimer struct {
	limit time.Duration
	over  func()

	mu    sync.Mutex
	timer *time.Timer
}

// start begins the time anew.
func (t *idleTimer) start() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil {
		t.timer = time.AfterFunc(t.limit, t.over)
		return
	}
	t.timer.Reset(t.limit)
}

// stop ends it; over may be running.
func (t *idleTimer) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil {
		t.timer.Stop()
	}
}
