package sample

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/advisor/movement"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// queryOf judges a plan under the settings the session was given.
func queryOf(t *testing.T, text string, settings map[string]string, tables map[string]advisor.TableStats) advisor.Query {
	t.Helper()
	plan, err := explain.Parse(text)
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	q := advisor.Query{Plan: plan, Settings: advisor.NewSettings(settings), Tables: tables}
	joins := advisor.Joins(plan)
	advisor.EnrichFor(joins, tables, &q.Settings)
	for _, j := range joins {
		q.Verdicts = append(q.Verdicts, advisor.Judge(j, q.Settings))
	}
	return q
}

// give applies settings to a session.
func give(t *testing.T, session *client.Session, settings map[string]string) {
	t.Helper()
	for name, value := range settings {
		run(t, session, "SET "+name+"="+value)
	}
}

func TestMovementOnHive(t *testing.T) {
	db := fmt.Sprintf("h_movement_%d", os.Getpid())
	admin := open(t)
	t.Cleanup(func() { run(t, admin, Teardown(db)...) })
	run(t, admin, append(Teardown(db), "CREATE DATABASE "+quote(db), use(db))...)
	run(t, admin, gather...)
	const placed = "CLUSTERED BY (k) SORTED BY (k) INTO 2 BUCKETS"
	run(t, admin, "CREATE TABLE facts (k BIGINT, v INT) STORED AS ORC", "CREATE TABLE dim (k BIGINT, name STRING) STORED AS ORC",
		"CREATE TABLE placed (k BIGINT, v INT) "+placed+" STORED AS ORC", "CREATE TABLE placed_dim (k BIGINT, name STRING) "+placed+" STORED AS ORC",
		"CREATE TABLE stale (k BIGINT, name STRING) STORED AS ORC",
		"FROM ("+generate("i", 2000)+") n INSERT INTO TABLE facts SELECT i % 500, i INSERT INTO TABLE dim SELECT i, concat('n', i) WHERE i < 300"+
			" INSERT INTO TABLE placed SELECT i % 500, i INSERT INTO TABLE placed_dim SELECT i, concat('n', i) WHERE i < 300"+
			" INSERT INTO TABLE stale SELECT i, concat('n', i) WHERE i < 400")
	const budget, conversion = "hive.auto.convert.join.noconditionaltask.size", "hive.auto.convert.join"
	for name, test := range map[string]struct {
		settings map[string]string
		sql      string
		want     movement.Way
		edges    map[string]int
		// bytes of the small and the large side to what moves on four nodes
		bytes func(small, large int64) int64
	}{
		"broadcast": {
			settings: map[string]string{budget: "10000000"}, sql: "SELECT sum(v) FROM facts JOIN dim ON facts.k = dim.k", want: movement.Broadcast,
			edges: map[string]int{"BROADCAST_EDGE": 1}, bytes: func(small, _ int64) int64 { return 4 * small },
		},
		"redistribution": {
			settings: map[string]string{budget: "1"}, sql: "SELECT sum(v) FROM facts JOIN dim ON facts.k = dim.k", want: movement.Redistribute,
			edges: map[string]int{"SIMPLE_EDGE": 2}, bytes: func(small, large int64) int64 { return small + large },
		},
		"co-located": {
			settings: map[string]string{budget: "1"}, sql: "SELECT sum(v) FROM placed JOIN placed_dim ON placed.k = placed_dim.k", want: movement.CoLocated,
			edges: map[string]int{}, bytes: func(_, _ int64) int64 { return 0 },
		},
		"single-sided": {
			settings: map[string]string{budget: "200000", conversion: "true", "hive.auto.convert.sortmerge.join": "false"},
			sql:      "SELECT sum(v) FROM placed JOIN dim ON placed.k = dim.k", want: movement.SingleSided,
			edges: map[string]int{"CUSTOM_EDGE": 1}, bytes: func(small, _ int64) int64 { return small },
		},
	} {
		t.Run(name, func(t *testing.T) {
			session := anew(t, admin, db)
			run(t, session, "SET hive.tez.dynamic.semijoin.reduction=false")
			give(t, session, test.settings)
			text := planOf(t, session, "EXTENDED", test.sql)
			q := queryOf(t, text, test.settings, nil)
			if len(q.Verdicts) != 1 {
				t.Fatalf("%d joins:\n%s", len(q.Verdicts), text)
			}
			v := q.Verdicts[0]
			c := movement.Of(v, 4, 0)
			if c.Planned != test.want || !c.Option(test.want).Allowed {
				t.Errorf("planned %s, %s: want %s\n%s", c.Planned, movement.Describe(c), test.want, text)
			}
			if want := test.bytes(c.Small, c.Large); c.PlannedBytes != want || c.Small <= 0 || c.Large <= c.Small {
				t.Errorf("moves %d, want %d of %d and %d", c.PlannedBytes, want, c.Small, c.Large)
			}
			got := map[string]int{}
			for i := range v.Join.Inputs {
				if e := v.Join.Inputs[i].Edge(); e != "" {
					got[string(e)]++
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(test.edges) {
				t.Errorf("the plan's edges into the join are %v, want %v\n%s", got, test.edges, text)
			}
			if rows := run(t, session, test.sql).Rows; len(rows) != 1 {
				t.Errorf("%d rows", len(rows))
			}
		})
	}

	// A broadcast whose real rows are many times the estimate, as EXPLAIN ANALYZE counts them.
	t.Run("actual rows", func(t *testing.T) {
		session := anew(t, admin, db)
		run(t, session, "ALTER TABLE stale UPDATE STATISTICS SET ('numRows'='8','rawDataSize'='800')")
		settings := map[string]string{budget: "10000000", "hive.tez.dynamic.semijoin.reduction": "false", "hive.explain.user": "false"}
		give(t, session, settings)
		text := planOf(t, session, "ANALYZE", "SELECT sum(v) FROM facts JOIN stale ON facts.k = stale.k")
		q := queryOf(t, text, settings, nil)
		var found *advisor.Finding
		for _, f := range movement.Find(q) {
			if f.Kind == movement.BroadcastActualDwarfsEstimate {
				found = &f
			}
		}
		if found == nil || found.Evidence["actual_rows"] != int64(400) {
			t.Fatalf("found %+v in\n%s", found, text)
		}
		if !strings.Contains(found.Advice, "ANALYZE TABLE") {
			t.Errorf("advice %q", found.Advice)
		}
		run(t, session, "ANALYZE TABLE stale COMPUTE STATISTICS")
		text = planOf(t, session, "ANALYZE", "SELECT sum(v) FROM facts JOIN stale ON facts.k = stale.k")
		for _, f := range movement.Find(queryOf(t, text, settings, nil)) {
			t.Errorf("after the advice: %+v", f)
		}
	})
}
