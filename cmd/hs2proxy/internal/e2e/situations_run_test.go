package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/app"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
	thriftclient "github.com/hs2proxy/hs2proxy/thrift/client"
)

// Every situation is staged through the proxy, flagged by its rules and by no other, refreshed by the product's own planner and
// queue with the cheapest ANALYZE that mends it, and clear afterwards. Everything is learnt over HiveServer2.
func TestStagedSituations(t *testing.T) {
	p := situated(t)
	p.staged(t, situations(t))
	t.Run("DDL", func(t *testing.T) {
		if os.Getenv("HS2PROXY_E2E_FULL") != "1" {
			t.Skip("set HS2PROXY_E2E_FULL=1 too: this takes minutes")
		}
		p.ddl(t)
	})
}

// staged has every situation flagged, mended and known.
func (p *proxied) staged(t *testing.T, all []situation) {
	t.Helper()
	// query returns when the last statement ended that is no query.
	query := func(t *testing.T, s *thriftclient.Session, statements ...string) (changed time.Time) {
		t.Helper()
		for _, sql := range statements {
			if sql == "" {
				continue
			}
			if _, err := s.Query(t.Context(), sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			if !strings.HasPrefix(sql, "SELECT") {
				changed = time.Now()
			}
		}
		return changed
	}
	began := time.Now()
	phase := func(what string) {
		t.Logf("%s after %.0f s", what, time.Since(began).Seconds())
	}
	client := p.open(t)
	defer func() { _ = client.Close() }()
	query(t, client, "CREATE DATABASE "+situationsDB, "USE "+situationsDB, "CREATE TABLE dim (id int)", "INSERT INTO dim SELECT id FROM ("+numbers(100)+") n")
	changed := map[string]time.Time{}
	for _, s := range all {
		if s.setup != nil {
			changed[situationsDB+"."+s.table] = query(t, client, append(s.setup, s.query)...)
		}
	}
	if found := p.settle(t, changed, nil, nil); len(found) > 0 {
		t.Fatalf("before anything is staged %v holds", found)
	}
	phase("set up")

	for _, s := range all {
		staging := p.open(t)
		changed[situationsDB+"."+s.table] = query(t, staging, append([]string{"USE " + situationsDB}, s.stage...)...)
		_ = staging.Close()
		if s.behind != nil {
			s.behind(t, p.folder(t, client, s.table))
		}
	}
	phase("staged")
	want := map[string]string{}
	for _, s := range all {
		if s.want != "" {
			want[situationsDB+"."+s.table] = s.want
		}
	}
	found := p.settle(t, changed, want, func(missing map[string]bool) {
		for _, s := range all {
			if s.looked != "" && missing[situationsDB+"."+s.table] {
				query(t, client, s.looked)
			}
		}
	})
	for _, s := range all {
		if got := found[situationsDB+"."+s.table]; got != s.want {
			t.Errorf("%s: %s holds, want %q", s.what, orNothing(got), s.want)
		}
		delete(found, situationsDB+"."+s.table)
		p.suspected(t, s)
	}
	if len(found) > 0 {
		t.Errorf("other tables: %v", found)
	}

	phase("flagged")
	query(t, client, "SET hive.compute.query.using.stats=false") // rows are counted, not looked up
	for _, s := range all {
		t.Run(s.table, func(t *testing.T) {
			p.mends(t, s)
		})
	}
	p.know(t, client, all)
	phase("mended")
}

// suspected sees that the statement itself raised R6 of the table, and that the reading which followed ended it.
func (p *proxied) suspected(t *testing.T, s situation) {
	t.Helper()
	if s.seen == "" {
		return
	}
	var level, reason, by string
	var settled bool
	row(t, connect(t, p.cfg.Database.URL), []any{&level, &reason, &by, &settled}, `
SELECT level, reason, cleared_by, coalesce(cleared_at > since, false) FROM hs2proxy.report_stale_history WHERE table_name = $1 AND partition = '' AND rule = 'R6'`,
		situationsDB+"."+s.table)
	if level != string(statscheck.LevelSuspect) || !strings.HasPrefix(reason, s.seen) || !strings.HasSuffix(by, s.settled) || !settled {
		t.Errorf("%s: R6 %s %q, settled %t by %q", s.what, level, reason, settled, by)
	}
}

// mends has the planner choose a refresh for what holds, the proxy run it, and sees that nothing holds afterwards.
func (p *proxied) mends(t *testing.T, s situation) {
	name := situationsDB + "." + s.table
	candidates, err := app.RefreshCandidates(t.Context(), p.proxy.Store(), p.cfg.Upstream.Name, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	schedule := statscheck.Schedule{Name: "test", Tables: []string{name}, MinLevel: statscheck.LevelSuspect}
	planned := statscheck.Plan(candidates, schedule, statscheck.DefaultPolicy(), time.Now())
	if s.analyze == nil {
		if len(planned) > 0 {
			t.Errorf("%s: planned %+v", s.what, planned)
		}
		return
	}
	if len(planned) != 1 {
		t.Fatalf("%s: planned %+v", s.what, planned)
	}
	job := planned[0]
	request := store.RefreshRequest{
		Upstream: job.Upstream, Table: job.Table, Mode: job.Mode, Columns: job.Columns, Partitions: job.Partitions, Reason: job.Reason,
		RequestedBy: job.RequestedBy, Schedule: job.Schedule, WindowStart: job.WindowStart, Scope: job.Scope,
	}
	var id int64
	if s.view == "" {
		if id, _, err = p.proxy.Store().RequestRefresh(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	} else {
		id = p.delegated(t, situationsDB+"."+s.view, name)
	}
	done := p.ended(t, id)
	if done.State != statscheck.RefreshDone || done.Effect == statscheck.EffectIneffective {
		t.Fatalf("%s: %s %s %s", s.what, done.State, done.Effect, done.Error)
	}
	var ran []string
	for _, sql := range done.Statements {
		ran = append(ran, strings.TrimPrefix(sql, fmt.Sprintf("ANALYZE TABLE `%s`.`%s` ", situationsDB, s.table)))
	}
	if !slices.Equal(ran, s.analyze) || done.Mode != s.mode {
		t.Errorf("%s: ran %q as %s (%s), want %q as %s", s.what, ran, done.Mode, done.Scope, s.analyze, s.mode)
	}
	var left string
	deadline := time.Now().Add(30 * time.Second)
	for tick := time.NewTicker(100 * time.Millisecond); ; <-tick.C {
		if left = p.held(t)[name]; left == "" || time.Now().After(deadline) {
			tick.Stop()
			break
		}
	}
	if left != "" {
		t.Errorf("%s: after %q, which was %s, %s still holds", s.what, done.Statements, done.Effect, left)
	}
}

// know compares the baselines, which are what the statistics said when they were last believed, with the rows that are there.
func (p *proxied) know(t *testing.T, client *thriftclient.Session, all []situation) {
	t.Helper()
	there := map[string]string{}
	for some := range slices.Chunk(all, 5) { // Tez takes 120 counters
		counts := make([]string, len(some))
		for i, s := range some {
			counts[i] = fmt.Sprintf("SELECT '%s' AS name, count(*) AS n FROM %s", s.table, s.table)
		}
		res, err := client.Query(t.Context(), strings.Join(counts, " UNION ALL "))
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range res.Rows {
			there[*row[0]] = *row[1]
		}
	}
	for _, s := range all {
		baseline, err := p.proxy.Store().Baseline(t.Context(), p.cfg.Upstream.Name, situationsDB+"."+s.table)
		if err != nil || baseline == nil || baseline.Rows == nil {
			t.Errorf("%s: baseline %+v, %v", s.what, baseline, err)
			continue
		}
		if there[s.table] != strconv.FormatInt(*baseline.Rows, 10) {
			t.Errorf("%s: the statistics count %d rows, and there are %s", s.what, *baseline.Rows, there[s.table])
		}
	}
}

// delegated asks for a refresh of a view, which ends with the reason, and returns that of its base table.
func (p *proxied) delegated(t *testing.T, view, base string) (id int64) {
	t.Helper()
	asked := p.request(t, view)
	p.until(t, func(ctx context.Context) bool {
		r, err := p.proxy.Store().Refresh(ctx, asked)
		return err == nil && r.State == statscheck.RefreshCanceled
	})
	list, err := p.proxy.Store().Refreshes(t.Context(), store.RefreshFilter{Table: base})
	if err != nil || len(list) != 1 || !strings.Contains(list[0].Reason, "base table of the view "+view) {
		t.Fatalf("refreshes of the base table: %+v, %v", list, err)
	}
	return list[0].ID
}

// held is what holds for each table, as situation.want writes it.
func (p *proxied) held(t *testing.T) map[string]string {
	t.Helper()
	stale, err := p.proxy.Store().StaleTables(t.Context(), p.cfg.Upstream.Name)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, table := range stale {
		var rules []string
		for _, s := range table.Staleness {
			rule := string(s.Rule)
			if len(s.Columns) > 0 {
				rule += "(" + strings.Join(s.Columns, ",") + ")"
			}
			if s.Partition != "" {
				rule += "@" + s.Partition
			}
			rules = append(rules, rule)
		}
		slices.Sort(rules)
		out[table.Table] = strings.Join(rules, " ")
	}
	return out
}

// settle waits until every table was looked at after its last change and only what is wanted holds, for five minutes, and returns
// what holds. remind is called every few seconds meanwhile, with the tables that are not as they are to be.
func (p *proxied) settle(t *testing.T, changed map[string]time.Time, want map[string]string, remind func(map[string]bool)) map[string]string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.cfg.Database.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	deadline, next := time.Now().Add(5*time.Minute), time.Now()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		late := unlooked(t, conn, changed)
		found := p.held(t)
		if len(late) == 0 && maps.Equal(found, want) {
			return found
		}
		if remind != nil && time.Now().After(next) {
			missing := map[string]bool{}
			for _, table := range late {
				missing[table] = true
			}
			for table := range changed {
				missing[table] = missing[table] || found[table] != want[table]
			}
			remind(missing)
			next = time.Now().Add(5 * time.Second)
		}
		if time.Now().After(deadline) {
			t.Errorf("waited for five minutes; not looked at: %v", late)
			return found
		}
	}
}

// unlooked are the tables that were not checked after they were changed.
func unlooked(t *testing.T, conn *pgx.Conn, changed map[string]time.Time) (late []string) {
	t.Helper()
	rows, err := conn.Query(t.Context(), "SELECT name, coalesce(checked_at, first_seen) FROM hs2proxy.tables")
	if err != nil {
		t.Fatal(err)
	}
	left := maps.Clone(changed)
	var name string
	var at time.Time
	if _, err := pgx.ForEachRow(rows, []any{&name, &at}, func() error {
		if at.After(changed[name]) {
			delete(left, name)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(left))
}

// folder is where a table's files lie.
func (p *proxied) folder(t *testing.T, s *thriftclient.Session, table string) string {
	t.Helper()
	res, err := s.Query(t.Context(), "DESCRIBE FORMATTED "+table)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range res.Rows {
		if len(row) > 1 && row[0] != nil && row[1] != nil && strings.TrimSpace(*row[0]) == "Location:" {
			return strings.TrimPrefix(strings.TrimSpace(*row[1]), "file:")
		}
	}
	t.Fatalf("%s has no location", table)
	return ""
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}
