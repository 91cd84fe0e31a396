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

// Firings takes what schedules fire. Several proxies fire a schedule for one time; it sees to it that one of them calls Scheduler.Fire.
type Firings interface {
	Fired(ctx context.Context, f Fired) error
}

// Fired is one firing of a schedule.
type Fired struct {
	Schedule Schedule
	At       time.Time
	// Slot is the same for all proxies that fire for one time: At, or for a schedule that fires at intervals ("@every"), counted from each
	// proxy's start, the beginning of the interval that At is in.
	Slot time.Time
}

// firedTimeout bounds the handing over of a firing.
const firedTimeout = time.Minute

// Scheduler says when schedules fire, and turns firings into refresh requests. It runs no ANALYZE itself.
type Scheduler struct {
	schedules  []Schedule
	timings    []cron.Schedule
	firings    Firings
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
func NewScheduler(schedules []Schedule, policy Policy, firings Firings, candidates Candidates, requests Requests, log zerolog.Logger) (*Scheduler, error) {
	if err := errors.Join(ValidateSchedules(schedules), policy.Validate()); err != nil {
		return nil, err
	}
	s := &Scheduler{
		schedules: slices.Clone(schedules), firings: firings, candidates: candidates, requests: requests, policy: policy, log: log, now: time.Now,
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
		var id cron.EntryID
		id = c.Schedule(timing, cron.FuncJob(func() { s.fired(ctx, i, c.Entry(id).Prev) }))
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

func (s *Scheduler) fired(ctx context.Context, i int, at time.Time) {
	ctx, cancel := context.WithTimeout(ctx, firedTimeout)
	defer cancel()
	f := Fired{Schedule: s.schedules[i], At: at.UTC(), Slot: at.UTC()}
	if every, ok := s.timings[i].(cron.ConstantDelaySchedule); ok {
		f.Slot = f.Slot.Truncate(every.Delay)
	}
	if err := s.firings.Fired(ctx, f); err != nil {
		s.log.Error().Err(err).Str("schedule", f.Schedule.Name).Msg("a firing of a schedule is lost")
	}
}

// Late reports whether the schedule's next firing is due by now, so that this one has nothing left to do.
func (f Fired) Late(now time.Time) bool {
	timing, err := f.Schedule.timing(f.Schedule.location())
	return err == nil && !timing.Next(f.At).After(now)
}

// Fire does what one firing of the schedule at a time does and returns how many refreshes it requested. It may be done again: a table has
// one open request. A request that fails does not keep the others back.
func (s *Scheduler) Fire(ctx context.Context, sch Schedule, at time.Time) (created int, err error) {
	candidates, err := s.candidates.Candidates(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the stale tables: %w", err)
	}
	var errs []error
	for _, r := range Plan(candidates, sch, s.policy, at) {
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
