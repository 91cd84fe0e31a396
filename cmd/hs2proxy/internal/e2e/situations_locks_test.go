package e2e

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
)

// A client's UPDATE of an ACID table keeps its transaction while the proxy explains it, and so the lock that holds a refresh of the table
// back, with the lock as the reason. The UPDATE ends well, and Hive counts its rows.
func TestTransactionIsLeftAlone(t *testing.T) {
	if os.Getenv("HS2PROXY_E2E_FULL") != "1" {
		t.Skip("set HS2PROXY_E2E_FULL=1 too to lock a table of a real HiveServer2")
	}
	p := situated(t, func(c *config.Config) { c.Stats.Refresh.LockWait = time.Second })
	client := session(t, p.proxy.Addr().String())
	run := func(sql string) {
		t.Helper()
		if _, err := client.Query(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	const table = situationsDB + ".held"
	run("CREATE DATABASE " + situationsDB)
	slowTable(t, client, situationsDB+".slow", 2000)
	run("CREATE TABLE " + table + " (id int, grp int) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
	run("INSERT INTO " + table + " " + numbers(100))

	const update = "UPDATE " + table + " SET grp = 11 WHERE id IN (SELECT length(word) FROM " + situationsDB + ".slow)"
	ended := make(chan error, 1)
	go func() {
		_, err := client.Query(t.Context(), update)
		ended <- err
	}()
	eventually(t, "the EXPLAIN of the UPDATE", func(context.Context) bool {
		list := executions(t, p.hive.LogFile(), "EXPLAIN EXTENDED "+update)
		return len(list) == 1 && list[0].over()
	})
	watcher := session(t, p.hive.Address())
	eventually(t, "the UPDATE's lock", func(ctx context.Context) bool {
		res, err := watcher.Query(ctx, "SHOW LOCKS DATABASE "+situationsDB)
		return err == nil && slices.ContainsFunc(res.Rows, func(row []*string) bool {
			return slices.ContainsFunc(row, func(c *string) bool { return c != nil && *c == "EXCL_WRITE" })
		})
	})
	id := p.request(t, table)
	var held statscheck.Refresh
	p.until(t, func(ctx context.Context) bool {
		r, err := p.proxy.Store().Refresh(ctx, id)
		if err != nil || r.State == statscheck.RefreshRequested && r.Error == "" || r.State == statscheck.RefreshRunning {
			return false
		}
		held = *r
		return true
	})
	if held.State != statscheck.RefreshRequested || !strings.Contains(held.Error, "put back: a writer's lock after ") ||
		!strings.Contains(held.Error, "EXCL_WRITE acquired by ") || len(held.Statements) > 0 {
		t.Errorf("the refresh beside an UPDATE is %s: %q, after %q", held.State, held.Error, held.Statements)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("%s: %v", update, err)
		}
	case <-time.After(patience):
		t.Fatal("the UPDATE did not end")
	}
	stats, err := statscheck.ReadTable(t.Context(), client, hiveql.TableName{Database: situationsDB, Table: "held"}, nil)
	if err != nil || stats.Rows == nil || *stats.Rows != 100 || !stats.BasicAccurate {
		t.Errorf("after the UPDATE: %+v, %v", stats, err)
	}
}
