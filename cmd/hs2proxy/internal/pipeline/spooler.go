package pipeline

import (
	"context"
	"errors"
	"slices"
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
	// Front are the oldest records, at most so many, and the number of the first, which is 0 when there is none; the others follow it by
	// one. An error may pass.
	Front(most int) (first uint64, records []Record, err error)
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
// and replayed in order. When the disk fails too, they wait in memory as without a spool. The records of one batch may reach
// the store twice when the process dies between the store's commit and the spool's Pop.
func StartSpooledWriter(s Records, spool Spool, log zerolog.Logger, counters *Counters, recorded func(store.Observation)) *Writer {
	w, ctx := newWriter(s, log, counters, recorded)
	sp := &spooler{
		Writer: w, spool: spool, todo: make(chan []Record, 1), done: make(chan stored, 1), pause: firstBackoff, spooling: true, most: firstBatch,
	}
	w.wg.Go(func() { sp.run(ctx) })
	return w
}

// spooler is a Writer's goroutine where there is a spool. It never waits for the store: a second goroutine does that.
//
// Order: what is on disk comes first, then batch, then the backlog. Without spooling, batch is what is in hand.
type spooler struct {
	*Writer
	spool Spool
	todo  chan []Record
	done  chan stored
	timer *time.Timer // the end of a pause, or when what is in hand takes long
	disk  *time.Timer // when the disk is tried again

	// spooling: new records are put on disk. It ends when the disk holds none and the backlog is short.
	spooling bool
	// batch was taken from the backlog and is not on disk.
	batch []Record
	// hand is what the store has in hand, empty when it is free: numbers of the spool or, where they are 0, the first of batch.
	hand []uint64
	// most is how many records the store is given next, at most.
	most int
	// pausing before the next try; pause is how long the next pause is.
	pausing bool
	pause   time.Duration
	// stopping: there will be no more records. away: the store was not there since.
	stopping, away bool
	// faulty: the disk refused, and that has been logged.
	faulty bool
}

// stored is the store's answer: done of what it had in hand need not be given to it again.
type stored struct {
	done, most int
	err        error
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
	if len(s.hand) > 0 {
		s.settle((<-s.done).done)
	}
	s.left = len(s.batch) + len(s.backlog)
	s.counters.RecordDropped.Add(int64(s.left))
}

// work puts one batch after the other into the store.
func (s *spooler) work(ctx context.Context) {
	timeouts := 0
	for records := range s.todo {
		var a stored
		a.done, a.err = s.attempt(ctx, records, &timeouts)
		a.most = s.Writer.most
		s.done <- a
	}
}

func (s *spooler) loop(ctx context.Context) {
	stop := s.stop
	for {
		s.deliver()
		if s.stopping && len(s.batch)+len(s.backlog) == 0 && (s.away || len(s.hand) == 0 && !s.spooling) {
			return
		}
		var backlog <-chan Record
		if len(s.batch) == 0 {
			backlog = s.backlog
		}
		select {
		case r := <-backlog:
			s.take(r)
		case a := <-s.done:
			s.delivered(ctx, a)
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

// deliver gives the store the oldest records, when it is free.
func (s *spooler) deliver() {
	if len(s.hand) > 0 || s.pausing {
		return
	}
	first, records, err := s.spool.Front(s.most)
	switch {
	case err != nil:
		s.fault(err)
		s.wait()
		return
	case first != 0:
	case len(s.batch) > 0:
		records = slices.Clone(s.batch[:min(s.most, len(s.batch))])
	default:
		s.idle()
		return
	}
	s.hand = make([]uint64, len(records))
	for i, number := 0, first; first != 0 && i < len(s.hand); i, number = i+1, number+1 {
		s.hand[i] = number
	}
	s.todo <- records
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
	if !s.spooling {
		s.batch = s.gather(append(s.batch, r), s.most)
		return
	}
	s.batch = s.gather(append(s.batch, r), spoolBatch)
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
	if waiting := slices.Index(s.hand, 0); waiting >= 0 { // the first of batch
		for i, n := range numbers[:min(len(numbers), len(s.hand)-waiting)] {
			if n == 0 {
				n = gone
			}
			s.hand[waiting+i] = n
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

// settle forgets what need not be given to the store again, of what it had in hand.
func (s *spooler) settle(done int) {
	hand := s.hand[:done]
	s.hand = nil
	for _, number := range hand {
		if number == 0 {
			s.batch = s.batch[1:]
			continue
		}
		s.counters.Replayed.Add(1)
		if err := s.spool.Pop(number); err != nil {
			s.fault(err)
		}
	}
}

func (s *spooler) delivered(ctx context.Context, a stored) {
	s.most = a.most
	s.settle(a.done)
	switch {
	case a.err == nil, errors.Is(a.err, errAlone):
		s.pause = firstBackoff
		return
	case ctx.Err() != nil:
		return
	}
	s.log.Warn().Err(a.err).Dur("retry_in", s.pause).Msg("Postgres is away; observations go to the spool")
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
	if len(s.hand) > 0 {
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
		s.batch = s.gather(s.batch, spoolBatch)
	}
}
