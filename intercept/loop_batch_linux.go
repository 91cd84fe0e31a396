package intercept

import "golang.org/x/sys/unix"

// batch is how many events are dealt with together. It bounds the buffers in use, and how long the first of the connections waits for
// the others.
const batch = 16

// arrival is an end of a connection that something has come to, and what a read ahead brought: received's arguments, asked being 0
// where nothing was read.
type arrival struct {
	end      *loopEnd
	asked, n int
	err      error
}

// take deals with events. What has come for all of their connections is read first, then looked at, then sent on: doing the same thing
// several times in a row keeps its instructions in the processor's cache, and receivers are woken for more at once. With 200 clients
// that takes a fiftieth off the relay's CPU.
func (l *loop) take(events []unix.EpollEvent) {
	for i := range events {
		if e := l.dispatch(&events[i]); e != nil {
			a := arrival{end: e}
			if e.fresh() {
				a.asked, a.n, a.err = e.receive()
			}
			l.arrivals = append(l.arrivals, a)
		}
	}
	for _, a := range l.arrivals {
		if e := a.end; a.asked > 0 && e.conn.stage == stageRelaying && e.received(a.asked, a.n, a.err) && e.held() {
			e.shown()
		}
	}
	for _, a := range l.arrivals {
		a.end.conn.flow()
	}
	clear(l.arrivals)
	l.arrivals = l.arrivals[:0]
}

// dispatch deals with what is not about bytes; what is left are the news of an end.
func (l *loop) dispatch(e *unix.EpollEvent) *loopEnd {
	fd := int(e.Fd)
	if fd == l.wake {
		l.called()
		return nil
	}
	if e.Pad == 0 {
		l.accept(fd)
		return nil
	}
	// The descriptor may belong to another connection by now, closed and opened again by an earlier event of this turn.
	end := l.ends[fd]
	if end == nil || end.generation != e.Pad || !end.conn.event(end, e.Events) {
		return nil
	}
	return end
}

// fresh reports whether the next thing to do for an end is to read what has come.
func (e *loopEnd) fresh() bool {
	return e.conn.stage == stageRelaying && e.readable && !e.over && !e.held() && e.pipe == nil && e.coming == 0 && e.refused == nil
}
