package app

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// proven puts a refresh by a schedule on record that affects one query, which ran before and since.
func proven(t *testing.T, s *store.Store, upstream string) statscheck.Refresh {
	t.Helper()
	began := time.Now().UTC().Add(-time.Hour).Truncate(time.Second)
	session := intercept.Session{Handle: intercept.SessionHandle{GUID: [16]byte(uuid.New())}, Upstream: upstream, OpenedAt: began}
	run := func(at time.Time, took time.Duration) {
		t.Helper()
		if err := s.RecordStatement(t.Context(), store.Observation{Session: session, Statement: intercept.Statement{
			ID: uuid.Must(uuid.NewV7()).String(), SessionID: session.Handle.ID(), Info: hiveql.Info{Kind: hiveql.KindSelect, Fingerprint: "q"},
			StartedAt: at, EndedAt: at.Add(took), State: intercept.StateFinished,
		}}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		run(began.Add(-time.Duration(10+i)*time.Minute), 10*time.Second)
		run(began.Add(time.Duration(10+i)*time.Minute), 40*time.Second)
	}
	if _, _, err := s.RequestRefresh(t.Context(), store.RefreshRequest{
		Upstream: upstream, Table: "shop.items", Mode: statscheck.ModeBasic, Reason: "R4", RequestedBy: "schedule nightly", Schedule: "nightly", WindowStart: began,
	}); err != nil {
		t.Fatal(err)
	}
	r, err := s.ClaimRefresh(t.Context(), []string{upstream}, time.Minute)
	if err != nil || r == nil {
		t.Fatalf("claimed %+v, %v", r, err)
	}
	r.State, r.Effect, r.StartedAt, r.EndedAt = statscheck.RefreshDone, statscheck.EffectNoChange, began, began.Add(time.Minute)
	r.Before, r.After, r.Proof = &advisor.TableStats{Table: r.Table}, &advisor.TableStats{Table: r.Table}, &statscheck.Proof{}
	r.Plans = []statscheck.PlanChange{{Fingerprint: "q", Before: advisor.MapJoin, After: advisor.MapJoin}}
	if err := s.FinishRefresh(t.Context(), *r); err != nil {
		t.Fatal(err)
	}
	return *r
}

func TestRunningProxyJudgesRefreshesAndLearns(t *testing.T) {
	dsn := storetest.DSN(t)
	s, err := store.Open(t.Context(), dsn, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	upstream := config.Default().Upstream.Name
	alarm := proven(t, s, upstream)
	limits := statscheck.DefaultThresholds()
	if _, err := s.LearnFromRefresh(t.Context(), alarm, limits); err != nil {
		t.Fatal(err)
	}
	a, out := start(t, startFake(t).Addr(), dsn, func(c *config.Config) { c.Stats.Refresh.Enabled = true })
	defer stop(t, a)

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		proof, err := s.Proof(ctx, alarm.ID)
		if err != nil {
			t.Fatalf("never judged: %v\n%s", err, out)
		}
		if proof.LaterEffect == statscheck.EffectRegressed {
			if !proof.FalseAlarm || len(proof.Runtimes) != 1 || proof.Runtimes[0].After.Mean != 40*time.Second {
				t.Errorf("proof %+v", proof)
			}
			break
		}
		<-tick.C
	}
	stale := func() float64 {
		in, _ := a.watch.Configured().For("shop.items")
		raised, err := s.ThresholdFactors(t.Context(), upstream)
		if err != nil {
			t.Fatal(err)
		}
		return in.Raised(raised["shop.items"]).Stale
	}
	if got := stale(); math.Abs(got-0.3) > 1e-9 {
		t.Errorf("stale from %v after a false alarm", got)
	}
	next := alarm
	next.ID++
	a.refresher.learn(t.Context(), next)
	if got := stale(); math.Abs(got-0.45) > 1e-9 {
		t.Errorf("stale from %v after two", got)
	}
	next.ID++
	next.Effect = statscheck.EffectEffective
	a.refresher.learn(t.Context(), next)
	if got := stale(); math.Abs(got-0.2) > 1e-9 {
		t.Errorf("stale from %v after an effective refresh", got)
	}
}
