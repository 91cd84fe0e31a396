package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/upstream"
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
	b, _ := relay.servers.ByID("b:10000")
	if b.Healthy() {
		t.Fatal("the fake's second server works")
	}
	if err := relay.servers.Replace([]upstream.Server{{Binary: "b:10000"}}); err != nil { // not the process's fault
		t.Fatal(err)
	}
	h := newHealth(sourceOf(relay), time.Now)
	if status, _ := check(t, h.alive); status != http.StatusOK {
		t.Errorf("accepting: %d", status)
	}
	relay.accepting = false
	if status, _ := check(t, h.alive); status != http.StatusServiceUnavailable {
		t.Errorf("not accepting: %d", status)
	}
}

// server is one in the state a test puts it in.
type server struct {
	id   string
	last upstream.Dial
	open int
}

// relayOf is a relay of such servers. probe is what connecting to each now gives.
func relayOf(t *testing.T, now time.Time, probe map[string]error, servers ...server) *fakeRelay {
	t.Helper()
	var list []upstream.Server
	for _, s := range servers {
		list = append(list, upstream.Server{Binary: s.id})
	}
	set, err := upstream.NewStatic(list, upstream.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		live, _ := set.ByID(s.id)
		if !s.last.At.IsZero() {
			set.Dialed(live, s.last.At, s.last.Err)
		}
		for range s.open {
			live.Opened()
		}
	}
	relay := newFake()
	relay.servers, relay.probe, relay.now = set, probe, func() time.Time { return now }
	return relay
}

// TestReadyByTheRelaysOwnDials: HiveServer2 is connected to only where the last attempts say nothing any more, and one server
// that can be reached is enough.
func TestReadyByTheRelaysOwnDials(t *testing.T) {
	const a, b = "a:10000", "b:10000"
	now := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	good := func(d time.Duration) upstream.Dial { return upstream.Dial{At: now.Add(-d)} }
	failed := func(d time.Duration) upstream.Dial { return upstream.Dial{At: now.Add(-d), Err: errRefused} }
	down := map[string]error{a: errRefused, b: errRefused}
	for name, c := range map[string]struct {
		servers []server
		probe   map[string]error
		ready   bool
		probes  int
	}{
		"never, up":               {servers: []server{{id: a}}, ready: true, probes: 1},
		"never, down":             {servers: []server{{id: a}}, probe: down, probes: 1},
		"just now":                {servers: []server{{id: a, last: good(0)}}, ready: true},
		"minutes ago":             {servers: []server{{id: a, last: good(believeSuccess - time.Second)}}, probe: down, ready: true},
		"long ago, down":          {servers: []server{{id: a, last: good(believeSuccess)}}, probe: down, probes: 1},
		"long ago, up":            {servers: []server{{id: a, last: good(believeSuccess)}}, ready: true, probes: 1},
		"long ago, clients there": {servers: []server{{id: a, last: good(24 * time.Hour), open: 1}}, probe: down, ready: true},
		"just failed":             {servers: []server{{id: a, last: failed(retryFailure - 1)}}},
		"failed, down":            {servers: []server{{id: a, last: failed(retryFailure)}}, probe: down, probes: 1},
		"failed, up again":        {servers: []server{{id: a, last: failed(retryFailure)}}, ready: true, probes: 1},
		"failed, clients there":   {servers: []server{{id: a, last: failed(0), open: 3}}},

		"one of two failed":               {servers: []server{{id: a, last: failed(0)}, {id: b, last: good(0)}}, probe: down, ready: true},
		"both failed":                     {servers: []server{{id: a, last: failed(0)}, {id: b, last: failed(1)}}},
		"one failed, one never tried, up": {servers: []server{{id: a, last: failed(0)}, {id: b}}, probe: map[string]error{a: errRefused}, ready: true, probes: 1},
		"one failed, one never tried":     {servers: []server{{id: a, last: failed(0)}, {id: b}}, probe: down, probes: 1},
		"one failed, one long ago":        {servers: []server{{id: a, last: failed(0)}, {id: b, last: good(believeSuccess)}}, probe: down, probes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			relay := relayOf(t, now, c.probe, c.servers...)
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

// TestNotReadyTellsWhy: every server is named, up to a bound.
func TestNotReadyTellsWhy(t *testing.T) {
	now := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	var servers []server
	for i := range maxTold + 2 {
		servers = append(servers, server{id: fmt.Sprintf("s%d:10000", i), last: upstream.Dial{At: now, Err: errRefused}})
	}
	relay := relayOf(t, now, nil, servers...)
	err := newHealth(sourceOf(relay), relay.now).upstream(t.Context())
	if err == nil || !strings.Contains(err.Error(), "s0:10000: connection refused; s1:10000") || !strings.Contains(err.Error(), "and 2 more") ||
		strings.Contains(err.Error(), "s5:10000") {
		t.Errorf("all down: %v", err)
	}
}

// TestReadyWithZooKeeper: without a server that takes new connections nobody is served, and the answer says what is wrong.
func TestReadyWithZooKeeper(t *testing.T) {
	since := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	for want, state := range map[string]upstream.Discovery{
		"none is registered in ZooKeeper": {Connected: true},
		"since 2024-02-29T12:00:00Z":      {Since: since},
		"no authority":                    {Since: since, Err: errors.New("no authority")},
	} {
		relay := newFake()
		source := sourceOf(relay)
		source.Discovery = func() (upstream.Discovery, bool) { return state, true }
		h := newHealth(source, time.Now)
		if status, failing := check(t, h.ready); status != http.StatusOK {
			t.Errorf("ZooKeeper is away, its servers are not: %d %v", status, failing)
		}
		if err := relay.servers.Replace(nil); err != nil {
			t.Fatal(err)
		}
		if status, failing := check(t, h.ready); status != http.StatusServiceUnavailable || len(failing) != 1 || failing[0] != "upstream" {
			t.Errorf("no server: %d %v", status, failing)
		}
		if err := h.upstream(t.Context()); err == nil || !strings.Contains(err.Error(), "no HiveServer2 is known") || !strings.Contains(err.Error(), want) {
			t.Errorf("no server: %v, want %q", err, want)
		}
		if relay.probes != 0 {
			t.Errorf("%d connections of ours to nobody", relay.probes)
		}
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
