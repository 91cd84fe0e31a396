package limit

import (
	"net/netip"
	"time"
)

// failures are the refused logins of an address.
type failures struct {
	since time.Time // the window's beginning
	n     int       // in the window
	until time.Time // the pause's end; before now: none
}

// fail counts a refused login of the address.
func (l *Limiter) fail(addr netip.Addr) error {
	l.mu.failed++
	policy := l.mu.FailedLogins
	if policy.Limit == 0 || !addr.IsValid() {
		return nil
	}
	now := l.mu.Now()
	f, ok := l.mu.watched.Get(addr)
	if !ok {
		f = &failures{since: now}
		if l.mu.watched.Add(addr, f) {
			l.mu.forgotten++
		}
	}
	if now.Before(f.until) {
		return l.wait(addr, f, now)
	}
	if f.n == 0 || now.Sub(f.since) >= policy.Window {
		f.since, f.n = now, 0
	}
	if f.n++; f.n < policy.Limit {
		return nil
	}
	f.n, f.until = 0, now.Add(policy.Pause)
	return l.wait(addr, f, now)
}

// paused tells whether the address has to wait, and forgets it when nothing of it matters any more.
func (l *Limiter) paused(addr netip.Addr) error {
	if l.mu.watched.Len() == 0 {
		return nil
	}
	f, ok := l.mu.watched.Peek(addr)
	if !ok {
		return nil
	}
	now := l.mu.Now()
	if now.Before(f.until) {
		return l.wait(addr, f, now)
	}
	if f.n == 0 || now.Sub(f.since) >= l.mu.FailedLogins.Window {
		l.mu.watched.Remove(addr)
	}
	return nil
}

func (l *Limiter) wait(addr netip.Addr, f *failures, now time.Time) error {
	return l.refuse(&Exceeded{What: RefusedLogins, Who: name(addr), Limit: l.mu.FailedLogins.Limit, Wait: f.until.Sub(now)})
}
