package statscheck

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// fakeHive answers statements from a script and notes what it was asked. It is one upstream: its sessions share the script.
type fakeHive struct {
	t  testing.TB
	mu sync.Mutex
	// answers by statement; the first is used up while more follow.
	answers map[string][]answer
	asked   []string
	open    int
	openErr error
}

type answer struct {
	rows [][]*string
	err  error
	// do runs before the answer, without the lock.
	do func(ctx context.Context) error
}

func newFakeHive(t testing.TB) *fakeHive { return &fakeHive{t: t, answers: map[string][]answer{}} }

func (h *fakeHive) on(sql string, answers ...answer) *fakeHive {
	h.answers[sql] = append(h.answers[sql], answers...)
	return h
}

func (h *fakeHive) Query(ctx context.Context, sql string) (client.Result, error) {
	h.mu.Lock()
	h.asked = append(h.asked, sql)
	list := h.answers[sql]
	var a answer
	switch len(list) {
	case 0:
		a.err = fmt.Errorf("the fake Hive knows no answer to %q", sql)
	case 1:
		a = list[0]
	default:
		a, h.answers[sql] = list[0], list[1:]
	}
	h.mu.Unlock()
	if a.do != nil {
		if err := a.do(ctx); err != nil {
			return client.Result{}, err
		}
	}
	if err := ctx.Err(); err != nil {
		return client.Result{}, err
	}
	return client.Result{Rows: a.rows}, a.err
}

func (h *fakeHive) statements() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.asked)
}

func (h *fakeHive) OpenSession(context.Context, Refresh) (Session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.openErr != nil {
		return nil, h.openErr
	}
	h.open++
	return &fakeSession{fakeHive: h}, nil
}

type fakeSession struct {
	*fakeHive
	closed bool
}

func (s *fakeSession) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		s.t.Error("session closed twice")
	}
	s.closed = true
	s.open--
	return nil
}

// wantClosed fails the test when a session was left open.
func (h *fakeHive) wantClosed() {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open != 0 {
		h.t.Errorf("%d sessions left open", h.open)
	}
}

func refused(code int32, message string) error {
	return &client.Error{Code: code, SQLState: "42000", Message: message}
}

// until blocks as a long statement does: it tells started, then waits for the cancellation.
func until(started chan<- struct{}) func(context.Context) error {
	return func(ctx context.Context) error {
		close(started)
		<-ctx.Done()
		return ctx.Err()
	}
}
