package app

import (
	"context"
	"errors"
	"maps"
	"slices"
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
	// lost is told of a lease that another proxy has taken or may take any moment, since it could not be extended: what runs must end.
	lost func(id int64)
	// lasts is how long a lease lasts; it is extended four times as often.
	lasts time.Duration
	log   zerolog.Logger

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

// ids are the refreshes held.
func (l *leases) ids() []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.mu.held))
}

func (l *leases) keep(ctx context.Context, id int64) {
	every := l.lasts / 4
	tick := time.NewTicker(every)
	defer tick.Stop()
	until := time.Now().Add(l.lasts)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asked := time.Now()
		call, cancel := context.WithTimeout(ctx, every)
		err := l.extend(call, id, l.lasts)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			until = asked.Add(l.lasts)
		case errors.Is(err, store.ErrLeaseLost):
			l.log.Error().Int64("refresh", id).Msg("another proxy took a refresh over; what runs here is canceled")
			l.lost(id)
			return
		case time.Until(until) <= every:
			l.log.Error().Int64("refresh", id).Err(err).Msg("the lease of a refresh could not be extended; what runs here is canceled before another proxy takes over")
			l.lost(id)
			return
		default:
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
