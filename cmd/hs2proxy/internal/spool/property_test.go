package spool

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
)

// action is one thing that happens to a proxy with a spool.
type action struct {
	Do string
	N  int
}

// world is one proxy after the other on one store; time is synctest's.
type world struct {
	root    string
	limit   int64
	size    int // of a record, about
	store   *fakeStore
	full    atomic.Bool // the disk
	dirs    int
	added   int // numbers 1 to added
	dropped int64
	late    int64 // arrived, but dropped while the store had them in hand

	dir      string
	spool    *Spool
	counters *pipeline.Counters
	writer   *pipeline.Writer
	problem  string
}

func (w *world) fail(format string, args ...any) {
	if w.problem == "" {
		w.problem = fmt.Sprintf(format, args...)
	}
}

// fullFile is a file on a disk that may be full.
type fullFile struct {
	file
	full *atomic.Bool
}

func (f fullFile) Write(p []byte) (int, error) {
	if f.full.Load() {
		n, _ := f.file.Write(p[:len(p)/2])
		return n, errFull
	}
	return f.file.Write(p)
}

// watched counts records that arrive after they were dropped.
type watched struct {
	*Spool
	late *int64
}

func (w watched) Pop(number uint64) error {
	if number < w.log.head {
		*w.late++
	}
	return w.Spool.Pop(number)
}

func (w *world) begin() {
	w.counters = &pipeline.Counters{}
	s, err := Open(Options{Dir: w.dir, Limit: w.limit, Log: zerolog.Nop(), Counters: w.counters})
	if err != nil {
		w.fail("open: %v", err)
		return
	}
	s.log.openFile = func(path string) (file, error) {
		f, err := createFile(path)
		return fullFile{f, &w.full}, err
	}
	w.spool = s
	w.writer = pipeline.StartSpooledWriter(w.store, watched{s, &w.late}, zerolog.Nop(), w.counters, nil)
}

// end stops the proxy; patience is how long it may try to get the rest into the store.
func (w *world) end(patience time.Duration) (left int) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	left = w.writer.Stop(ctx)
	if err := w.spool.Close(); err != nil {
		w.fail("close: %v", err)
	}
	return left
}

func (w *world) count() {
	w.dropped += w.counters.SpoolDropped.Load() + w.counters.RecordDropped.Load() + w.counters.RecordFailed.Load()
}

// wait lets time pass.
func (w *world) wait(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// crash leaves the folder as it is now to the next proxy, with a torn tail; the old one goes on where nobody looks.
func (w *world) crash(torn int) {
	// First until everything is on disk, or in a store that answers in time: what only memory has, a crash may take.
	if w.spool.Len() == 0 {
		w.wait(time.Minute)
	}
	w.wait(3 * time.Second)
	image := w.next()
	if err := os.CopyFS(image, os.DirFS(w.dir)); err != nil {
		w.fail("copy: %v", err)
		return
	}
	if err := os.Chmod(image, 0o700); err != nil {
		w.fail("chmod: %v", err)
	}
	w.count()
	w.store = w.store.copy()
	w.end(time.Nanosecond)
	w.dir = image
	if torn > 0 {
		w.tear(torn)
	}
	w.begin()
}

func (w *world) tear(n int) {
	paths, err := filepath.Glob(filepath.Join(w.dir, "*"+segmentSuffix))
	if err != nil || len(paths) == 0 {
		return
	}
	tail := appendRecord(nil, slices.Repeat([]byte("torn"), 50))
	f, err := os.OpenFile(paths[len(paths)-1], os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.Write(tail[:n%(len(tail)-1)+1])
	}
	if err != nil || f.Close() != nil {
		w.fail("tear: %v", err)
	}
}

func (w *world) next() string {
	w.dirs++
	return filepath.Join(w.root, fmt.Sprint(w.dirs))
}

func (w *world) do(a action) {
	switch a.Do {
	case "add":
		for range a.N {
			w.added++
			w.writer.Add(record(w.added, w.size))
		}
	case "up":
		w.store.set(up)
	case "down":
		w.store.set(down)
	case "hang":
		w.store.set(hang)
	case "lost answer":
		w.store.set(lostAnswer)
	case "lost hang":
		w.store.set(lostHang)
	case "slow":
		w.store.set(slow)
	case "wait":
		w.wait(time.Duration(a.N) * 100 * time.Millisecond)
	case "full":
		w.full.Store(true)
	case "room":
		w.full.Store(false)
	case "restart":
		w.full.Store(false) // what a full disk refuses to a proxy that ends is lost, and counted
		w.end(time.Duration(a.N) * 100 * time.Millisecond)
		w.count()
		w.begin()
	case "crash":
		w.full.Store(false)
		w.crash(a.N)
	}
}

// play runs a script, then lets the store come back for good, and says what was wrong.
func (w *world) play(script []action) string {
	w.dir = w.next()
	w.begin()
	for _, a := range script {
		if w.problem != "" {
			break
		}
		w.do(a)
	}
	w.full.Store(false)
	w.store.set(up)
	w.wait(10 * time.Minute)
	if n := w.spool.Len(); n != 0 {
		w.fail("%d records still wait", n)
	}
	if left := w.end(time.Minute); left != 0 {
		w.fail("%d records left", left)
	}
	w.count()
	arrived, _, disorder := w.store.snapshot()
	if len(disorder) > 0 {
		w.fail("out of order: %v", disorder)
	}
	if missing := int64(w.added - len(arrived)); missing != w.dropped-w.late {
		w.fail("%d of %d arrived, %d were counted as dropped, %d of those too late", len(arrived), w.added, w.dropped, w.late)
	}
	return w.problem
}

func scripts(kinds ...string) *rapid.Generator[[]action] {
	kinds = append(kinds, "add", "add", "add", "up", "down", "down", "hang", "wait", "wait", "full", "room", "restart")
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) action {
		return action{Do: rapid.SampledFrom(kinds).Draw(t, "do"), N: rapid.IntRange(0, 60).Draw(t, "n")}
	}), 1, 30)
}

func check(t *testing.T, limit int64, size int, kinds ...string) {
	root := t.TempDir()
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		script := scripts(kinds...).Draw(rt, "script")
		run++
		dir := filepath.Join(root, fmt.Sprint(run))
		if err := os.Mkdir(dir, 0o700); err != nil {
			rt.Fatal(err)
		}
		var problem string
		synctest.Test(t, func(*testing.T) {
			w := &world{root: dir, limit: limit, size: size, store: &fakeStore{}}
			problem = w.play(script)
		})
		if err := os.RemoveAll(dir); err != nil {
			rt.Fatal(err)
		}
		if problem != "" {
			rt.Fatal(problem)
		}
	})
}

// Whatever happens to the store, the disk and the proxy, each record arrives once, in order.
func TestEachRecordArrivesOnceInOrder(t *testing.T) {
	check(t, 64<<20, 100, "crash", "crash", "slow", "slow", "lost answer", "lost hang")
}

// Where there is too little room, what does not arrive is what was counted, and the rest is in order. (A record whose
// answer was lost may be dropped though it arrived; so no answer is lost here.)
func TestWhatIsDroppedIsCounted(t *testing.T) { check(t, MinLimit, 10<<10, "crash") }
