package pipeline

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/beltran/gohive/hiveserver"
)

func TestServiceOneCallAtATime(t *testing.T) {
	h := startHive(t)
	h.plan("row")
	s := NewService(To(h.config()), map[string]string{"set:hiveconf:a": "1"})
	defer s.Close()
	if len(h.statements()) != 0 || h.accepted() != 0 {
		t.Fatal("it dialled before it was asked")
	}
	res, err := s.Query(within(t), "first")
	if err != nil || len(res.Rows) != 1 || *res.Rows[0][0] != "row" {
		t.Fatalf("got %+v, %v", res, err)
	}
	if c := h.configurations(); len(c) != 1 || c[0]["set:hiveconf:a"] != "1" {
		t.Errorf("opened with %v", c)
	}

	h.hold()
	done := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := s.Query(within(t), "together")
			done <- err
		}()
	}
	eventually(t, "one has arrived", func() bool { return slices.Contains(h.statements(), "together") })
	ctx, cancel := context.WithCancel(within(t))
	cancel()
	if _, err := s.Query(ctx, "too late"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n := count1(h.statements(), "together"); n != 1 {
		t.Errorf("%d at once", n)
	}
	h.release()
	for range 2 {
		if err := receive(t, done); err != nil {
			t.Error(err)
		}
	}
	if count1(h.statements(), "together") != 2 || h.accepted() != 1 {
		t.Errorf("%v over %d connections", h.statements(), h.accepted())
	}
}

// count1 counts a statement among others.
func count1(all []string, one string) int {
	return len(slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s != one }))
}

func TestServiceReopens(t *testing.T) {
	ask := func(t *testing.T, s *Service) error {
		t.Helper()
		_, err := s.Query(within(t), "SELECT 1")
		return err
	}
	t.Run("broken connection", func(t *testing.T) {
		h := startHive(t)
		s := NewService(To(h.config()), nil)
		defer s.Close()
		if err := ask(t, s); err != nil {
			t.Fatal(err)
		}
		h.disconnect()
		eventually(t, "the connection is gone", func() bool { return h.connections() == 0 })
		if err := ask(t, s); err != nil || h.accepted() != 2 {
			t.Errorf("got %v over %d connections", err, h.accepted())
		}
	})
	t.Run("session gone", func(t *testing.T) {
		h := startHive(t)
		s := NewService(To(h.config()), nil)
		defer s.Close()
		if err := ask(t, s); err != nil {
			t.Fatal(err)
		}
		h.set(func() { clear(h.mu.sessions) })
		if err := ask(t, s); err != nil || len(h.configurations()) != 2 {
			t.Errorf("got %v, %d sessions opened", err, len(h.configurations()))
		}
	})
	t.Run("always broken", func(t *testing.T) {
		h := startHive(t)
		s := NewService(To(h.config()), nil)
		defer s.Close()
		h.set(func() { h.mu.breaks = func(string) bool { return true } })
		if err := ask(t, s); err == nil {
			t.Error("no error")
		}
		h.set(func() { h.mu.breaks = nil })
		if err := ask(t, s); err != nil {
			t.Errorf("the next call did not open anew: %v", err)
		}
	})
	t.Run("refusal", func(t *testing.T) {
		h := startHive(t)
		s := NewService(To(h.config()), nil)
		defer s.Close()
		if err := ask(t, s); err != nil {
			t.Fatal(err)
		}
		h.set(func() {
			h.mu.refuse = func(*hiveserver.TExecuteStatementReq) *hiveserver.TStatus { return refusedStatus(10001, "no table") }
		})
		if _, refused := refusal(ask(t, s)); !refused || h.accepted() != 1 {
			t.Errorf("refused %v, %d connections", refused, h.accepted())
		}
	})
}

func TestServiceCloseWaits(t *testing.T) {
	h := startHive(t)
	s := NewService(To(h.config()), nil)
	if _, err := s.Query(within(t), "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	h.hold()
	done := make(chan error, 1)
	go func() {
		_, err := s.Query(within(t), "long")
		done <- err
	}()
	eventually(t, "it has arrived", func() bool { return slices.Contains(h.statements(), "long") })
	closed := make(chan struct{})
	go func() {
		s.Close()
		s.Close()
		close(closed)
	}()
	select {
	case <-closed:
		t.Error("closed under a running call")
	default:
	}
	h.release()
	if err := receive(t, done); err != nil {
		t.Errorf("the running call: %v", err)
	}
	receive(t, closed)
	if _, err := s.Query(within(t), "SELECT 1"); !errors.Is(err, errServiceClosed) {
		t.Errorf("got %v", err)
	}
	h.wantOpen(t, 0)
	NewService(To(h.config()), nil).Close() // never used
}
