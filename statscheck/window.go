package statscheck

import (
	"time"

	"github.com/robfig/cron/v3"
)

// maxFirings bounds how many firings are gone through to find a window.
const maxFirings = 100_000

// Window is a stretch of time in which the refreshes of a schedule may run. The zero End is no end.
type Window struct{ Start, End time.Time }

// Open reports whether t lies in the window; its end does not.
func (w Window) Open(t time.Time) bool {
	return !t.Before(w.Start) && (w.End.IsZero() || t.Before(w.End))
}

// WindowAt is the window that is open at a time: the one whose firing came last. ok is false between two windows, and for a schedule
// without a window, or one that fires at intervals ("@every"), whose firings have no times of their own.
func (s Schedule) WindowAt(now time.Time) (w Window, ok bool) {
	if s.Window <= 0 {
		return Window{}, false
	}
	fired, ok := s.lastFiring(now, s.Window)
	if !ok {
		return Window{}, false
	}
	w = Window{Start: fired, End: fired.Add(s.Window)}
	return w, w.Open(now)
}

// lastFiring is the last time at or before now, and within back before it, at which the schedule fires.
func (s Schedule) lastFiring(now time.Time, back time.Duration) (at time.Time, ok bool) {
	timing, err := s.timing(s.location())
	if err != nil {
		return time.Time{}, false
	}
	if _, every := timing.(cron.ConstantDelaySchedule); every {
		return time.Time{}, false
	}
	next := timing.Next(now.Add(-back).Add(-time.Nanosecond))
	for range maxFirings {
		if next.IsZero() || next.After(now) {
			break
		}
		at, ok = next, true
		next = timing.Next(next)
	}
	return at, ok
}

// firingLag is how late after its time a firing may come: several proxies that fire for one time mean the same window.
const firingLag = time.Minute

// windowStart is when the window opened that a firing at now opens: the time of the schedule, in which all proxies agree, whatever
// their clocks say within a minute.
func (s Schedule) windowStart(now time.Time) time.Time {
	if at, ok := s.lastFiring(now, firingLag); ok {
		return at.UTC()
	}
	return now.UTC().Truncate(time.Second)
}
