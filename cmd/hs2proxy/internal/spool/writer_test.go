package spool

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/store"
)

// inWorld runs a test in a world whose store is in a mode, on synctest's clock.
func inWorld(t *testing.T, m mode, test func(t *testing.T, w *world)) {
	t.Helper()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := &world{root: root, limit: 64 << 20, size: 100, store: &fakeStore{mode: m}}
		w.dir = w.next()
		w.begin()
		test(t, w)
		if w.problem != "" {
			t.Error(w.problem)
		}
	})
}

func (w *world) add(n int) { w.do(action{"add", n}) }

// wantArrived: the store has the first n records, once and in order.
func (w *world) wantArrived(n int) {
	arrived, _, disorder := w.store.snapshot()
	if len(arrived) != n || len(disorder) != 0 || n > 0 && arrived[n-1] != n {
		w.fail("%d arrived, want %d; out of order: %v", len(arrived), n, disorder)
	}
}

func TestNothingIsWrittenWhileTheStoreIsThere(t *testing.T) {
	inWorld(t, up, func(t *testing.T, w *world) {
		w.add(1000)
		w.wait(time.Second)
		w.wantArrived(1000)
		if left := w.end(time.Second); left != 0 || w.counters.Spooled.Load() != 0 {
			t.Errorf("%d left, %d spooled", left, w.counters.Spooled.Load())
		}
	})
}

// A store that hangs holds one record; that one and those behind it are on disk within seconds.
func TestAHangingStoreIsNotWaitedFor(t *testing.T) {
	inWorld(t, hang, func(t *testing.T, w *world) {
		w.add(100)
		w.wait(2 * time.Second)
		if n := w.spool.Len(); n != 100 {
			t.Errorf("%d on disk, want 100", n)
		}
		w.add(20_000) // more than memory takes, in one go: the rest is dropped
		w.wait(2 * time.Second)
		kept := w.spool.Len()
		if lost := w.counters.RecordDropped.Load(); kept+lost != 20_100 || kept < 8192 {
			t.Errorf("%d on disk, %d dropped", kept, lost)
		}
		for range 3 { // as it comes, all is kept
			w.add(5000)
			w.wait(100 * time.Millisecond)
		}
		if n := w.spool.Len(); n != kept+15_000 {
			t.Errorf("%d on disk, want %d", n, kept+15_000)
		}
		w.store.set(up)
		w.wait(time.Minute)
		if n := w.spool.Len(); n != 0 || w.counters.Replayed.Load() != kept+15_000 {
			t.Errorf("%d on disk, %d replayed", n, w.counters.Replayed.Load())
		}
		w.end(time.Second)
	})
}

func TestAStoreThatDoesNotKeepUpLosesNothing(t *testing.T) {
	inWorld(t, slow, func(t *testing.T, w *world) {
		for range 10 {
			w.add(3000)
			w.wait(30 * time.Second)
		}
		if n := w.counters.RecordDropped.Load(); n != 0 || w.spool.Len() == 0 {
			t.Errorf("%d dropped, %d on disk", n, w.spool.Len())
		}
		w.wait(time.Hour)
		w.wantArrived(30_000)
		w.end(time.Second)
	})
}

// A full disk is as no spool: records wait in memory, and the log says it once.
func TestAFullDiskIsAsNoSpool(t *testing.T) {
	inWorld(t, down, func(t *testing.T, w *world) {
		var log bytes.Buffer
		w.end(time.Second)
		w.counters = &pipeline.Counters{}
		s, err := Open(Options{Dir: w.dir, Limit: w.limit, Log: zerolog.Nop(), Counters: w.counters})
		if err != nil {
			t.Fatal(err)
		}
		s.log.openFile = func(path string) (file, error) {
			f, err := createFile(path)
			return fullFile{f, &w.full}, err
		}
		w.spool = s
		w.writer = pipeline.StartSpooledWriter(w.store, s, zerolog.New(&log), w.counters, nil)

		w.add(100)
		w.wait(time.Second)
		w.full.Store(true)
		w.add(200)
		w.wait(time.Minute)
		w.add(7000)
		w.wait(time.Minute)
		if n, faults := w.spool.Len(), w.counters.SpoolFaults.Load(); n != 100 || faults < 10 || w.counters.RecordDropped.Load() != 0 {
			t.Errorf("%d on disk, %d faults, %d dropped", n, faults, w.counters.RecordDropped.Load())
		}
		w.full.Store(false)
		w.wait(2 * time.Second)
		if n := w.spool.Len(); n != 7300 {
			t.Errorf("%d on disk, want 7300", n)
		}
		w.full.Store(true)
		w.add(50)
		w.wait(time.Second)
		w.store.set(up) // what is in memory comes after what is on disk
		w.wait(time.Minute)
		w.wantArrived(7350)
		w.end(time.Second)
		for line, want := range map[string]int{"the spool's disk fails": 2, "the spool works again": 1} {
			if n := strings.Count(log.String(), line); n != want {
				t.Errorf("%q is logged %d times, want %d", line, n, want)
			}
		}
	})
}

func TestStopDoesNotWaitForAStoreThatIsAway(t *testing.T) {
	for _, m := range []mode{down, hang} {
		inWorld(t, m, func(t *testing.T, w *world) {
			w.add(500)
			begin := time.Now() // of a fake clock
			if left := w.end(time.Hour); left != 0 {
				t.Errorf("%d left", left)
			}
			if d := time.Since(begin); d > 3*time.Second {
				t.Errorf("it took %s", d)
			}
			w.store = w.store.copy()
			w.store.set(up)
			w.begin()
			w.wait(time.Minute)
			w.wantArrived(500)
			w.end(time.Second)
		})
	}
}

// What the store says at the last moment counts.
func TestStopTakesTheLastAnswer(t *testing.T) {
	inWorld(t, late, func(t *testing.T, w *world) {
		w.add(1)
		w.wait(2 * time.Second)
		if n := w.spool.Len(); n != 1 {
			t.Errorf("%d on disk, want 1", n)
		}
		w.end(time.Nanosecond)
		if n := w.spool.Len(); n != 0 {
			t.Errorf("%d on disk, want 0", n)
		}
		w.wantArrived(1)
	})
}

func TestStopFinishesTheReplayWhereTheStoreIsThere(t *testing.T) {
	inWorld(t, down, func(t *testing.T, w *world) {
		w.add(500)
		w.wait(2 * time.Minute) // the pauses between tries are long by now
		w.store.set(up)
		if left := w.end(time.Minute); left != 0 || w.spool.Len() != 0 {
			t.Errorf("%d left, %d on disk", left, w.spool.Len())
		}
		w.wantArrived(500)
	})
}

func TestStopWithAFullDiskCountsWhatIsLost(t *testing.T) {
	inWorld(t, down, func(t *testing.T, w *world) {
		w.full.Store(true)
		w.add(500)
		w.wait(time.Second)
		if left := w.end(10 * time.Second); left != 500 || w.counters.RecordDropped.Load() != 500 {
			t.Errorf("%d left, %d dropped, want 500", left, w.counters.RecordDropped.Load())
		}
	})
}

func TestObservationsAreToldWhenTheStoreHasThem(t *testing.T) {
	inWorld(t, down, func(t *testing.T, w *world) {
		w.end(time.Second)
		var told []string
		w.counters = &pipeline.Counters{}
		s, err := Open(Options{Dir: w.dir, Limit: w.limit, Log: zerolog.Nop(), Counters: w.counters})
		if err != nil {
			t.Fatal(err)
		}
		w.spool = s
		w.writer = pipeline.StartSpooledWriter(w.store, s, zerolog.Nop(), w.counters, func(o store.Observation) { told = append(told, o.Statement.ID) })
		w.add(3)
		w.wait(time.Second)
		if len(told) != 0 {
			t.Errorf("told of %v before the store had them", told)
		}
		w.store.set(up)
		w.wait(time.Minute)
		w.end(time.Second)
		if !slices.Equal(told, []string{"1", "2", "3"}) {
			t.Errorf("told of %v", told)
		}
	})
}

// What cannot be read back, or is refused by the store, does not hold up what is behind it.
func TestUnreadableAndRefusedRecords(t *testing.T) {
	inWorld(t, down, func(t *testing.T, w *world) {
		w.add(2)
		w.wait(time.Second)
		w.end(time.Second)
		l := openLog(t, w.dir, w.limit)
		appendAll(t, l, "{", `{"v":99,"session":{}}`)
		closeLog(t, l)
		w.store = w.store.copy()
		w.begin()
		w.writer.Add(pipeline.Record{Observation: &store.Observation{}}) // its number is none: refused
		w.writer.Add(pipeline.Record{})                                  // has no form on disk
		w.add(1)
		w.wait(time.Second)
		w.store.set(up)
		w.wait(time.Minute)
		w.wantArrived(3)
		if left := w.end(time.Second); left != 0 || w.counters.SpoolDropped.Load() != 2 || w.counters.RecordFailed.Load() != 2 {
			t.Errorf("%d left, %d dropped, %d failed", left, w.counters.SpoolDropped.Load(), w.counters.RecordFailed.Load())
		}
	})
}

// A record that the store refuses, in the midst of what was spooled and of what waits in memory, is left out alone; all others arrive
// once and in order.
func TestAPoisonedRecordTakesNoOtherWithIt(t *testing.T) {
	poison := func() pipeline.Record {
		return pipeline.Record{Observation: &store.Observation{Statement: intercept.Statement{ID: "poison"}}}
	}
	for _, before := range []int{0, 1, 100, 299} {
		inWorld(t, down, func(t *testing.T, w *world) {
			w.add(before)
			w.writer.Add(poison())
			w.add(300 - before)
			w.wait(time.Minute)
			if n := w.spool.Len(); n != 301 {
				t.Errorf("%d on disk, want 301", n)
			}
			w.end(time.Second) // the next process replays it
			w.store = w.store.copy()
			w.begin()
			w.store.set(up)
			w.wait(time.Minute)
			w.wantArrived(300)
			w.writer.Add(poison())
			w.add(300)
			w.writer.Add(poison())
			w.wait(time.Minute)
			w.wantArrived(600)
			if left := w.end(time.Second); left != 0 || w.counters.RecordFailed.Load() != 3 || w.counters.SpoolDropped.Load() != 0 || w.counters.Recorded.Load() != 600 {
				t.Errorf("%d left, %d failed, %d dropped, %d recorded", left, w.counters.RecordFailed.Load(), w.counters.SpoolDropped.Load(), w.counters.Recorded.Load())
			}
		})
	}
}

func TestAddNeverBlocks(t *testing.T) {
	inWorld(t, hang, func(t *testing.T, w *world) {
		w.full.Store(true)
		w.add(50_000)
		w.wait(time.Minute)
		if n := w.counters.RecordDropped.Load(); n < 50_000-8192-256-1 || n > 50_000-8192 {
			t.Errorf("%d dropped", n)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		w.writer.Stop(ctx)
		if err := w.spool.Close(); err != nil {
			t.Error(err)
		}
		if n := w.counters.RecordDropped.Load(); n != 50_000 {
			t.Errorf("%d dropped in the end", n)
		}
	})
}
