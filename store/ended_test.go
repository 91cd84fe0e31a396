package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

// stale records a table with 1,000 rows at t0, as many written since, and rules that hold for it and a partition.
func (f *fixture) stale(tables ...string) {
	f.t.Helper()
	for _, table := range tables {
		f.ok(f.Rebase(f.t.Context(), "hive-a", table, statscheck.Baseline{Rows: ptr(int64(1000)), At: t0}))
		f.ok(f.AddWrites(f.t.Context(), []store.TableWrite{write(table, hiveql.WriteInsertInto, ptr(int64(1000)), t0.Add(time.Minute))}))
		f.ok(f.SaveTableStats(f.t.Context(), "hive-a", []advisor.TableStats{{Table: table, Kind: "MANAGED_TABLE", ReadAt: t0}}))
		f.ok(f.SaveChecked(f.t.Context(), "hive-a", table, store.Checked{Health: ptr(0.0), Partitions: []string{"ds=a"}, Holds: []statscheck.Staleness{
			{Rule: statscheck.R4Rows, Level: statscheck.LevelHigh, Reason: "rows"}, {Partition: "ds=a", Rule: statscheck.R2NoBasic, Level: statscheck.LevelCritical, Reason: "none"},
		}}))
	}
}

func write(table string, op hiveql.WriteOp, rows *int64, at time.Time) store.TableWrite {
	return store.TableWrite{Upstream: "hive-a", Table: table, StatementID: uuid.Must(uuid.NewV7()).String(), Op: op, Rows: rows, Suspect: true, At: at}
}

const ofTables = `SELECT string_agg(concat_ws(' ', t.name, (SELECT string_agg(s.rule, ',' ORDER BY s.rule) FROM hs2proxy.staleness s WHERE s.table_id = t.id AND s.cleared_at IS NULL),
	t.baseline_rows, t.baseline_at - $1, t.writes_rows, t.health, (SELECT count(*) FROM hs2proxy.partitions p WHERE p.table_id = t.id)), '; ' ORDER BY t.name) FROM hs2proxy.tables t`

// TestTablesEnd: what holds for a table that is dropped, renamed or replaced by another of its name ends with it, and so does what was
// counted. A statement that comes a second time ends nothing that began since.
func TestTablesEnd(t *testing.T) {
	f := newFixture(t, store.Options{})
	f.stale("shop.a", "shop.b", "shop.c", "shop.d")
	const untouched = "shop.d R2,R4 1000 00:00:00 1000 0 1"
	at := t0.Add(time.Hour)
	dropped := write("shop.a", hiveql.WriteDrop, nil, at)
	renamed := []store.TableWrite{write("shop.b", hiveql.WriteDrop, nil, at), write("shop.c", hiveql.WriteRename, nil, at)}
	renamed[1].StatementID = renamed[0].StatementID
	f.ok(f.AddWrites(t.Context(), []store.TableWrite{dropped}))
	f.ok(f.AddWrites(t.Context(), renamed))
	f.want("shop.a 01:00:00 0 0; shop.b 01:00:00 0 0; shop.c R6 01:00:00 0 0; "+untouched, ofTables, t0)
	f.want("the table was dropped, or renamed,another table was given the name", `SELECT string_agg(DISTINCT cleared_by, ',' ORDER BY cleared_by DESC)
		FROM hs2proxy.report_stale_history WHERE cleared_at = $1`, at)

	// A table that comes back under the name, in the batch of its statement's replay.
	f.ok(f.AddWrites(t.Context(), []store.TableWrite{write("shop.a", hiveql.WriteCreate, ptr(int64(7)), at.Add(time.Minute)), dropped}))
	f.want("shop.a 01:00:00 7 0; shop.b 01:00:00 0 0; shop.c R6 01:00:00 0 0; "+untouched, ofTables, t0)
	f.ok(f.Rebase(t.Context(), "hive-a", "shop.a", statscheck.Baseline{Rows: ptr(int64(7)), At: at.Add(2 * time.Minute)}))
	f.ok(f.AddWrites(t.Context(), []store.TableWrite{write("shop.a", hiveql.WriteDrop, nil, at.Add(time.Minute))})) // late
	f.want("7", `SELECT baseline_rows FROM hs2proxy.tables WHERE name = 'shop.a'`)
	// Dropped and made again within one batch.
	f.ok(f.AddWrites(t.Context(), []store.TableWrite{
		write("shop.a", hiveql.WriteDrop, nil, at.Add(3*time.Minute)), write("shop.a", hiveql.WriteDrop, nil, at.Add(4*time.Minute)), write("shop.a", hiveql.WriteCreate, ptr(int64(5)), at.Add(5*time.Minute)),
	}))
	f.want("shop.a 01:04:00 5 0", ofTables+" WHERE t.name = 'shop.a'", t0)
}

// TestDatabaseEnds: all tables of a database end with it, and no other's.
func TestDatabaseEnds(t *testing.T) {
	f := newFixture(t, store.Options{})
	f.stale("shop.a", "shop.b", "shops.c", "shop_d.e")
	s := session("hive-a")
	st := ended(statement(s, "DROP DATABASE shop CASCADE", "f9", t0.Add(time.Hour)), intercept.StateFinished, time.Second)
	for range 2 { // and again from a spool
		f.ok(f.RecordStatement(t.Context(), store.Observation{Session: s, Statement: st, DroppedDatabase: "shop"}))
	}
	f.want("shop.a 01:00:01 0 0; shop.b 01:00:01 0 0; shop_d.e R2,R4 1000 00:00:00 1000 0 1; shops.c R2,R4 1000 00:00:00 1000 0 1", ofTables, t0)
	f.want("4 the database was dropped", `SELECT concat_ws(' ', count(*), min(cleared_by)) FROM hs2proxy.report_stale_history WHERE cleared_at IS NOT NULL`)
}
