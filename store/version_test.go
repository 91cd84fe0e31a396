package store_test

import (
	"testing"

	"github.com/hs2proxy/hs2proxy/store"
)

// The version is the one that the last plan brought; nobody knows that of a server that explained nothing.
func TestHiveVersion(t *testing.T) {
	f := newFixture(t, store.Options{})
	want := func(upstream, version string) {
		t.Helper()
		if got, err := f.HiveVersion(t.Context(), upstream); err != nil || got != version {
			t.Errorf("the version of %s is %q, %v, want %q", upstream, got, err, version)
		}
	}
	want("prod", "")
	s := session("prod")
	st := statement(s, "SELECT 1", "f1", t0)
	f.ok(f.RecordStatement(t.Context(), store.Observation{Session: s, Statement: st, Analysis: analysis("prod", "f1", t0)}))
	want("prod", "4.0.1")
	want("other", "")
}
