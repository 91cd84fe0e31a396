package jobs_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

func nightly(at time.Time) statscheck.Fired {
	return statscheck.Fired{Schedule: statscheck.Schedule{Name: "nightly", Cron: "@daily", Tables: []string{"shop.*"}}, At: at, Slot: at}
}

// Two proxies fire for the same times: each is done once, by one of them, and with the schedule as it was.
func TestAScheduleFiresOnce(t *testing.T) {
	dsn := storetest.DSN(t)
	proxies := []*proxy{open(t, dsn, "a", nil), open(t, dsn, "b", nil)}
	var fired list[statscheck.Fired]
	for _, p := range proxies {
		p.fire = func(_ context.Context, f statscheck.Fired) error {
			fired.add(f)
			return nil
		}
		p.start()
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	times := []time.Time{now, now.Add(time.Second), now.Add(2 * time.Second)}
	var wait sync.WaitGroup
	for _, p := range proxies {
		for _, at := range times {
			wait.Go(func() {
				if err := p.client.Fired(t.Context(), nightly(at)); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wait.Wait()
	proxies[0].eventually("all firings", func() bool {
		return proxies[0].one(`SELECT count(*) FROM hs2proxy.river_job WHERE kind = 'fire_schedule' AND state = 'completed'`) == "3"
	})
	// A proxy whose clock is behind fires for a time that is done.
	if err := proxies[1].client.Fired(t.Context(), nightly(times[0])); err != nil {
		t.Error(err)
	}
	if n := proxies[0].one(`SELECT count(*) FROM hs2proxy.river_job WHERE kind = 'fire_schedule'`); n != "3" {
		t.Errorf("%s firings", n)
	}
	got := fired.get()
	seen := map[time.Time]int{}
	for _, f := range got {
		seen[f.At]++
		if f.Schedule.Name != "nightly" || f.Schedule.Cron != "@daily" || len(f.Schedule.Tables) != 1 {
			t.Errorf("fired %+v", f)
		}
	}
	for _, at := range times {
		if seen[at] != 1 {
			t.Errorf("the firing of %v was done %d times", at, seen[at])
		}
	}
}

// A firing that Postgres let down is tried again; one whose successor is due by now is left out.
func TestFiringsAreTriedAgainButNotTooLate(t *testing.T) {
	p := open(t, storetest.DSN(t), "a", nil)
	var fired list[time.Time]
	p.fire = func(_ context.Context, f statscheck.Fired) error {
		fired.add(f.At)
		if len(fired.get()) == 1 {
			return errors.New("the database is away")
		}
		return nil
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	p.ok(p.client.Fired(t.Context(), nightly(now.Add(-25*time.Hour))))
	p.start()
	p.eventually("the late one's end", func() bool {
		return p.one(`SELECT count(*) FROM hs2proxy.river_job WHERE kind = 'fire_schedule' AND state = 'completed'`) == "1"
	})
	p.ok(p.client.Fired(t.Context(), nightly(now)))
	p.eventually("the end", func() bool {
		return p.one(`SELECT count(*) FROM hs2proxy.river_job WHERE kind = 'fire_schedule' AND state = 'completed'`) == "2"
	})
	if got := fired.get(); len(got) != 2 || !got[0].Equal(now) || !got[1].Equal(now) {
		t.Errorf("fired %v, want %v twice", got, now)
	}
}
