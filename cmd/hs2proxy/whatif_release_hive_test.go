package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// TestReleaseForetellsHive4: joins that a real server planned are recorded, whatif tells which of them an older release plans otherwise, and
// the server does so where it is given that release's defaults.
func TestReleaseForetellsHive4(t *testing.T) {
	h := startRealHive(t, "HS2PROXY_TEST_HS2", "a HiveServer2 of Hive 4")
	dsn := storetest.DSN(t)
	t.Setenv("HS2PROXY_DATABASE__URL", dsn)
	t.Setenv("HS2PROXY_UPSTREAM__ADDRESS", h.address)
	queries := []struct {
		name, sql string
		base      map[string]string
	}{
		{"inner", fmt.Sprintf(innerSQL, ""), nil},
		{"full outer", "SELECT a.v, b.v FROM big a FULL OUTER JOIN small b ON a.k = b.k", map[string]string{dphjOf: "true"}},
		{"buckets", fmt.Sprintf(innerSQL, "_bucketed"), tight(hashedByHive4)},
		{"sorted buckets", fmt.Sprintf(innerSQL, "_sorted"), map[string]string{budgetOf: "1000"}},
	}
	h.record(dsn, func(record func(fingerprint, sql string, base map[string]string)) {
		for _, q := range queries {
			record(q.name, q.sql, q.base)
		}
	})
	for _, release := range []advisor.Release{advisor.Hive3, advisor.Hive2} {
		t.Run(string(release), func(t *testing.T) {
			h := h.with(t)
			var got whatIf
			out := h.command("whatif", "--format", "json", "--release", string(release))
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				t.Fatalf("%v in\n%s", err, out)
			}
			if got.Joins != int64(len(queries)) || got.Unlike != 0 {
				t.Errorf("%d joins, %d decided otherwise than recorded:\n%s", got.Joins, got.Unlike, out)
			}
			told := map[string]advisor.Strategy{}
			for _, c := range got.Changes {
				told[c.Fingerprint] = c.After
			}
			if len(told) == 0 {
				t.Errorf("no join changes:\n%s", out)
			}
			for _, q := range queries {
				before := h.planned(q.sql, q.base)
				after, changes := told[q.name]
				if !changes {
					after = before
				}
				if is := h.planned(q.sql, h.under(release, q.base)); is != after {
					t.Errorf("%s: planned %s, foretold %s, planned under the defaults of %s %s", q.name, before, after, release, is)
				}
				t.Logf("%s: %s → %s", q.name, before, after)
			}
		})
	}
}

// record explains queries on the server and puts their plans on record, as serve does.
func (h realHive) record(dsn string, each func(record func(fingerprint, sql string, base map[string]string))) {
	h.t.Helper()
	s, err := store.Open(h.t.Context(), dsn, store.Options{})
	if err != nil {
		h.t.Fatal(err)
	}
	defer s.Close()
	server, err := configFlags{}.connect(h.t.Context(), "", releaseFlag{})
	if err != nil {
		h.t.Fatal(err)
	}
	defer server.close()
	each(func(fingerprint, sql string, base map[string]string) {
		info, err := explainable(sql)
		if err != nil {
			h.t.Fatal(err)
		}
		a, _, err := server.analyze(h.t.Context(), sql, info, pipeline.Target{Settings: base, Database: h.database})
		if err != nil {
			h.t.Fatalf("%s: %v", sql, err)
		}
		a.Fingerprint, a.Database, a.Cause = fingerprint, h.database, store.CauseFirst
		if err := s.RecordPlan(h.t.Context(), *a); err != nil {
			h.t.Fatalf("%s: %v", sql, err)
		}
	})
}

// under are a query's settings with an older release's defaults for what Hive 4 can be told.
func (h realHive) under(release advisor.Release, base map[string]string) map[string]string {
	settings := map[string]string{}
	for _, name := range []string{
		"hive.mapjoin.full.outer", "hive.stats.fetch.column.stats", "hive.auto.convert.join.hashtable.max.entries", "hive.auto.convert.join.shuffle.max.size",
		"hive.auto.convert.sortmerge.join", "hive.convert.join.bucket.mapjoin.tez", "hive.vectorized.execution.enabled", "hive.stats.estimate",
		"hive.stats.deserialization.factor",
	} {
		old, _ := advisor.ReleaseDefault(release, name)
		if now, _ := advisor.ReleaseDefault(advisor.Hive4, name); old != now {
			settings[name] = old
		}
	}
	maps.Copy(settings, base)
	return settings
}
