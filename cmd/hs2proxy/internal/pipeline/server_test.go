package pipeline

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/thrift/client"
)

func TestServerFacts(t *testing.T) {
	h, c := newFakeHive(), newClock()
	h.rows("SET -v", []string{"hive.a=1"}, []string{"hive.b=x=y"}, []string{"hive.empty="}, []string{"env:HOME=/h"}, []string{"system:user.name=u"},
		[]string{"a line of a value"}, []string{})
	s := NewServer(h, time.Hour, c.now)
	facts, err := s.Facts(within(t))
	if err != nil || facts.Version != "4.0.1" || !facts.ReadAt.Equal(c.now()) {
		t.Fatalf("got %+v, %v", facts, err)
	}
	if got, want := settingsKey(facts.Settings), "hive.a=1\nhive.b=x=y\nhive.empty=\n"; got != want {
		t.Errorf("settings %q, want %q", got, want)
	}

	h.rows("SET -v", []string{"hive.a=2"})
	c.pass(time.Hour - 1)
	if facts, _ = s.Facts(within(t)); facts.Settings["hive.a"] != "1" || h.times("SET -v") != 1 {
		t.Errorf("read again too early: %v", facts.Settings)
	}
	c.pass(1)
	if facts, _ = s.Facts(within(t)); facts.Settings["hive.a"] != "2" || h.times("SET -v") != 2 {
		t.Errorf("not read again: %v", facts.Settings)
	}
}

func TestServerKeepsOldFacts(t *testing.T) {
	h, c := newFakeHive(), newClock()
	s := NewServer(h, time.Hour, c.now)
	down := errors.New("connection refused")
	h.fails("SET -v", down)
	for range 2 {
		if _, err := s.Facts(within(t)); !errors.Is(err, down) {
			t.Fatalf("got %v", err)
		}
	}
	if n := h.times("SET -v"); n != 2 {
		t.Fatalf("asked %d times", n)
	}
	h.rows("SET -v", []string{"hive.a=1"})
	if _, err := s.Facts(within(t)); err != nil {
		t.Fatal(err)
	}
	c.pass(time.Hour)
	h.fails("SET -v", down)
	for range 3 {
		if facts, err := s.Facts(within(t)); err != nil || facts.Settings["hive.a"] != "1" {
			t.Errorf("got %v, %v", facts.Settings, err)
		}
	}
	if n := h.times("SET -v"); n != 4 {
		t.Errorf("asked %d times, want once while it does not answer", n)
	}
	c.pass(factsRetry)
	h.rows("SET -v", []string{"hive.a=2"})
	if facts, err := s.Facts(within(t)); err != nil || facts.Settings["hive.a"] != "2" {
		t.Errorf("got %v, %v", facts.Settings, err)
	}
}

func TestServerVersion(t *testing.T) {
	h := newFakeHive()
	h.fails("SELECT version()", &client.Error{Code: 10011, Message: "Invalid function version"})
	if facts, err := NewServer(h, time.Hour, time.Now).Facts(within(t)); err != nil || facts.Version != "" || facts.Settings["hive.execution.engine"] != "tez" {
		t.Errorf("an old Hive: %+v, %v", facts, err)
	}
	down := errors.New("connection reset")
	h.fails("SELECT version()", down)
	if _, err := NewServer(h, time.Hour, time.Now).Facts(within(t)); !errors.Is(err, down) {
		t.Errorf("got %v", err)
	}
}

func TestServerIsAskedOnce(t *testing.T) {
	h := newFakeHive()
	entered, release := make(chan struct{}, 8), make(chan struct{})
	h.answer("SET -v", func(context.Context) (client.Result, error) {
		entered <- struct{}{}
		<-release
		return client.Result{}, nil
	})
	s := NewServer(h, time.Hour, time.Now)
	done := make(chan error, 4)
	for range 4 {
		go func() {
			_, err := s.Facts(within(t))
			done <- err
		}()
	}
	receive(t, entered)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Facts(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(release)
	for range 4 {
		if err := receive(t, done); err != nil {
			t.Error(err)
		}
	}
	if n := h.times("SET -v"); n != 1 {
		t.Errorf("asked %d times", n)
	}
}
