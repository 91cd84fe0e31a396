//go:build linux

package listen

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open listens as one of several and answers every connection with a byte, until Close.
func open(t *testing.T, address string, answer byte) *Listener {
	t.Helper()
	l, err := Open(t.Context(), address, true)
	if err != nil {
		t.Fatal(err)
	}
	l.settle = 100 * time.Millisecond
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte{answer})
			_ = c.Close()
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return l
}

// ask connects and returns who answered.
func ask(address string) (byte, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.Close() }()
	var answer [1]byte
	_, err = io.ReadFull(c, answer[:])
	return answer[0], err
}

// storm connects all the time, in several goroutines, until stopped; it counts answers and keeps the first failure.
type storm struct {
	stop    atomic.Bool
	wg      sync.WaitGroup
	answers [256]atomic.Int64
	failure atomic.Pointer[error]
}

func startStorm(address string) *storm {
	s := &storm{}
	for range 4 {
		s.wg.Go(func() {
			for !s.stop.Load() {
				who, err := ask(address)
				if err != nil {
					s.failure.CompareAndSwap(nil, &err)
					return
				}
				s.answers[who].Add(1)
			}
		})
	}
	return s
}

func (s *storm) end() {
	s.stop.Store(true)
	s.wg.Wait()
}

// until waits for the storm to see n more answers of one.
func (s *storm) until(t *testing.T, who byte, n int64) {
	t.Helper()
	goal := s.answers[who].Load() + n
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for s.answers[who].Load() < goal {
		if err := s.failure.Load(); err != nil {
			t.Fatal(*err)
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("no answer of %c in time", who)
		}
	}
}

// TestHandOverRefusesNobody: a second listener comes, the first yields and closes, under a storm of connections, several
// times over; then the younger of two goes.
func TestHandOverRefusesNobody(t *testing.T) {
	old := open(t, "127.0.0.1:0", 'a')
	address := old.Addr().String()
	s := startStorm(address)
	defer s.end()
	s.until(t, 'a', 50)
	for _, next := range []byte("bcd") {
		young := open(t, address, next)
		s.until(t, next, 20)
		if err := old.Yield(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := old.accepted.Load()
		if err := old.Close(); err != nil {
			t.Fatal(err)
		}
		s.until(t, next, 50)
		if old.accepted.Load() != before {
			t.Error("the closed listener accepted")
		}
		old = young
	}
	young := open(t, address, 'x')
	s.until(t, 'x', 20)
	if err := young.Yield(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = young.Close()
	s.until(t, 'd', 50)
	open(t, address, 'e') // it gets its share, whatever the one that left had asked for
	s.until(t, 'e', 20)
	s.until(t, 'd', 20)
	s.end()
	if err := s.failure.Load(); err != nil {
		t.Errorf("a client saw %v", *err)
	}
}

func TestYieldAlone(t *testing.T) {
	l := open(t, "127.0.0.1:0", 'a')
	s := startStorm(l.Addr().String())
	defer s.end()
	s.until(t, 'a', 1)
	if err := l.Yield(t.Context()); !errors.Is(err, ErrAlone) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Yield(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	s.end()
	if err := s.failure.Load(); err != nil {
		t.Errorf("a client saw %v", *err)
	}
}

func TestNotShared(t *testing.T) {
	l, err := Open(t.Context(), "127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if err := l.Yield(t.Context()); err != nil {
		t.Error(err)
	}
	if other, err := Open(t.Context(), l.Addr().String(), true); err == nil {
		_ = other.Close()
		t.Error("a port that is not shared was shared")
	}
}
