package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/store"
)

// Records is the part of the store the pipeline writes observations to.
type Records interface {
	// Record stores records in their order. done is how many of the first ones are stored; an error is about those behind them, of
	// which none is.
	Record(ctx context.Context, records []Record) (done int, err error)
}

// Record is one write: an observation, a session opened or closed, or rows that operators were counted with.
type Record = store.Record

const (
	writeTimeout  = 20 * time.Second
	firstBackoff  = 200 * time.Millisecond
	longestPause  = 15 * time.Second
	recordBacklog = 8192
	// maxTimeouts of one record in a row: then the record is at fault, not the database.
	maxTimeouts = 5
	// maxBatch is how many records go to the store at once, firstBatch how many at first; fewer where that takes longer than longBatch.
	maxBatch   = 256
	firstBatch = 16
	longBatch  = writeTimeout / 4
)

// errAlone: one of several records is refused for what it holds. Each is to be tried alone.
var errAlone = errors.New("one of several records is refused")

// Writer puts records into the store in the order they came, all that wait at a time: the more there are the less each
// costs, and one that comes alone waits for no other. When a batch fails, its records are tried one by one at first, so
// that one which is refused takes no other with it. While Postgres is away it waits and tries again; when its
// backlog is full, further records are dropped and counted. Add never blocks.
type Writer struct {
	store    Records
	log      zerolog.Logger
	counters *Counters
	// recorded is told of each observation that is safely in the store.
	recorded func(store.Observation)

	backlog chan Record
	stop    chan struct{}
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	left    int // records lost when it ended, those in hand among them
	// most is how many records go to the store next, at most; owned by the goroutine that writes.
	most int
}

// StartWriter starts writing. recorded may be nil.
func StartWriter(s Records, log zerolog.Logger, counters *Counters, recorded func(store.Observation)) *Writer {
	w, ctx := newWriter(s, log, counters, recorded)
	w.wg.Go(func() { w.run(ctx) })
	return w
}

func newWriter(s Records, log zerolog.Logger, counters *Counters, recorded func(store.Observation)) (*Writer, context.Context) {
	ctx, cancel := context.WithCancel(context.Background())
	return &Writer{
		store: s, log: log, counters: counters, recorded: recorded,
		backlog: make(chan Record, recordBacklog), stop: make(chan struct{}), cancel: cancel,
		most: firstBatch,
	}, ctx
}

// Add queues a record.
func (w *Writer) Add(r Record) {
	select {
	case w.backlog <- r:
	default:
		w.counters.RecordDropped.Add(1)
	}
}

// Waiting is how many records are queued.
func (w *Writer) Waiting() int { return len(w.backlog) }

// Stop writes what is queued until ctx ends, then gives up. It returns how many records were left, which are counted as
// dropped; with a spool that is what the disk refused too. Nothing may be added any more.
func (w *Writer) Stop(ctx context.Context) int {
	close(w.stop)
	defer context.AfterFunc(ctx, w.cancel)()
	w.wg.Wait()
	w.cancel()
	return w.left
}

func (w *Writer) run(ctx context.Context) {
	defer func() {
		w.left += len(w.backlog)
		w.counters.RecordDropped.Add(int64(w.left))
	}()
	for {
		r, ok := w.next()
		if !ok {
			return
		}
		if w.left = w.write(ctx, w.gather([]Record{r}, w.most)); w.left > 0 {
			return
		}
	}
}

// next waits for a record; false: there will be none.
func (w *Writer) next() (Record, bool) {
	select {
	case r := <-w.backlog:
		return r, true
	default:
	}
	select {
	case r := <-w.backlog:
		return r, true
	case <-w.stop:
	}
	select {
	case r := <-w.backlog:
		return r, true
	default:
		return Record{}, false
	}
}

// gather adds what waits, until there are so many.
func (w *Writer) gather(batch []Record, most int) []Record {
	for len(batch) < most && len(w.backlog) > 0 {
		batch = append(batch, <-w.backlog)
	}
	return batch
}

// write tries until all records are in or are refused for what they hold. It returns how many were left when ctx ended before.
func (w *Writer) write(ctx context.Context, records []Record) (left int) {
	pause, timeouts, stop := firstBackoff, 0, w.stop
	for len(records) > 0 {
		done, err := w.attempt(ctx, records[:min(w.most, len(records))], &timeouts)
		records = records[done:]
		switch {
		case err == nil, errors.Is(err, errAlone):
			pause = firstBackoff
			continue
		case ctx.Err() != nil:
			return len(records)
		}
		w.log.Warn().Err(err).Dur("retry_in", pause).Int("waiting", len(w.backlog)).
			Msg("Postgres is away; observations wait")
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-stop: // there is no time left to wait long
			stop = nil
		case <-ctx.Done():
		}
		timer.Stop()
		if pause = min(2*pause, longestPause); stop == nil {
			pause = firstBackoff
		}
	}
	return 0
}

// attempt tries once. done is how many of the first records are in, or refused for what they hold. An error: those behind them may go
// in later; errAlone: at once, each alone. timeouts counts those in a row.
func (w *Writer) attempt(ctx context.Context, records []Record, timeouts *int) (done int, err error) {
	began := time.Now()
	done, err = w.once(ctx, records)
	for _, r := range records[:done] {
		w.counters.Recorded.Add(1)
		w.tell(r)
	}
	if done > 0 {
		*timeouts = 0
	}
	switch {
	case err == nil:
		if w.most = min(2*w.most, maxBatch); time.Since(began) > longBatch {
			w.most = max(1, len(records)/2)
		}
		return done, nil
	case ctx.Err() != nil:
		return done, err
	}
	w.most = 1
	if errors.Is(err, context.DeadlineExceeded) && *timeouts < maxTimeouts {
		*timeouts++
		return done, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	switch {
	case errors.Is(err, store.ErrUnavailable):
		return done, err
	case len(records)-done > 1:
		return done, errAlone
	}
	*timeouts = 0
	w.counters.RecordFailed.Add(1)
	w.log.Error().Err(err).Msg("Postgres refuses a record; it is left out")
	return done + 1, nil
}

func (w *Writer) tell(r Record) {
	if r.Observation == nil || w.recorded == nil {
		return
	}
	defer isolate(w.log, w.counters, "what follows a record panicked")
	w.recorded(*r.Observation)
}

var errPanicked = errors.New("record: panicked")

// once isolates a panic: the record it is about is left out.
func (w *Writer) once(ctx context.Context, records []Record) (done int, err error) {
	err = errPanicked
	defer isolate(w.log, w.counters, "recording panicked; the record is left out")
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return w.store.Record(ctx, records)
}
