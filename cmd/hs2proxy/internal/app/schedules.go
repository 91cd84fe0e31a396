package app

import (
	"context"
	"sync"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/statscheck"
)

// scheduleStop bounds how long a firing of schedules that are replaced may go on.
const scheduleStop = 5 * time.Second

// schedules is the Scheduler in force, which a reload replaces.
type schedules struct {
	mu struct {
		sync.Mutex
		current *statscheck.Scheduler
		runs    bool
	}
}

func (s *schedules) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.runs = true
	s.mu.current.Start()
}

// stop is the Scheduler's; nothing starts afterwards.
func (s *schedules) stop(ctx context.Context) error {
	s.mu.Lock()
	s.mu.runs = false
	current := s.mu.current
	s.mu.Unlock()
	return current.Stop(ctx)
}

// replace puts another Scheduler in force and ends the one before, whose firing under way is given a moment: what both request
// for a table is one refresh.
func (s *schedules) replace(ctx context.Context, next *statscheck.Scheduler) error {
	s.mu.Lock()
	before := s.mu.current
	s.mu.current = next
	if s.mu.runs {
		next.Start()
	}
	s.mu.Unlock()
	if before == nil {
		return nil
	}
	return before.Stop(ctx)
}

// fire does what a firing does by the Scheduler in force.
func (s *schedules) fire(ctx context.Context, f statscheck.Fired) (requested int, err error) {
	s.mu.Lock()
	current := s.mu.current
	s.mu.Unlock()
	return current.Fire(ctx, f.Schedule, f.At)
}

// prepareSchedules makes the schedules of a new configuration, to be put in force.
func (r *refresher) prepareSchedules(next config.Config) (apply func(), err error) {
	refresh := next.Stats.Refresh
	s, err := statscheck.NewScheduler(refresh.Schedules, refresh.Policy, r, r, r, r.log)
	if err != nil {
		return nil, err
	}
	return func() {
		r.policy.Store(&refresh.Policy)
		ctx, cancel := context.WithTimeout(context.Background(), scheduleStop)
		defer cancel()
		if err := r.schedules.replace(ctx, s); err != nil {
			r.log.Warn().Err(err).Msg("a firing of the schedules before was cut short")
		}
	}, nil
}
