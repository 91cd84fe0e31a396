package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Policy says how long rows are kept; 0 keeps them for good.
type Policy struct {
	// Statements and what was counted of their writes, by their start.
	Statements time.Duration
	// Sessions, by their opening, once their statements are gone.
	Sessions time.Duration
	// Plans with their joins, by when they were last seen, queries without plans and statements, and counted agreement with the planner.
	Plans time.Duration
	// Stats are snapshots of table statistics but the latest one of each table, clients' ANALYZEs, and partitions and tables not seen any more.
	Stats time.Duration
	// Findings, by when they were last seen, staleness that no longer holds, foreign writes and contradicted estimates.
	Findings time.Duration
	// Refreshes, by their end, and runs of EXPLAIN ANALYZE.
	Refreshes time.Duration
	// Batch is how many rows one transaction deletes; 5,000 when it is 0.
	Batch int
}

// DefaultPolicy keeps statements and sessions for 30 days, findings for 90, plans and statistics for 180, refreshes for
// a year.
func DefaultPolicy() Policy {
	const day = 24 * time.Hour
	return Policy{Statements: 30 * day, Sessions: 30 * day, Plans: 180 * day, Stats: 180 * day, Findings: 90 * day, Refreshes: 365 * day}
}

// Deleted counts the rows deleted by table, without those that went with them.
type Deleted map[string]int64

// Each deletes at most @most rows that are older than @before. Rows another proxy is deleting are left to it. Keys of several columns
// are not looked up: for those the planner reads the whole table, for each batch.
const (
	expireStatements = `
DELETE FROM hs2proxy.statements WHERE id IN (
    SELECT x.id FROM hs2proxy.statements x WHERE x.started_at < @before LIMIT @most FOR UPDATE SKIP LOCKED)`
	expireWrites = `
DELETE FROM hs2proxy.table_writes WHERE ctid = ANY (ARRAY(
    SELECT x.ctid FROM hs2proxy.table_writes x WHERE x.written_at < @before LIMIT @most FOR UPDATE SKIP LOCKED))`
	expireSessions = `
DELETE FROM hs2proxy.sessions WHERE id IN (
    SELECT x.id FROM hs2proxy.sessions x
    WHERE x.opened_at < @before AND coalesce(x.closed_at, x.opened_at) < @before
      AND NOT EXISTS (SELECT 1 FROM hs2proxy.statements t WHERE t.session_id = x.id) LIMIT @most FOR UPDATE SKIP LOCKED)`
	expirePlans = `
DELETE FROM hs2proxy.plans WHERE id IN (
    SELECT x.id FROM hs2proxy.plans x WHERE x.explained_at < @before
      AND NOT EXISTS (SELECT 1 FROM hs2proxy.plan_uses u WHERE u.plan_id = x.id AND u.day >= (@before::timestamptz AT TIME ZONE 'UTC')::date)
    LIMIT @most FOR UPDATE SKIP LOCKED)`
	expireUses = `
DELETE FROM hs2proxy.plan_uses WHERE ctid = ANY (ARRAY(
    SELECT x.ctid FROM hs2proxy.plan_uses x WHERE x.day < (@before::timestamptz AT TIME ZONE 'UTC')::date LIMIT @most FOR UPDATE SKIP LOCKED))`
	expireQueries = `
DELETE FROM hs2proxy.queries WHERE fingerprint IN (
    SELECT x.fingerprint FROM hs2proxy.queries x
    WHERE x.last_seen < @before AND NOT EXISTS (SELECT 1 FROM hs2proxy.plans p WHERE p.fingerprint = x.fingerprint)
      AND NOT EXISTS (SELECT 1 FROM hs2proxy.statements t WHERE t.fingerprint = x.fingerprint) LIMIT @most FOR UPDATE SKIP LOCKED)`
	expireStats = `
DELETE FROM hs2proxy.table_stats WHERE id IN (
    SELECT x.id FROM hs2proxy.table_stats x
    WHERE x.read_at < @before AND EXISTS (
        SELECT 1 FROM hs2proxy.table_stats n
        WHERE n.table_id = x.table_id AND n.partition_name = x.partition_name AND (n.read_at, n.id) > (x.read_at, x.id)) LIMIT @most FOR UPDATE SKIP LOCKED)`
	expireTables = `
DELETE FROM hs2proxy.tables WHERE id IN (
    SELECT x.id FROM hs2proxy.tables x
    WHERE greatest(x.first_seen, x.used_at, x.writes_last_at, x.checked_at, x.baseline_at) < @before
      AND NOT EXISTS (SELECT 1 FROM hs2proxy.plan_tables p WHERE p.table_id = x.id)
      AND NOT EXISTS (SELECT 1 FROM hs2proxy.table_stats s WHERE s.table_id = x.id AND s.read_at >= @before) LIMIT @most FOR UPDATE SKIP LOCKED)`
	expireFindings = `
DELETE FROM hs2proxy.findings WHERE id IN (
    SELECT x.id FROM hs2proxy.findings x WHERE x.last_seen < @before LIMIT @most FOR UPDATE SKIP LOCKED)`
	expireFidelity = `
DELETE FROM hs2proxy.fidelity_days WHERE ctid = ANY (ARRAY(
    SELECT x.ctid FROM hs2proxy.fidelity_days x
    WHERE x.day < (@before::timestamptz AT TIME ZONE 'UTC')::date LIMIT @most FOR UPDATE SKIP LOCKED))`
	expireStaleness = `
DELETE FROM hs2proxy.staleness WHERE ctid = ANY (ARRAY(
    SELECT x.ctid FROM hs2proxy.staleness x WHERE x.cleared_at < @before LIMIT @most FOR UPDATE SKIP LOCKED))`
	expirePartitions = `
DELETE FROM hs2proxy.partitions WHERE ctid = ANY (ARRAY(
    SELECT x.ctid FROM hs2proxy.partitions x WHERE x.read_at < @before LIMIT @most FOR UPDATE SKIP LOCKED))`
	expireAnalyzes = `
DELETE FROM hs2proxy.analyzes WHERE ctid = ANY (ARRAY(
    SELECT x.ctid FROM hs2proxy.analyzes x WHERE x.ended_at < @before LIMIT @most FOR UPDATE SKIP LOCKED))`
	expireForeign = `
DELETE FROM hs2proxy.foreign_writes WHERE id IN (
    SELECT x.id FROM hs2proxy.foreign_writes x WHERE x.seen_at < @before LIMIT @most FOR UPDATE SKIP LOCKED)`
	expireContradictions = `
DELETE FROM hs2proxy.contradictions WHERE ctid = ANY (ARRAY(
    SELECT x.ctid FROM hs2proxy.contradictions x WHERE x.at < @before LIMIT @most FOR UPDATE SKIP LOCKED))`
	expireAnalyzeRuns = `
DELETE FROM hs2proxy.explain_analyze_runs WHERE id IN (
    SELECT x.id FROM hs2proxy.explain_analyze_runs x WHERE x.fired_at < @before AND x.ended_at IS NOT NULL LIMIT @most FOR UPDATE SKIP LOCKED)`
	expireRefreshes = `
DELETE FROM hs2proxy.refreshes WHERE id IN (
    SELECT x.id FROM hs2proxy.refreshes x WHERE x.ended_at < @before LIMIT @most FOR UPDATE SKIP LOCKED)`
)

// Retention deletes what is older than the policy keeps, in batches (ended jobs of the queue are River's to delete), and returns what it deleted also when it fails
// half-way. Several proxies may do it at once.
func (s *Store) Retention(ctx context.Context, p Policy) (Deleted, error) {
	if p.Batch <= 0 {
		p.Batch = 5000
	}
	now := s.now()
	deleted := Deleted{}
	for _, step := range []struct {
		table, sql string
		keep       time.Duration
	}{
		{"statements", expireStatements, p.Statements},
		{"table_writes", expireWrites, p.Statements},
		{"analyzes", expireAnalyzes, p.Stats},
		{"contradictions", expireContradictions, p.Findings},
		{"foreign_writes", expireForeign, p.Findings},
		{"partitions", expirePartitions, p.Stats},
		{"sessions", expireSessions, p.Sessions},
		{"plans", expirePlans, p.Plans},
		{"plan_uses", expireUses, p.Plans},
		{"fidelity_days", expireFidelity, p.Plans},
		{"findings", expireFindings, p.Findings},
		{"queries", expireQueries, p.Plans},
		{"table_stats", expireStats, p.Stats},
		{"tables", expireTables, p.Stats},
		{"staleness", expireStaleness, p.Findings},
		{"explain_analyze_runs", expireAnalyzeRuns, p.Refreshes},
		{"refreshes", expireRefreshes, p.Refreshes},
	} {
		if step.keep <= 0 {
			continue
		}
		n, err := s.expire(ctx, step.table, step.sql, now.Add(-step.keep), p.Batch)
		if n > 0 {
			deleted[step.table] = n
		}
		if err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}

func (s *Store) expire(ctx context.Context, table, sql string, before time.Time, most int) (total int64, err error) {
	for {
		var n int64
		err := s.do(ctx, "delete old rows of "+table, func(ctx context.Context) error {
			tag, err := s.pool.Exec(ctx, sql, pgx.NamedArgs{"before": before, "most": most})
			n = tag.RowsAffected()
			return err
		})
		total += n
		if err != nil || n < int64(most) {
			return total, err
		}
	}
}
