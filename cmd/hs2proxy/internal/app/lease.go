package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/store"
)

// lease is how long a claimed refresh stays ours without a sign of life; the holder extends it while it works, so that
// another proxy takes over only when this one is dead.
const lease = 2 * time.Minute

// leases keeps the leases of running refreshes alive, one goroutine each.
type leases struct {
	extend func(ctx context.Context, id int64, lease time.Duration) error
	log    zerolog.Logger

	wg sync.WaitGroup
	mu struct {
		sync.Mutex
		held map[int64]context.CancelFunc
	}
}

func (l *leases) hold(id int64) {
	ctx, cancel := context.WithCancel(context.Background())
	l.mu.Lock()
	if l.mu.held == nil {
		l.mu.held = map[int64]context.CancelFunc{}
	}
	l.mu.held[id] = cancel
	l.mu.Unlock()
	l.wg.Go(func() { l.keep(ctx, id) })
}

func (l *leases) keep(ctx context.Context, id int64) {
	tick := time.NewTicker(lease / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := l.extend(ctx, id, lease)
		if errors.Is(err, store.ErrLeaseLost) {
			l.log.Error().Int64("refresh", id).Msg("another proxy took a refresh over; two may run at once")
			return
		}
		if err != nil && ctx.Err() == nil {
			l.log.Warn().Int64("refresh", id).Err(err).Msg("lease not extended; tried again")
		}
	}
}

func (l *leases) release(id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cancel := l.mu.held[id]; cancel != nil {
		cancel()
		delete(l.mu.held, id)
	}
}

// stop ends all and waits.
func (l *leases) stop() {
	l.mu.Lock()
	for id, cancel := range l.mu.held {
		cancel()
		delete(l.mu.held, id)
	}
	l.mu.Unlock()
	l.wg.Wait()
}
