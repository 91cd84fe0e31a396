package pipeline

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/beltran/gohive/hiveserver"
	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/store"
)

// planRecords is a store in memory.
type planRecords struct {
	affected []store.AffectedQuery
	recorded []store.Analysis
	err      error
	recErr   error
}

func (r *planRecords) AffectedFingerprints(context.Context, string, string) ([]store.AffectedQuery, error) {
	return r.affected, r.err
}

func (r *planRecords) RecordPlan(_ context.Context, a store.Analysis) error {
	r.recorded = append(r.recorded, a)
	return r.recErr
}

// stage is a Replanner over fakes that knows the text of joinSQL under matter.
type stage struct {
	server  *hive2
	hive    *fakeHive
	records *planRecords
	st      *intercept.Statement
	log     bytes.Buffer
	*Replanner
}

var matter = map[string]string{"hive.auto.convert.join": "true", "hive.execution.engine": "tez"}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{server: startHive(t), hive: newFakeHive(), records: &planRecords{}, st: statement("1", joinSQL)}
	s.st.Settings = map[string]string{"hive.auto.convert.join": "true"}
	s.Replanner = &Replanner{
		Analyzer: shopAnalyzer(t, s.server, s.hive), Samples: newSamples(t), Cache: newCache(t, newClock().now), Records: s.records, Log: zerolog.New(&s.log),
	}
	session := sessionOf(nil)
	session.Configuration = map[string]string{"set:hivevar:v": "1"}
	s.Samples.Put(s.st, &session, matter)
	return s
}

func (s *stage) query() store.AffectedQuery {
	return store.AffectedQuery{Fingerprint: s.st.Info.Fingerprint, Database: "shop", Settings: matter}
}

func TestReplan(t *testing.T) {
	s := newStage(t)
	other := s.query()
	other.Settings = map[string]string{"hive.auto.convert.join": "false"}
	elsewhere := s.query()
	elsewhere.Database = "elsewhere"
	s.records.affected = []store.AffectedQuery{s.query(), other, elsewhere}
	before, err := s.Before(within(t), "main", "shop.t")
	if err != nil || len(before) != 1 || before[0].Fingerprint != s.st.Info.Fingerprint || before[0].Ordinal != 0 || before[0].Strategy != advisor.MapJoin {
		t.Fatalf("got %+v, %v; want the one query whose text is known", before, err)
	}
	s.Cache.Put("k", &store.Analysis{Tables: []string{"shop.t"}})
	after, err := s.After(within(t), "main", "shop.t", before)
	if err != nil || len(after) != 1 || after[0] != before[0] {
		t.Errorf("got %+v, %v", after, err)
	}
	if _, cause := s.Cache.Lookup("k", s.st); cause != store.CauseStatistics {
		t.Errorf("the cache still believes the plan: %q", cause)
	}
	if len(s.records.recorded) != 2 || s.records.recorded[0].Cause != store.CauseAge || s.records.recorded[1].Cause != store.CauseRefresh {
		t.Errorf("recorded %+v", s.records.recorded)
	}
	if n := s.hive.times(describeSQL("t")); n != 2 {
		t.Errorf("the table was read %d times, want before and after", n)
	}
	conf := s.server.configurations()[0]
	if conf["use:database"] != "shop" || conf["set:hivevar:v"] != "1" || conf["set:hiveconf:hive.auto.convert.join"] != "true" {
		t.Errorf("mirror session with %v", conf)
	}
	s.server.wantOpen(t, 0)
}

// With keep_literals the store knows a text that nobody has sent since the start.
func TestReplanStoredText(t *testing.T) {
	s := newStage(t)
	s.server.set(func() {
		s.server.mu.refuse = func(req *hiveserver.TExecuteStatementReq) *hiveserver.TStatus {
			if strings.Contains(req.Statement, "CREATE") {
				return refusedStatus(40000, "Table already exists: shop.n")
			}
			return nil
		}
	})
	s.records.affected = []store.AffectedQuery{{Fingerprint: "other", Database: "shop", Settings: matter, SampleSQL: "CREATE TABLE n AS " + joinSQL}}
	got, err := s.Before(within(t), "main", "shop.t")
	if err != nil || len(got) != 1 || got[0].Fingerprint != "other" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestReplanLimit(t *testing.T) {
	s := newStage(t)
	for range maxReplanned + 5 {
		s.records.affected = append(s.records.affected, s.query())
	}
	got, err := s.Before(within(t), "main", "shop.t")
	if err != nil || len(got) != maxReplanned || len(s.server.statements()) != maxReplanned {
		t.Errorf("%d joins from %d EXPLAINs, %v", len(got), len(s.server.statements()), err)
	}
	if !strings.Contains(s.log.String(), `"affected":55`) {
		t.Errorf("log %s", &s.log)
	}
}

func TestReplanFailures(t *testing.T) {
	t.Run("the store is away", func(t *testing.T) {
		s := newStage(t)
		s.records.err = store.ErrUnavailable
		if _, err := s.Before(within(t), "main", "shop.t"); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		s.records.err, s.records.recErr, s.records.affected = nil, store.ErrUnavailable, []store.AffectedQuery{s.query()}
		if _, err := s.Before(within(t), "main", "shop.t"); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("Hive refuses a query", func(t *testing.T) {
		s := newStage(t)
		s.records.affected = []store.AffectedQuery{s.query(), s.query()}
		first := true
		s.server.set(func() {
			s.server.mu.refuse = func(*hiveserver.TExecuteStatementReq) *hiveserver.TStatus {
				if first {
					first = false
					return refusedStatus(10001, "Table not found")
				}
				return nil
			}
		})
		got, err := s.Before(within(t), "main", "shop.t")
		if err != nil || len(got) != 1 || len(s.records.recorded) != 1 {
			t.Errorf("got %+v, %v, %d recorded; want the other query", got, err, len(s.records.recorded))
		}
	})
	t.Run("busy", func(t *testing.T) {
		s := newStage(t)
		s.server.set(func() { s.server.mu.breaks = func(string) bool { return true } })
		for range 5 {
			s.records.affected = append(s.records.affected, s.query())
		}
		got, err := s.Before(within(t), "main", "shop.t")
		if err != nil || got != nil || !s.Analyzer.Explainer.Open() {
			t.Errorf("got %+v, %v, open %v", got, err, s.Analyzer.Explainer.Open())
		}
		if n := strings.Count(s.log.String(), "affected query not explained again"); n != 3 {
			t.Errorf("%d warnings, want one for each failure and none for the open breaker: %s", n, &s.log)
		}
	})
	t.Run("the context ends", func(t *testing.T) {
		s := newStage(t)
		s.records.affected = []store.AffectedQuery{s.query()}
		ctx, cancel := context.WithCancel(within(t))
		cancel()
		if _, err := s.Before(ctx, "main", "shop.t"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}
