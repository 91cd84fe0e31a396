package e2e

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/sample"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// firedLine is what a proxy logs of each firing of a schedule.
var firedLine = regexp.MustCompile(`"schedule":"(\w+)","requested":(\d+)[^\n]*"message":"schedule fired"`)

// fired are a schedule's firings in one proxy, and the refreshes they requested.
func (s *serving) fired(schedule string) (firings, requested int) {
	for _, m := range firedLine.FindAllStringSubmatch(s.words(), -1) {
		if m[1] == schedule {
			n, _ := strconv.Atoi(m[2])
			firings, requested = firings+1, requested+n
		}
	}
	return firings, requested
}

// Two proxies on one Postgres have the same schedules, which fire at the same minutes in both. Clients of both write two tables. Each
// statement's rows count once; each schedule's refresh is requested once and runs once; both plans flip, as foretold before.
func schedulesFireOnce(t *testing.T, r rig) {
	const database = "e2e_schedule"
	stories := sample.Stories(database)
	dsn := storetest.DSN(t)
	db := connect(t, dsn)
	settings := r.settings(dsn)
	schedules := []string{"lists", "logs"}
	settings["STATISTICS__REFRESH__SCHEDULES"] = fmt.Sprintf(`[{name: lists, cron: "* * * * *", tables: [%s]}, {name: logs, cron: "* * * * *", tables: [%s]}]`,
		stories[0].Table, stories[1].Table)
	proxies := []*serving{serve(t, r.program, settings), serve(t, r.program, settings)}
	// Nothing is refreshed before both have been written.
	runSQL(t, db, "SELECT hs2proxy.set_refresh_policy($1, never => true, reason => 'being loaded')", database+".*")

	setup := session(t, proxies[0].address(t))
	for _, sql := range sample.Setup(database) {
		if needed(sql, "campaign_targets", "web_sessions", "orders", "customers") {
			runAll(t, setup, sql)
		}
	}
	var rows int64
	for i, proxy := range proxies { // each of them is to know both texts, whichever runs the refresh
		s := session(t, proxy.address(t))
		for _, story := range stories {
			runAll(t, s, append(slices.Clone(story.Settings), story.SQL)...)
		}
		story := stories[i]
		eventually(t, "the baseline of "+story.Table, func(context.Context) bool {
			var n int
			row(t, db, []any{&n}, "SELECT count(*) FROM hs2proxy.tables WHERE name = $1 AND baseline_rows = $2", story.Table, story.RowsBefore)
			return n == 1
		})
		runAll(t, s, story.Load...)
		rows += story.RowsLoaded
	}
	eventually(t, "what was loaded to be found", func(context.Context) bool {
		var stale int
		row(t, db, []any{&stale}, "SELECT count(DISTINCT table_name) FROM hs2proxy.report_stale_tables WHERE table_name LIKE $1 AND rule = 'R2'", database+".%")
		return stale == len(stories)
	})
	var requested int
	row(t, db, []any{&requested}, "SELECT count(*) FROM hs2proxy.refreshes")
	if requested > 0 {
		t.Fatalf("%d refreshes were requested against the policy", requested)
	}
	var counted, writes int64
	row(t, db, []any{&counted, &writes}, `
SELECT sum(w.written_rows)::bigint, count(*) FROM hs2proxy.table_writes w JOIN hs2proxy.tables t ON t.id = w.table_id
JOIN hs2proxy.statements s ON s.id = w.statement_id WHERE t.name = ANY ($1) AND s.started_at > t.baseline_at`, []string{stories[0].Table, stories[1].Table})
	if counted != rows || writes != int64(len(stories)) {
		t.Errorf("%d rows of %d writes counted, want %d of %d", counted, writes, rows, len(stories))
	}
	runSQL(t, db, "SELECT hs2proxy.drop_refresh_policy($1, reason => 'loaded')", database+".*")

	eventually(t, "the end of both refreshes", func(context.Context) bool {
		var ended int
		row(t, db, []any{&ended}, "SELECT count(*) FROM hs2proxy.refreshes WHERE ended_at IS NOT NULL")
		return ended >= len(stories)
	})
	if os.Getenv("HS2PROXY_E2E_FULL") == "1" {
		nextFiring(t, proxies, schedules[0]) // which finds nothing more to do
	}
	for _, schedule := range schedules {
		firedOnce(t, db, proxies, schedule)
		_, first := proxies[0].fired(schedule)
		_, second := proxies[1].fired(schedule)
		if first+second != 1 {
			t.Errorf("the schedule %s requested %d and %d refreshes in the two proxies, want one in all", schedule, first, second)
		}
	}
	for i, story := range stories {
		flips(t, db, story, schedules[i])
		if all := executions(t, r.log, "ANALYZE TABLE `"+strings.ReplaceAll(story.Table, ".", "`.`")+"`"); len(all) != 1 || !all[0].finished {
			t.Errorf("ANALYZEs of %s in Hive: %+v", story.Table, all)
		}
	}
}

// nextFiring waits until a schedule has fired once more, in one of the proxies.
func nextFiring(t *testing.T, proxies []*serving, schedule string) {
	t.Helper()
	count := func() (firings int) {
		for _, proxy := range proxies {
			n, _ := proxy.fired(schedule)
			firings += n
		}
		return firings
	}
	before := count()
	eventually(t, "the next firing", func(context.Context) bool { return count() > before })
}

// firedOnce: of the proxies that fired a schedule for one time, one did it.
func firedOnce(t *testing.T, db *pgx.Conn, proxies []*serving, schedule string) {
	t.Helper()
	logged := 0
	for _, proxy := range proxies {
		n, _ := proxy.fired(schedule)
		logged += n
	}
	var times, jobs int
	row(t, db, []any{&times, &jobs}, `
SELECT count(DISTINCT args ->> 'slot'), count(*) FROM hs2proxy.river_job WHERE kind = 'fire_schedule' AND args ->> 'schedule' = $1`, schedule)
	if logged == 0 || times != jobs || logged > jobs {
		t.Errorf("the schedule %s fired at %d times: %d jobs, of which the proxies did %d", schedule, times, jobs, logged)
	}
}

// flips compares what is reported of the one refresh of a story's table with the story.
func flips(t *testing.T, db *pgx.Conn, story sample.Story, schedule string) {
	t.Helper()
	var (
		id, before, after                      int64
		refreshes                              int
		state, effect, trigger, by, prediction string
		was, is, changes, foretold             []string
	)
	row(t, db, []any{&refreshes, &id}, "SELECT count(*), min(id) FROM hs2proxy.report_refreshes WHERE table_name = $1", story.Table)
	row(t, db, []any{&state, &effect, &trigger, &by, &before, &after, &was, &is, &changes, &prediction, &foretold}, `
SELECT state, effect, trigger, requested_by, rows_before, rows_after, strategies_before, strategies_after, changes, coalesce(prediction, ''), predictions
FROM hs2proxy.report_refreshes WHERE id = $1`, id)
	if refreshes != 1 || state != "DONE" || effect != "EFFECTIVE" || trigger != "SCHEDULE" || by != "schedule "+schedule {
		t.Errorf("%s: %d refreshes, %s %s, %s by %q", story.Table, refreshes, state, effect, trigger, by)
	}
	if before != story.RowsBefore || after != story.RowsAfter {
		t.Errorf("%s: rows %d → %d, want %d → %d", story.Table, before, after, story.RowsBefore, story.RowsAfter)
	}
	if !slices.Equal(was, []string{string(story.Stale)}) || !slices.Equal(is, []string{string(story.Fresh)}) || len(changes) != 1 {
		t.Errorf("%s: strategies %v → %v (%v), want %s → %s", story.Table, was, is, changes, story.Stale, story.Fresh)
	}
	flip := fmt.Sprintf("%s → %s, RIGHT", story.Stale, story.Fresh)
	if prediction != "RIGHT" || len(foretold) != 1 || !strings.HasSuffix(foretold[0], flip) {
		t.Errorf("%s: prediction %q %q, want RIGHT and %q", story.Table, prediction, foretold, flip)
	}
	if got := attempts(t, db, id); len(got) != 1 || got[0].outcome != "DONE" {
		t.Errorf("%s: attempts %+v", story.Table, got)
	}
	eventually(t, story.Table+" to be clear", func(context.Context) bool {
		var left int
		row(t, db, []any{&left}, "SELECT count(*) FROM hs2proxy.report_stale_tables WHERE table_name = $1", story.Table)
		return left == 0
	})
}

// needed: the statement is about the database, the session or one of the tables.
func needed(sql string, tables ...string) bool {
	if !strings.HasPrefix(sql, "CREATE TABLE ") && !strings.HasPrefix(sql, "INSERT ") {
		return true
	}
	return slices.ContainsFunc(tables, func(name string) bool { return strings.Contains(sql, " "+name+" ") })
}
