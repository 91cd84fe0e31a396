package statscheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/rs/zerolog"
)

// Candidates returns the tables that are stale by the latest reading.
type Candidates interface {
	Candidates(ctx context.Context) ([]Candidate, error)
}

// Requests takes refresh requests. A table of an upstream has at most one open request: created is false, and id that of the open
// one, when there was one already.
type Requests interface {
	Request(ctx context.Context, r Refresh) (id int64, created bool, err error)
}

// fireTimeout bounds one firing: it reads the candidates and writes requests.
const fireTimeout = time.Minute

// Scheduler turns schedules into refresh requests. It runs no ANALYZE itself.
type Scheduler struct {
	schedules  []Schedule
	timings    []cron.Schedule
	candidates Candidates
	requests   Requests
	policy     Policy
	log        zerolog.Logger
	now        func() time.Time

	mu struct {
		sync.Mutex
		cron   *cron.Cron
		cancel context.CancelFunc
	}
}

// NewScheduler validates the schedules and the policy; its errors are those of ValidateSchedules and Policy.Validate.
func NewScheduler(schedules []Schedule, policy Policy, candidates Candidates, requests Requests, log zerolog.Logger) (*Scheduler, error) {
	if err := errors.Join(ValidateSchedules(schedules), policy.Validate()); err != nil {
		return nil, err
	}
	s := &Scheduler{
		schedules: slices.Clone(schedules), candidates: candidates, requests: requests, policy: policy, log: log, now: time.Now,
	}
	for _, sch := range schedules {
		timing, err := sch.timing(sch.location())
		if err != nil {
			return nil, err
		}
		s.timings = append(s.timings, timing)
	}
	return s, nil
}

// Start begins firing until Stop. A second Start before Stop does nothing.
func (s *Scheduler) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.cron != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := NewCron(s.log)
	for i, timing := range s.timings {
		c.Schedule(timing, cron.FuncJob(func() { s.fired(ctx, s.schedules[i]) }))
	}
	c.Start()
	s.mu.cron, s.mu.cancel = c, cancel
}

// Stop ends the firing and waits for the firings that are under way. When ctx ends first they are canceled, and it
// returns ctx's error once they have ended.
func (s *Scheduler) Stop(ctx context.Context) error {
	s.mu.Lock()
	c, cancel := s.mu.cron, s.mu.cancel
	s.mu.cron, s.mu.cancel = nil, nil
	s.mu.Unlock()
	if c == nil {
		return nil
	}
	defer cancel()
	done := c.Stop().Done()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		cancel()
		<-done
		return fmt.Errorf("stop the schedules: %w", ctx.Err())
	}
}

// Firing is a schedule's next time.
type Firing struct {
	Schedule string
	At       time.Time
}

// NextRuns are the schedules' next firings, in the order of the configuration, each in its own time zone.
func (s *Scheduler) NextRuns() []Firing {
	out := make([]Firing, len(s.schedules))
	for i, timing := range s.timings {
		out[i] = Firing{Schedule: s.schedules[i].Name, At: timing.Next(s.now().UTC()).In(s.schedules[i].location())}
	}
	return out
}

func (s *Scheduler) fired(ctx context.Context, sch Schedule) {
	ctx, cancel := context.WithTimeout(ctx, fireTimeout)
	defer cancel()
	created, err := s.Fire(ctx, sch)
	if err != nil {
		s.log.Error().Err(err).Str("schedule", sch.Name).Msg("schedule failed to request refreshes")
		return
	}
	s.log.Info().Str("schedule", sch.Name).Int("requested", created).Msg("schedule fired")
}

// Fire does what one firing of the schedule does, now, and returns how many refreshes it requested.
// A request that fails does not keep the others back.
func (s *Scheduler) Fire(ctx context.Context, sch Schedule) (created int, err error) {
	candidates, err := s.candidates.Candidates(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the stale tables: %w", err)
	}
	var errs []error
	for _, r := range Plan(candidates, sch, s.policy, s.now()) {
		_, isNew, err := s.requests.Request(ctx, r)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("request the refresh of %s: %w", r.Table, err))
		case isNew:
			created++
		}
	}
	return created, errors.Join(errs...)
}
