package upstream

import (
	"context"
	"testing"
	"time"
)

var errCanceled = context.Canceled

func TestBackoffDoublesToItsLimit(t *testing.T) {
	c := newClock()
	set := static(t, Options{Now: c.now}, "a")
	a := server(t, set, "a")
	downFor := func() time.Duration { return set.Snapshot()[0].DownUntil.Sub(c.now()) }
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		set.Dialed(a, c.now(), errRefused)
		if got := downFor(); got != want*time.Second {
			t.Fatalf("back-off %s, want %s", got, want*time.Second)
		}
		c.add(downFor())
	}
	set.Dialed(a, c.now(), nil)
	if st := set.Snapshot()[0]; !st.DownUntil.IsZero() || st.LastDial != (Dial{At: c.now()}) || !a.Healthy() {
		t.Errorf("after a success: %+v", st)
	}
	set.Dialed(a, c.now(), errRefused)
	if got := downFor(); got != time.Second {
		t.Errorf("back-off %s after a success, want the least again", got)
	}
}

func TestABurstOfFailuresCountsOnce(t *testing.T) {
	c := newClock()
	var down int
	set := static(t, Options{Now: c.now, OnChange: func(change Change) {
		if change.Kind == Down {
			down++
		}
	}}, "a")
	for range 100 {
		set.Dialed(server(t, set, "a"), c.add(time.Millisecond), errRefused)
	}
	st := set.Snapshot()[0]
	if want := c.now().Add(time.Second - 99*time.Millisecond); !st.DownUntil.Equal(want) || down != 1 {
		t.Errorf("down until %s, reported %d times; want %s, once", st.DownUntil, down, want)
	}
	if !st.LastDial.At.Equal(c.now()) {
		t.Errorf("last dial at %s, want %s", st.LastDial.At, c.now())
	}
}

func TestACanceledDialSaysNothing(t *testing.T) {
	set := static(t, Options{}, "a")
	set.Dialed(server(t, set, "a"), time.Now(), context.Canceled)
	if st := set.Snapshot()[0]; !st.LastDial.At.IsZero() || !st.DownUntil.IsZero() {
		t.Errorf("noted: %+v", st)
	}
}

func TestOptionsRefused(t *testing.T) {
	for _, o := range []Options{
		{MinBackoff: -1},
		{Probe: -1},
		{MinBackoff: time.Minute, MaxBackoff: time.Second},
	} {
		if _, err := NewStatic(nil, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	set, err := NewStatic(nil, Options{MinBackoff: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = set.Close() }()
	if got := set.backoff(10); got != time.Minute {
		t.Errorf("back-off %s, want the least where it is above the default of the largest", got)
	}
}
