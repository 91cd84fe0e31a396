package spool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/store"
)

// The test binary runs itself as a proxy that is killed. These tell the child where and from which number; without a
// number it replays what is there and ends.
const (
	childVariable = "HS2PROXY_SPOOL_CHILD"
	firstVariable = "HS2PROXY_SPOOL_FIRST"
)

// fileStore is a store that outlives a process: a file of numbers, there while a file "up" exists.
type fileStore struct {
	dir string
	log *os.File
}

// Record is one line, and one write.
func (f fileStore) Record(_ context.Context, records []pipeline.Record) (int, error) {
	if _, err := os.Stat(filepath.Join(f.dir, "up")); err != nil {
		return 0, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	numbers := make([]string, len(records))
	for i, r := range records {
		n, err := number(r)
		if err != nil {
			return 0, err
		}
		numbers[i] = strconv.Itoa(n)
	}
	if _, err := f.log.WriteString(strings.Join(numbers, " ") + "\n"); err != nil {
		return 0, err
	}
	return len(records), nil
}

func openFileStore(dir string) (fileStore, error) {
	f, err := os.OpenFile(filepath.Join(dir, "store"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	return fileStore{dir, f}, err
}

// child is the proxy: it adds numbers until it is killed and prints how many it need not remember any more.
func child(dir string) int {
	st, err := openFileStore(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	counters := &pipeline.Counters{}
	s, err := Open(Options{Dir: filepath.Join(dir, "spool"), Limit: 64 << 20, Log: zerolog.New(os.Stderr), Counters: counters})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	w := pipeline.StartSpooledWriter(st, s, zerolog.Nop(), counters, nil)
	first, err := strconv.Atoi(os.Getenv(firstVariable))
	if err != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		left, waiting := w.Stop(ctx), s.Len()
		if err := s.Close(); left != 0 || waiting != 0 || err != nil {
			fmt.Fprintf(os.Stderr, "%d left, %d on disk, %v\n", left, waiting, err)
			return 1
		}
		return 0
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for added, told := 0, 0; ; <-tick.C {
		// Recorded is counted before Replayed: a batch less is certain.
		safe := int(counters.Recorded.Load() + counters.Spooled.Load() - counters.Replayed.Load() - 256)
		if safe > told {
			told = safe
			fmt.Println(told)
		}
		for ; added < told+600; added++ {
			w.Add(record(first+added, 500))
		}
	}
}

// Killed at any moment, store there or not: what the spool or the store had taken arrives, once, in order; only the records of the
// batch between the store's commit and the spool's note of it may arrive twice, one batch for each kill.
func TestKill9(t *testing.T) {
	dir := t.TempDir()
	const rounds, life = 8, 1_000_000
	safe := make([]int, rounds)
	toggle(t, dir, false)
	for i := range rounds {
		safe[i] = runUntilKilled(t, dir, i*life+1)
	}
	toggle(t, dir, true)
	if out, err := command(t, dir, "").CombinedOutput(); err != nil {
		t.Fatalf("the last proxy: %v\n%s", err, out)
	}
	arrived, twice := readStore(t, dir)
	perLife := make([]int, rounds)
	for _, n := range arrived {
		i := (n - 1) / life
		perLife[i]++
		if n != i*life+perLife[i] {
			t.Fatalf("record %d of life %d is %d", perLife[i], i, n)
		}
	}
	for i, n := range perLife {
		if n < safe[i] {
			t.Errorf("life %d: %d were safe, %d arrived", i, safe[i], n)
		}
	}
	if twice > rounds {
		t.Errorf("%d batches arrived twice in %d lives", twice, rounds)
	}
	t.Logf("safe %v, arrived %v, twice %d", safe, perLife, twice)
}

func command(t *testing.T, dir, first string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), childVariable+"="+dir, firstVariable+"="+first)
	return c
}

// runUntilKilled runs a proxy, lets the store come and go, kills it, and returns the last number it called safe.
func runUntilKilled(t *testing.T, dir string, first int) (safe int) {
	t.Helper()
	c := command(t, dir, strconv.Itoa(first))
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	c.Stderr = &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	up := false
	kill, next := 100+rand.IntN(3000), rand.IntN(800)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if safe, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatal(err)
		}
		if safe >= kill {
			break
		}
		if safe >= next {
			up, next = !up, next+rand.IntN(800)
			toggle(t, dir, up)
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // what it said before the end
		if n, err := strconv.Atoi(lines.Text()); err == nil {
			safe = n
		}
	}
	if err := c.Wait(); err == nil || c.ProcessState.Exited() {
		t.Fatalf("the proxy was not killed: %v\n%s", err, stderr.String())
	}
	return safe
}

func toggle(t *testing.T, dir string, up bool) {
	t.Helper()
	path := filepath.Join(dir, "up")
	var err error
	if up {
		err = os.WriteFile(path, nil, 0o600)
	} else if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		t.Fatal(err)
	}
}

// readStore returns the numbers in the store without those that came before, and how many batches came again. Only the last batch
// that brought something new may.
func readStore(t *testing.T, dir string) (arrived []int, twice int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	last, from, before := 0, 0, 0 // the last number, the first of its batch, and the number before
	for line := range strings.Lines(string(b)) {
		first := 0
		for _, word := range strings.Fields(line) {
			n, err := strconv.Atoi(word)
			if err != nil || n < from {
				t.Fatalf("%q after %d of a batch from %d: %v", word, last, from, err)
			}
			if first == 0 {
				first = n
			}
			switch {
			case n > last:
				arrived, last, from = append(arrived, n), n, first
			case n <= before: // once more from the start of that batch
				twice++
			}
			before = n
		}
	}
	return arrived, twice
}
