package jobs_test

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/jobs"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

const refreshJobs = `SELECT count(*) FROM hs2proxy.river_job WHERE kind = 'refresh'`

// However often and from however many proxies what waits is announced, an attempt has one job.
func TestAttemptsAreAnnouncedOnce(t *testing.T) {
	dsn := storetest.DSN(t)
	a, b := open(t, dsn, "a", nil), open(t, dsn, "b", nil)
	for _, table := range []string{"one", "two", "three"} {
		a.request(table, nil)
	}
	var wait sync.WaitGroup
	for range 5 {
		for _, p := range []*proxy{a, b} {
			wait.Go(func() {
				if err := p.client.Announce(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wait.Wait()
	if n := a.one(refreshJobs); n != "3" {
		t.Errorf("%s jobs for 3 refreshes", n)
	}
	a.start()
	b.start()
	a.eventually("the end of all", func() bool {
		return a.one(`SELECT count(*) FROM hs2proxy.refresh_attempts WHERE outcome = 'DONE'`) == "3"
	})
	a.announce()
	if n := a.one(refreshJobs); n != "3" {
		t.Errorf("%s jobs after the end, want the 3", n)
	}
}

// Jobs are inserted in the order of the requests; what runs is what is worth most when its turn comes.
func TestOrderIsOfTheMomentOfTheClaim(t *testing.T) {
	p := open(t, storetest.DSN(t), "a", nil)
	var ran list[int64]
	first, go1 := make(chan struct{}), make(chan struct{})
	var once sync.Once
	p.run = func(ctx context.Context, r statscheck.Refresh) statscheck.Refresh {
		ran.add(r.ID)
		once.Do(func() { close(first) })
		return until(ctx, r, go1)
	}
	scheduled := p.request("scheduled", nil)
	p.start()
	p.announce()
	<-first
	later := p.request("later", nil)
	person := p.request("person", ptr(0.0))
	p.announce()
	urgent := p.request("urgent", ptr(9.0)) // asked for after the jobs were there
	p.announce()
	close(go1)
	p.eventually("the end of all", func() bool { return len(ran.get()) == 4 && p.state(later) == statscheck.RefreshDone })
	if want := []int64{scheduled, urgent, person, later}; !slices.Equal(ran.get(), want) {
		t.Errorf("ran %v, want %v", ran.get(), want)
	}
}

func ptr[T any](v T) *T { return &v }

// Two proxies with two slots in all, and a server that takes one refresh at a time.
func TestLimitOverTwoProxies(t *testing.T) {
	dsn := storetest.DSN(t)
	var (
		running atomic.Int32
		ran     list[int64]
	)
	var proxies []*proxy
	for _, name := range []string{"a", "b"} {
		p := open(t, dsn, name, nil)
		p.run = func(_ context.Context, r statscheck.Refresh) statscheck.Refresh {
			if n := running.Add(1); n > 1 {
				t.Errorf("%d refreshes at a time", n)
			}
			defer running.Add(-1)
			// Room for the other proxy to overtake: it has asked at least once meanwhile.
			p.eventually("another request's wait", func() bool {
				return p.one(`SELECT count(*) FROM hs2proxy.river_job WHERE kind = 'refresh' AND state NOT IN ('completed', 'available')`) != "0"
			})
			ran.add(r.ID)
			return done(r)
		}
		proxies = append(proxies, p)
	}
	var want []int64
	for _, table := range []string{"one", "two", "three", "four", "five"} {
		want = append(want, proxies[0].request(table, nil))
	}
	proxies[0].announce()
	for _, p := range proxies {
		p.start()
	}
	proxies[0].eventually("the end of all", func() bool { return len(ran.get()) == len(want) })
	got := ran.get()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("ran %v, want each of %v once", got, want)
	}
}

// What was put back has its job at its time; a person's word brings it forward.
func TestPutBackUntilItsTime(t *testing.T) {
	p := open(t, storetest.DSN(t), "a", nil)
	p.run = func(_ context.Context, r statscheck.Refresh) statscheck.Refresh {
		if r.Attempt == 1 {
			r.State, r.NotBefore, r.Error = statscheck.RefreshRequested, time.Now().Add(time.Hour), "put back: a writer's lock"
			return r
		}
		return done(r)
	}
	id := p.request("items", nil)
	p.start()
	p.announce()
	p.eventually("the put-back", func() bool {
		return p.one(`SELECT not_before > now() FROM hs2proxy.refreshes WHERE id = $1`, id) == "true"
	})
	p.announce()
	const second = `SELECT state || ' ' || (scheduled_at > now() + interval '59 minutes') FROM hs2proxy.river_job WHERE kind = 'refresh' AND args ->> 'attempt' = '2'`
	if got := p.one(second); got != "scheduled true" {
		t.Errorf("the second attempt's job: %s", got)
	}
	// A job that comes too early is put off until then.
	p.exec(`UPDATE hs2proxy.river_job SET state = 'available', scheduled_at = now() WHERE kind = 'refresh' AND args ->> 'attempt' = '2'`)
	p.eventually("the snooze", func() bool {
		return p.one(`SELECT (metadata ->> 'snoozes') || ' ' || state FROM hs2proxy.river_job WHERE kind = 'refresh' AND args ->> 'attempt' = '2'`) == "1 scheduled"
	})
	if got := p.one(second); got != "scheduled true" {
		t.Errorf("after the snooze: %s", got)
	}
	p.request("items", ptr(1.0))
	p.announce()
	p.eventually("the end", func() bool { return p.state(id) == statscheck.RefreshDone })
}

// A proxy is gone in the middle: its job stays on record as running, and the refresh is another's as soon as the lease has ended.
func TestRefreshOfAProxyThatIsGone(t *testing.T) {
	dsn := storetest.DSN(t)
	gone, other := open(t, dsn, "gone", nil), open(t, dsn, "other", nil)
	hangs, leave := make(chan struct{}), make(chan struct{})
	gone.run = func(_ context.Context, r statscheck.Refresh) statscheck.Refresh {
		close(hangs)
		<-leave // deaf and mute: to the others it is dead
		return done(r)
	}
	var ran list[int]
	other.run = func(_ context.Context, r statscheck.Refresh) statscheck.Refresh {
		ran.add(r.Attempt)
		return done(r)
	}
	id := gone.request("items", nil)
	gone.start()
	gone.announce()
	<-hangs
	other.start()
	other.announce()
	if n := other.one(refreshJobs); n != "1" {
		t.Errorf("%s jobs while the lease lasts", n)
	}
	other.exec(`UPDATE hs2proxy.refreshes SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1`, id)
	other.announce()
	other.eventually("the second attempt", func() bool { return other.state(id) == statscheck.RefreshDone })
	if got := ran.get(); !slices.Equal(got, []int{2}) {
		t.Errorf("attempts %v", got)
	}
	close(leave)
}

// A proxy is gone while its job waited for its turn: another job stands in, once.
func TestJobOfAProxyThatIsGone(t *testing.T) {
	p := open(t, storetest.DSN(t), "a", nil)
	id := p.request("items", nil)
	p.announce()
	p.exec(`UPDATE hs2proxy.river_job SET state = 'running', attempt = 1, attempted_by = '{gone}', attempted_at = now() - interval '1 minute' WHERE kind = 'refresh'`)
	p.announce()
	if n := p.one(refreshJobs); n != "1" {
		t.Errorf("%s jobs before anybody can be taken for gone", n)
	}
	p.exec(`UPDATE hs2proxy.river_job SET attempted_at = now() - interval '3 minutes' WHERE kind = 'refresh'`)
	p.announce()
	p.announce()
	if n := p.one(refreshJobs); n != "2" {
		t.Errorf("%s jobs, want the one that is gone and one in its stead", n)
	}
	p.start()
	p.eventually("the end", func() bool { return p.state(id) == statscheck.RefreshDone })
}

// The leader announces by itself, so that what nobody told of is run.
func TestLeaderAnnounces(t *testing.T) {
	p := open(t, storetest.DSN(t), "a", func(c *jobs.Config) { c.PollOnly = true })
	id := p.request("items", nil)
	p.start()
	p.eventually("the end", func() bool { return p.state(id) == statscheck.RefreshDone })
}

// Postgres is away when a job claims: River tries again.
func TestClaimIsTriedAgain(t *testing.T) {
	p := open(t, storetest.DSN(t), "a", nil)
	var calls atomic.Int32
	p.attempt = func(ctx context.Context) (time.Duration, error) {
		if calls.Add(1) <= 2 {
			return 0, errors.New("the database is away")
		}
		return p.worker.Work(ctx)
	}
	id := p.request("items", nil)
	p.start()
	p.announce()
	p.eventually("the end", func() bool { return p.state(id) == statscheck.RefreshDone })
	p.eventually("the job's end", func() bool {
		return p.one(`SELECT state || ' ' || attempt || ' ' || cardinality(errors) FROM hs2proxy.river_job WHERE kind = 'refresh'`) == "completed 3 2"
	})
}

func TestPanicIsAFailedRefresh(t *testing.T) {
	p := open(t, storetest.DSN(t), "a", nil)
	p.run = func(context.Context, statscheck.Refresh) statscheck.Refresh { panic("boom") }
	id := p.request("items", nil)
	p.start()
	p.announce()
	p.eventually("the end", func() bool { return p.state(id) == statscheck.RefreshFailed })
	if r, err := p.Refresh(t.Context(), id); err != nil || !strings.Contains(r.Error, "boom") {
		t.Errorf("%+v, %v", r, err)
	}
	p.eventually("the job's end", func() bool {
		return p.one(`SELECT state FROM hs2proxy.river_job WHERE kind = 'refresh'`) == "completed"
	})
}

// A proxy that stops gives its refresh back, and another goes on at once.
func TestStopGivesBack(t *testing.T) {
	dsn := storetest.DSN(t)
	stops, other := open(t, dsn, "stops", nil), open(t, dsn, "other", nil)
	started := make(chan struct{})
	stops.run = func(ctx context.Context, r statscheck.Refresh) statscheck.Refresh {
		close(started)
		return until(ctx, r, nil)
	}
	id := stops.request("items", nil)
	waits := stops.request("waits", nil)
	stops.start()
	stops.announce()
	<-started
	stops.stop()
	for _, r := range []int64{id, waits} {
		if got := stops.state(r); got != statscheck.RefreshRequested {
			t.Errorf("refresh %d is %s", r, got)
		}
	}
	if n := stops.one(`SELECT count(*) FROM hs2proxy.river_job WHERE kind = 'refresh' AND state = 'running'`); n != "0" {
		t.Errorf("%s jobs are left running", n)
	}
	other.start()
	other.announce()
	other.eventually("the end of both", func() bool {
		return other.state(id) == statscheck.RefreshDone && other.state(waits) == statscheck.RefreshDone
	})
	if got := other.one(`SELECT string_agg(outcome, ' ' ORDER BY attempt) FROM hs2proxy.refresh_attempts WHERE refresh_id = $1`, id); got != "PUT_BACK DONE" {
		t.Errorf("attempts %s", got)
	}
}

// A proxy may run as a role that only has hs2proxy_writer.
func TestWriterIsEnoughForTheQueue(t *testing.T) {
	dsn := storetest.DSN(t)
	owner := open(t, dsn, "owner", nil)
	owner.exec(`DO $$ BEGIN CREATE ROLE hs2proxy_test_jobs LOGIN PASSWORD 'pw' IN ROLE hs2proxy_writer; EXCEPTION WHEN duplicate_object THEN NULL; END $$`)
	u, err := url.Parse(dsn)
	owner.ok(err)
	u.User = url.UserPassword("hs2proxy_test_jobs", "pw")
	p := open(t, u.String(), "writer", nil)
	var fired list[time.Time]
	p.fire = func(_ context.Context, f statscheck.Fired) error {
		fired.add(f.At)
		return nil
	}
	id := owner.request("items", nil)
	p.start()
	p.announce()
	p.ok(p.client.Fired(t.Context(), nightly(time.Now())))
	p.eventually("the end", func() bool { return p.state(id) == statscheck.RefreshDone && len(fired.get()) == 1 })
	p.eventually("the jobs' end", func() bool {
		return p.one(`SELECT count(*) FROM hs2proxy.river_job WHERE state <> 'completed'`) == "0"
	})
	if got := p.one(`SELECT count(*) FROM hs2proxy.river_leader`); got != "1" {
		t.Errorf("%s leaders", got)
	}
}
