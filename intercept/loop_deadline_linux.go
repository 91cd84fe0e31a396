package intercept

import (
	"time"

	"github.com/hs2proxy/hs2proxy/thrift"
)

// deadlines are connections that have the same time for something, in the order in which it ends: a list, so that a time that is
// not needed costs nothing.
type deadlines struct {
	after       time.Duration
	first, last *loopConn
}

// deadline is a connection's place in such a list; it is in one at a time.
type deadline struct {
	at             time.Time
	in             *deadlines
	earlier, later *loopConn
}

// add gives a connection the time from now on, in place of any other deadline it has.
func (d *deadlines) add(c *loopConn) {
	c.deadline.stop()
	c.deadline = deadline{at: time.Now().Add(d.after), in: d, earlier: d.last}
	if d.last != nil {
		d.last.deadline.later = c
	} else {
		d.first = c
	}
	d.last = c
}

// stop takes the deadline away.
func (p *deadline) stop() {
	d := p.in
	if d == nil {
		return
	}
	if p.earlier != nil {
		p.earlier.deadline.later = p.later
	} else {
		d.first = p.later
	}
	if p.later != nil {
		p.later.deadline.earlier = p.earlier
	} else {
		d.last = p.earlier
	}
	*p = deadline{}
}

// expire acts on the deadlines that are over.
func (l *loop) expire() {
	if l.opening.first == nil && l.dialing.first == nil && l.halfOpen.first == nil {
		return
	}
	now := time.Now()
	for c := l.opening.over(now); c != nil; c = l.opening.over(now) {
		c.fail(&failure{thrift.Client, phaseLogin, errSlowLogin})
	}
	for c := l.dialing.over(now); c != nil; c = l.dialing.over(now) {
		c.timedOut()
	}
	for c := l.halfOpen.over(now); c != nil; c = l.halfOpen.over(now) {
		c.finish()
	}
}

// over takes out a connection whose time is over.
func (d *deadlines) over(now time.Time) *loopConn {
	c := d.first
	if c == nil || c.deadline.at.After(now) {
		return nil
	}
	c.deadline.stop()
	return c
}
