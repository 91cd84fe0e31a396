package e2e

import (
	"context"
	"testing"

	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// windowEnds has a schedule refresh a table whose ANALYZE takes longer than the window.
func windowEnds(t *testing.T, r rig) {
	const table = "endless"
	dsn := storetest.DSN(t)
	db := connect(t, dsn)
	settings := r.settings(dsn)
	settings["STATISTICS__REFRESH__SCHEDULES"] = `[{name: brief, cron: "@every 3s", tables: ["default.` + table + `"], mode: BASIC, window: 20s}]`
	proxy := serve(t, r.program, settings)
	slowTable(t, session(t, proxy.address(t)), table, 20_000) // the proxy sees the table filled

	statement := "ANALYZE TABLE `default`.`" + table + "`"
	var (
		id            int64
		state, reason string
	)
	eventually(t, "the refresh's end", func(context.Context) bool {
		row(t, db, []any{&id, &state, &reason}, `
SELECT coalesce(min(id), 0), coalesce(min(state), ''), coalesce(min(error), '') FROM hs2proxy.refreshes WHERE state NOT IN ('REQUESTED', 'RUNNING')`)
		return id > 0
	})
	const want = "canceled in Hive: the schedule's window is over"
	if state != "FAILED" || reason != want {
		t.Errorf("the refresh ended %s: %q, want FAILED: %q", state, reason, want)
	}
	if got := attempts(t, db, id); len(got) != 1 || got[0].outcome != "FAILED" || got[0].reason != want {
		t.Errorf("attempts %+v", got)
	}
	eventually(t, "the cancellation in Hive", func(context.Context) bool {
		all := executions(t, r.log, statement)
		return len(all) > 0 && all[0].over()
	})
	all := executions(t, r.log, statement)
	if e := all[0]; len(all) != 1 || e.finished || !e.interrupted || !e.killed {
		t.Errorf("ANALYZE in Hive: %+v", all)
	}
}
