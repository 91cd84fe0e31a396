package limit

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"
)

func watching(limit int) (*Limiter, *clock) {
	c := newClock()
	return New(Config{FailedLogins: FailedLogins{Limit: limit, Window: time.Minute, Pause: 5 * time.Minute}, Now: c.read}), c
}

func TestFailedLogins(t *testing.T) {
	l, c := watching(3)
	ticket := connect(t, l, addr("10.0.0.1"))
	for range 2 {
		if err := ticket.LoginFailed(); err != nil {
			t.Fatal(err)
		}
	}
	connect(t, l, addr("10.0.0.1"))
	refused(t, ticket.LoginFailed(), "too many refused logins from 10.0.0.1: limit 3, try again in 5m0s (clients.failed_logins)")

	c.pass(5*time.Minute - time.Millisecond)
	_, err := l.Connect(addr("10.0.0.1"))
	refused(t, err, "too many refused logins from 10.0.0.1: limit 3, try again in 1s (clients.failed_logins)")
	if err := ticket.LoginFailed(); err == nil {
		t.Error("an open connection goes on guessing in the pause")
	}
	other := connect(t, l, addr("10.0.0.2"))
	if err := other.Move(addr("10.0.0.1")); err == nil {
		t.Error("a connection moves to an address that has to wait")
	}
	if s := l.Stats(); s.Paused != 1 || s.Watched != 1 || s.FailedLogins != 4 || s.Refused[RefusedLogins] != 4 {
		t.Errorf("%+v", s)
	}

	c.pass(time.Millisecond)
	again := connect(t, l, addr("10.0.0.1"))
	for range 2 {
		if err := again.LoginFailed(); err != nil {
			t.Fatalf("the pause did not begin anew: %v", err)
		}
	}
	if err := again.LoginFailed(); err == nil {
		t.Error("after the pause there is no limit")
	}
}

// TestWindow: at the window's end the count starts again, not before.
func TestWindow(t *testing.T) {
	for _, test := range []struct {
		after  time.Duration
		paused bool
	}{{time.Minute - time.Nanosecond, true}, {time.Minute, false}} {
		l, c := watching(2)
		ticket := connect(t, l, addr("10.0.0.1"))
		if err := ticket.LoginFailed(); err != nil {
			t.Fatal(err)
		}
		c.pass(test.after)
		if err := ticket.LoginFailed(); (err != nil) != test.paused {
			t.Errorf("the second one after %v: %v", test.after, err)
		}
	}
}

// TestForget: what no longer matters is dropped when the address comes back.
func TestForget(t *testing.T) {
	l, c := watching(2)
	if err := connect(t, l, addr("10.0.0.1")).LoginFailed(); err != nil {
		t.Fatal(err)
	}
	c.pass(time.Hour)
	connect(t, l, addr("10.0.0.1"))
	if s := l.Stats(); s.Watched != 0 {
		t.Errorf("%+v", s)
	}
}

// TestManyAddresses: an attacker with many addresses fills a table of fixed size; the newest are remembered.
func TestManyAddresses(t *testing.T) {
	l, _ := watching(1)
	const more = 1000
	nth := func(i uint32) netip.Addr {
		return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, 10<<24+i)))
	}
	for i := range uint32(maxWatched + more) {
		ticket := connect(t, l, nth(i))
		if ticket.LoginFailed() == nil {
			t.Fatal("not paused")
		}
		ticket.Release()
	}
	if s := l.Stats(); s.Watched != maxWatched || s.Paused != maxWatched || s.Forgotten != more || s.Addresses != 0 {
		t.Errorf("%+v", s)
	}
	if _, err := l.Connect(nth(maxWatched + more - 1)); err == nil {
		t.Error("the newest is forgotten")
	}
	if _, err := l.Connect(nth(more)); err == nil {
		t.Error("the oldest within the bound is forgotten")
	}
	connect(t, l, nth(more-1))
}

// TestSwitchedOff: without a limit nobody waits any longer.
func TestSwitchedOff(t *testing.T) {
	l, _ := watching(1)
	ticket := connect(t, l, addr("10.0.0.1"))
	if ticket.LoginFailed() == nil {
		t.Fatal("not paused")
	}
	l.Set(Config{})
	connect(t, l, addr("10.0.0.1"))
	if err := ticket.LoginFailed(); err != nil {
		t.Error(err)
	}
}
