package store_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

// What waits is what no living proxy runs: each with the number of the attempt that is to be made; what is over is ended by the look itself.
func TestWaitingRefreshes(t *testing.T) {
	f := newFixture(t, store.Options{Instance: "proxy-1"})
	waiting := func() []store.WaitingRefresh {
		t.Helper()
		got, err := f.WaitingRefreshes(t.Context())
		f.ok(err)
		return got
	}
	a, err := f.UpstreamKey(t.Context(), "hive-a")
	f.ok(err)
	b, err := f.UpstreamKey(t.Context(), "hive-b")
	f.ok(err)
	if again, err := f.UpstreamKey(t.Context(), "hive-a"); again != a || a == b || err != nil {
		t.Errorf("keys %d, %d, %d, %v", a, again, b, err)
	}
	first := f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.items", RequestedBy: "ann"})
	anywhere := f.request(store.RefreshRequest{Table: "shop.anywhere", RequestedBy: "ann"})
	brief := f.scheduled("shop.brief", 0)
	if got, want := waiting(), []store.WaitingRefresh{{ID: first, Attempt: 1, Upstream: a}, {ID: anywhere, Attempt: 1, Upstream: a}, {ID: anywhere, Attempt: 1, Upstream: b}, {ID: brief, Attempt: 1, Upstream: a}}; !reflect.DeepEqual(got, want) {
		t.Errorf("waiting %+v, want %+v", got, want)
	}

	if r := f.claim(f.Store, time.Minute, "hive-a"); r == nil || r.ID != first {
		t.Fatalf("claimed %+v", r)
	}
	f.now = f.now.Add(3 * time.Hour) // the window's end
	if got, want := waiting(), []store.WaitingRefresh{{ID: anywhere, Attempt: 1, Upstream: a}, {ID: anywhere, Attempt: 1, Upstream: b}}; !reflect.DeepEqual(got, want) {
		t.Errorf("waiting %+v, want %+v", got, want)
	}
	f.want("CANCELED", `SELECT state FROM hs2proxy.refreshes WHERE id = $1`, brief)

	f.expire(first) // its proxy is gone
	if got := waiting(); len(got) != 3 || got[0] != (store.WaitingRefresh{ID: first, Attempt: 2, Upstream: a}) {
		t.Errorf("waiting %+v", got)
	}
	r := f.claim(f.Store, time.Minute, "hive-a")
	r.State, r.NotBefore = statscheck.RefreshRequested, f.now.Add(time.Minute)
	f.ok(f.FinishRefresh(t.Context(), *r))
	if got := waiting(); len(got) != 3 || got[0].Attempt != 3 || !got[0].NotBefore.Equal(r.NotBefore) {
		t.Errorf("waiting %+v", got)
	}
}

func TestRefreshDue(t *testing.T) {
	f := newFixture(t, store.Options{})
	due := func(upstream string) (time.Duration, bool) {
		t.Helper()
		in, ok, err := f.RefreshDue(t.Context(), []string{upstream})
		f.ok(err)
		return in, ok
	}
	if in, ok := due("hive-a"); ok || in != 0 {
		t.Errorf("none waits: %v, %v", in, ok)
	}
	f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.items"})
	r := f.claim(f.Store, time.Minute, "hive-a")
	if in, ok := due("hive-a"); ok {
		t.Errorf("the only one runs: %v", in)
	}
	r.State, r.NotBefore = statscheck.RefreshRequested, f.now.Add(10*time.Minute)
	f.ok(f.FinishRefresh(t.Context(), *r))
	if in, ok := due("hive-a"); !ok || in != 10*time.Minute {
		t.Errorf("put back for 10 minutes: %v, %v", in, ok)
	}
	if _, ok := due("hive-b"); ok {
		t.Error("it is another upstream's")
	}
	f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.orders"})
	f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.lines"})
	if r := f.claim(f.Store, time.Minute, "hive-a"); r == nil {
		t.Fatal("nothing was claimed")
	}
	if in, ok := due("hive-a"); !ok || in != 0 { // the limit keeps it back, no clock
		t.Errorf("one waits for the other: %v, %v", in, ok)
	}
}
