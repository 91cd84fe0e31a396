package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/store"
)

// Records is the part of the store the pipeline writes observations to.
type Records interface {
	RecordStatement(ctx context.Context, o store.Observation) error
	UpsertSession(ctx context.Context, s intercept.Session) error
	CloseSession(ctx context.Context, s intercept.Session) error
	RecordActuals(ctx context.Context, a store.Actuals) error
}

// Record is one write: an observation, a session opened or closed, or rows that operators were counted with.
type Record struct {
	Observation *store.Observation
	Session     *intercept.Session
	Actuals     *store.Actuals
}

const (
	writeTimeout  = 20 * time.Second
	firstBackoff  = 200 * time.Millisecond
	longestPause  = 15 * time.Second
	recordBacklog = 8192
	// maxTimeouts of one record in a row: then the record is at fault, not the database.
	maxTimeouts = 5
)

// Writer puts records into the store in the order they came. While Postgres is away it waits and tries again; when its
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
	left    int // records lost when it ended, the one in hand among them
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
		select {
		case r := <-w.backlog:
			if !w.write(ctx, r) {
				w.left++
				return
			}
			continue
		default:
		}
		select {
		case r := <-w.backlog:
			if !w.write(ctx, r) {
				w.left++
				return
			}
		case <-w.stop:
			if len(w.backlog) == 0 {
				return
			}
		}
	}
}

// write tries until the record is in or is refused for what it holds. It reports false when ctx ended before.
func (w *Writer) write(ctx context.Context, r Record) bool {
	pause, timeouts, stop := firstBackoff, 0, w.stop
	for {
		err := w.attempt(ctx, r, &timeouts)
		switch {
		case err == nil:
			return true
		case ctx.Err() != nil:
			return false
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
}

// attempt tries once. Nil: the record is in, or refused for what it holds. An error: it may go in later. timeouts counts
// those of this record in a row.
func (w *Writer) attempt(ctx context.Context, r Record, timeouts *int) error {
	err := w.once(ctx, r)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) && *timeouts < maxTimeouts {
		*timeouts++
		err = fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	switch {
	case err == nil:
		w.counters.Recorded.Add(1)
		w.tell(r)
		return nil
	case ctx.Err() != nil, errors.Is(err, store.ErrUnavailable):
		return err
	default:
		w.counters.RecordFailed.Add(1)
		w.log.Error().Err(err).Msg("Postgres refuses a record; it is left out")
		return nil
	}
}

func (w *Writer) tell(r Record) {
	if r.Observation == nil || w.recorded == nil {
		return
	}
	defer isolate(w.log, w.counters, "what follows a record panicked")
	w.recorded(*r.Observation)
}

var errPanicked = errors.New("record: panicked")

// once isolates a panic: the record is left out.
func (w *Writer) once(ctx context.Context, r Record) (err error) {
	err = errPanicked
	defer isolate(w.log, w.counters, "recording panicked; the record is left out")
	err = w.put(ctx, r)
	return err
}

func (w *Writer) put(ctx context.Context, r Record) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	switch {
	case r.Observation != nil:
		return w.store.RecordStatement(ctx, *r.Observation)
	case r.Actuals != nil:
		return w.store.RecordActuals(ctx, *r.Actuals)
	case r.Session.ClosedAt.IsZero():
		return w.store.UpsertSession(ctx, *r.Session)
	default:
		return w.store.CloseSession(ctx, *r.Session)
	}
}
