package pipeline

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/store"
)

// Spool keeps records outside memory, in order. One goroutine uses it.
type Spool interface {
	// Append adds records at the end and numbers them, rising. 0 stands for one that can never be kept; it is left out and
	// counted by the Spool. On an error, numbers covers the records before those that were not kept.
	Append(records []Record) (numbers []uint64, err error)
	// Front is the oldest record and its number, which is 0 when there is none. An error may pass.
	Front() (uint64, Record, error)
	// Pop forgets the oldest record, when that is still its number. After an error it may come back with a restart.
	Pop(number uint64) error
}

const (
	// slowAfter is how long a write may take before what waits behind it, and the record itself, is put on disk.
	slowAfter = time.Second
	// spoolBatch is how many records are put on disk at a time.
	spoolBatch = 256
	// spoolBacklog is how many records may wait for a store that answers, only slowly, before they go to disk.
	spoolBacklog = recordBacklog / 2
)

// StartSpooledWriter is StartWriter with a spool: while Postgres is away, hangs or cannot keep up, records are put on disk
// and replayed in order. When the disk fails too, they wait in memory as without a spool. A record may reach the store
// twice when the process dies between the store's commit and the spool's Pop.
func StartSpooledWriter(s Records, spool Spool, log zerolog.Logger, counters *Counters, recorded func(store.Observation)) *Writer {
	w, ctx := newWriter(s, log, counters, recorded)
	sp := &spooler{
		Writer: w, spool: spool, todo: make(chan Record, 1), done: make(chan error, 1), pause: firstBackoff, spooling: true,
	}
	w.wg.Go(func() { sp.run(ctx) })
	return w
}

// spooler is a Writer's goroutine where there is a spool. It never waits for the store: a second goroutine does that.
//
// Order: what is on disk comes first, then batch, then the backlog. Without spooling, batch is the record in hand alone.
type spooler struct {
	*Writer
	spool Spool
	todo  chan Record
	done  chan error
	timer *time.Timer // the end of a pause, or when the record in hand takes long
	disk  *time.Timer // when the disk is tried again

	// spooling: new records are put on disk. It ends when the disk holds none and the backlog is short.
	spooling bool
	// batch was taken from the backlog and is not on disk.
	batch []Record
	// busy: the store has a record in hand, number of the spool or, where that is 0, the first of batch.
	busy   bool
	number uint64
	// pausing before the next try; pause is how long the next pause is.
	pausing bool
	pause   time.Duration
	// stopping: there will be no more records. away: the store was not there since.
	stopping, away bool
	// faulty: the disk refused, and that has been logged.
	faulty bool
}

// gone is the number of a record in hand that the spool would not keep.
const gone = ^uint64(0)

func (s *spooler) run(ctx context.Context) {
	s.timer, s.disk = time.NewTimer(slowAfter), time.NewTimer(slowAfter)
	defer s.timer.Stop()
	defer s.disk.Stop()
	var worker sync.WaitGroup
	worker.Go(func() { s.work(ctx) })
	s.loop(ctx)
	s.save()
	close(s.todo)
	s.cancel()
	worker.Wait()
	if s.busy {
		s.settle(<-s.done)
	}
	s.left = len(s.batch) + len(s.backlog)
	s.counters.RecordDropped.Add(int64(s.left))
}

// work puts one record after the other into the store.
func (s *spooler) work(ctx context.Context) {
	timeouts := 0
	for r := range s.todo {
		err := s.attempt(ctx, r, &timeouts)
		if err == nil {
			timeouts = 0
		}
		s.done <- err
	}
}

func (s *spooler) loop(ctx context.Context) {
	stop := s.stop
	for {
		s.deliver()
		if s.stopping && len(s.batch)+len(s.backlog) == 0 && (s.away || !s.busy && !s.spooling) {
			return
		}
		var backlog <-chan Record
		if len(s.batch) == 0 {
			backlog = s.backlog
		}
		select {
		case r := <-backlog:
			s.take(r)
		case err := <-s.done:
			s.delivered(ctx, err)
		case <-s.timer.C:
			s.late()
		case <-s.disk.C:
			if s.faulty && s.spooling {
				s.flush()
			}
		case <-stop:
			s.stopping, s.pausing, stop = true, false, nil
			s.timer.Reset(slowAfter)
		case <-ctx.Done():
			return
		}
	}
}

// deliver gives the store the oldest record, when it is free.
func (s *spooler) deliver() {
	if s.busy || s.pausing {
		return
	}
	number, r, err := s.spool.Front()
	switch {
	case err != nil:
		s.fault(err)
		s.wait()
		return
	case number != 0:
	case len(s.batch) > 0:
		r = s.batch[0]
	default:
		s.idle()
		return
	}
	s.busy, s.number = true, number
	s.todo <- r
	s.timer.Reset(slowAfter)
}

// idle: the store is free, and nothing waits but the backlog. When that is long already, the store does not keep up.
func (s *spooler) idle() {
	spooling := len(s.backlog) > spoolBacklog
	if spooling && !s.spooling {
		s.log.Warn().Int("waiting", len(s.backlog)).Msg("Postgres does not keep up; observations go to the spool")
	}
	s.spooling = spooling
	s.faulty = s.faulty && spooling
}

func (s *spooler) take(r Record) {
	s.batch = append(s.batch, r)
	if !s.spooling {
		return
	}
	for len(s.batch) < spoolBatch && len(s.backlog) > 0 {
		s.batch = append(s.batch, <-s.backlog)
	}
	s.flush()
}

// flush puts batch on disk; what the disk refuses stays in it.
func (s *spooler) flush() bool {
	if len(s.batch) == 0 {
		return true
	}
	numbers, err := s.spool.Append(s.batch)
	for _, n := range numbers {
		if n != 0 {
			s.counters.Spooled.Add(1)
		}
	}
	if s.busy && s.number == 0 && len(numbers) > 0 {
		if s.number = numbers[0]; s.number == 0 {
			s.number = gone
		}
	}
	s.batch = append(s.batch[:0:0], s.batch[len(numbers):]...)
	if err != nil {
		s.fault(err)
		return false
	}
	if s.faulty {
		s.faulty = false
		s.log.Info().Msg("the spool works again")
	}
	return true
}

func (s *spooler) fault(err error) {
	s.counters.SpoolFaults.Add(1)
	s.disk.Reset(slowAfter)
	if !s.faulty {
		s.faulty = true
		s.log.Error().Err(err).Msg("the spool's disk fails; observations wait in memory")
	}
}

// settle takes the store's answer about the record in hand; false: it has to be tried again.
func (s *spooler) settle(err error) bool {
	number := s.number
	s.busy, s.number = false, 0
	if err != nil {
		return false
	}
	if number == 0 {
		s.batch = s.batch[1:]
		return true
	}
	s.counters.Replayed.Add(1)
	if err := s.spool.Pop(number); err != nil {
		s.fault(err)
	}
	return true
}

func (s *spooler) delivered(ctx context.Context, err error) {
	if s.settle(err) {
		s.pause = firstBackoff
		return
	}
	if ctx.Err() != nil {
		return
	}
	s.log.Warn().Err(err).Dur("retry_in", s.pause).Msg("Postgres is away; observations go to the spool")
	s.spooling, s.away = true, s.stopping
	s.flush()
	s.wait()
}

// wait pauses the deliveries.
func (s *spooler) wait() {
	s.pausing = true
	s.timer.Reset(s.pause)
	s.pause = min(2*s.pause, longestPause)
}

// late ends a pause, or puts on disk what waits for a slow store.
func (s *spooler) late() {
	if s.busy {
		if !s.spooling {
			s.log.Warn().Msg("Postgres is slow; observations go to the spool")
		}
		s.spooling, s.away = true, s.stopping
		s.timer.Reset(slowAfter)
		s.flush()
	}
	s.pausing = false
}

// save puts on disk what is still in memory.
func (s *spooler) save() {
	for s.flush() && len(s.backlog) > 0 {
		for len(s.batch) < spoolBatch && len(s.backlog) > 0 {
			s.batch = append(s.batch, <-s.backlog)
		}
	}
}
