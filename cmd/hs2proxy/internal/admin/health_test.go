package admin

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept"
)

// check asks one of the two and returns the names of what is not well.
func check(t *testing.T, answer http.HandlerFunc) (status int, failing []string) {
	t.Helper()
	w := httptest.NewRecorder()
	answer(w, httptest.NewRequest(http.MethodGet, "/", nil))
	var a healthAnswer
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatal(err)
	}
	for _, c := range a.Checks {
		if c.OK != (c.Detail == "") {
			t.Errorf("%s: ok %v with detail %q", c.Name, c.OK, c.Detail)
		}
		if !c.OK {
			failing = append(failing, c.Name)
		}
	}
	if want := (w.Code == http.StatusOK); (a.Status == "ok") != want || (len(failing) == 0) != want {
		t.Errorf("status %d, body %s", w.Code, w.Body)
	}
	return w.Code, failing
}

func TestAliveWhileAccepting(t *testing.T) {
	relay := newFake()
	relay.last.Err = errRefused // not the process's fault
	h := newHealth(sourceOf(relay), time.Now)
	if status, _ := check(t, h.alive); status != http.StatusOK {
		t.Errorf("accepting: %d", status)
	}
	relay.accepting = false
	if status, _ := check(t, h.alive); status != http.StatusServiceUnavailable {
		t.Errorf("not accepting: %d", status)
	}
}

// TestReadyByTheRelaysOwnDials: HiveServer2 is connected to only where the last attempt says nothing any more.
func TestReadyByTheRelaysOwnDials(t *testing.T) {
	now := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for name, c := range map[string]struct {
		last   intercept.Dial
		open   int64
		probe  error
		ready  bool
		probes int
	}{
		"never, up":                  {ready: true, probes: 1},
		"never, down":                {probe: errRefused, probes: 1},
		"just now":                   {last: intercept.Dial{At: now}, ready: true},
		"minutes ago":                {last: intercept.Dial{At: ago(believeSuccess - time.Second)}, probe: errRefused, ready: true},
		"long ago, down":             {last: intercept.Dial{At: ago(believeSuccess)}, probe: errRefused, probes: 1},
		"long ago, up":               {last: intercept.Dial{At: ago(believeSuccess)}, ready: true, probes: 1},
		"long ago, clients there":    {last: intercept.Dial{At: ago(24 * time.Hour)}, open: 1, probe: errRefused, ready: true},
		"just failed":                {last: intercept.Dial{At: ago(retryFailure - 1), Err: errRefused}},
		"failed, down":               {last: intercept.Dial{At: ago(retryFailure), Err: errRefused}, probe: errRefused, probes: 1},
		"failed, up again":           {last: intercept.Dial{At: ago(retryFailure), Err: errRefused}, ready: true, probes: 1},
		"failed while clients there": {last: intercept.Dial{At: ago(0), Err: errRefused}, open: 3},
	} {
		t.Run(name, func(t *testing.T) {
			relay := newFake()
			relay.last, relay.stats.Open, relay.probe, relay.now = c.last, c.open, c.probe, func() time.Time { return now }
			h := newHealth(sourceOf(relay), relay.now)
			if status, failing := check(t, h.ready); (status == http.StatusOK) != c.ready {
				t.Errorf("%d, failing %v", status, failing)
			}
			if relay.probes != c.probes {
				t.Errorf("%d connections of ours, want %d", relay.probes, c.probes)
			}
			// Many at once cost nothing more: the first one's outcome stands.
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() { h.ready(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)) })
			}
			all.Wait()
			if relay.probes != c.probes {
				t.Errorf("%d connections of ours after many checks, want %d", relay.probes, c.probes)
			}
		})
	}
}

func TestReadyWithTheSchema(t *testing.T) {
	ready := false
	source := sourceOf(newFake())
	source.SchemaReady = func() bool { return ready }
	h := newHealth(source, time.Now)
	if status, failing := check(t, h.ready); status != http.StatusServiceUnavailable || len(failing) != 1 || failing[0] != "database" {
		t.Errorf("before the schema: %d %v", status, failing)
	}
	ready = true
	if status, _ := check(t, h.ready); status != http.StatusOK {
		t.Errorf("with it: %d", status)
	}
}
