package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// ExplainAnalyzeOutcome is what became of a query that was to be run under EXPLAIN ANALYZE.
type ExplainAnalyzeOutcome string

// Outcomes: rows were counted; Hive printed no counts; not run by our rules; canceled, in Hive too; failed.
const (
	AnalyzeCounted  ExplainAnalyzeOutcome = "COUNTED"
	AnalyzeNoCounts ExplainAnalyzeOutcome = "NO_COUNTS"
	AnalyzeRefused  ExplainAnalyzeOutcome = "REFUSED"
	AnalyzeCanceled ExplainAnalyzeOutcome = "CANCELED"
	AnalyzeFailed   ExplainAnalyzeOutcome = "FAILED"
)

// ExplainAnalyze is one query of a run. Reason says why it is not AnalyzeCounted.
type ExplainAnalyze struct {
	Fingerprint string
	Database    string
	// SQL is the query as it was sent, which is not stored: its literals are taken out of Reason, unless Options.KeepLiterals.
	SQL       string
	Outcome   ExplainAnalyzeOutcome
	Reason    string
	Operators int
	StartedAt time.Time
	Took      time.Duration
}

// countedSelect takes the last plan of each query and database that has joins: those named, and those whose joins ran most often in the
// last seven days.
const countedSelect = `
WITH latest AS (
    SELECT DISTINCT ON (p.fingerprint, p.database_name)
           p.id, p.upstream_id, p.fingerprint, p.database_name, p.settings, p.hive_version, p.explained_at
    FROM hs2proxy.plans p JOIN hs2proxy.upstreams u ON u.id = p.upstream_id
    WHERE u.name = @upstream
    ORDER BY p.fingerprint, p.database_name, p.explained_at DESC, p.id DESC
), ranked AS (
    SELECT l.*, l.fingerprint = ANY (@fingerprints) AS named,
           coalesce((SELECT n.uses FROM hs2proxy.query_uses n
                     WHERE n.upstream_id = l.upstream_id AND n.fingerprint = l.fingerprint AND n.database_name = l.database_name), 0)
               * (SELECT count(*) FROM hs2proxy.joins j WHERE j.plan_id = l.id) AS joined
    FROM latest l
), placed AS (
    SELECT r.*, row_number() OVER (PARTITION BY r.named ORDER BY r.joined DESC, r.fingerprint, r.database_name) AS place FROM ranked r
)
SELECT p.fingerprint, p.database_name, coalesce(q.sample_sql, ''), p.settings, p.hive_version, p.id, p.explained_at, q.runs
FROM placed p JOIN hs2proxy.queries q ON q.fingerprint = p.fingerprint
WHERE p.named OR p.joined > 0 AND p.place <= @most
ORDER BY p.named DESC, p.place`

// QueriesToCount are the queries named by fingerprint, and the so many others whose joins ran most often in the last seven days, each
// with its last plan but without the plan's joins. One that was never explained is left out.
func (s *Store) QueriesToCount(ctx context.Context, upstream string, fingerprints []string, mostJoined int) (out []AffectedQuery, err error) {
	err = s.do(ctx, "read the queries to count", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, countedSelect, pgx.NamedArgs{"upstream": text(upstream), "fingerprints": texts(fingerprints), "most": mostJoined})
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, scanAffected)
		return err
	})
	return out, err
}

const analyzeRunLock = `SELECT pg_advisory_xact_lock(hashtextextended('hs2proxy.explain_analyze ' || @upstream::bigint, 0))`

const analyzeRunLost = `
UPDATE hs2proxy.explain_analyze_runs SET ended_at = greatest(lease_until, started_at), lease_until = NULL, reason = 'the proxy ' || claimed_by || ' was gone'
WHERE upstream_id = @upstream AND lease_until < clock_timestamp()`

const analyzeRunClaim = `
INSERT INTO hs2proxy.explain_analyze_runs (upstream_id, fired_at, claimed_by, started_at, lease_until)
SELECT @upstream, @fired, @instance, @now, clock_timestamp() + @lease::interval
WHERE NOT EXISTS (SELECT 1 FROM hs2proxy.explain_analyze_runs r
                  WHERE r.upstream_id = @upstream
                    AND (r.fired_at >= @fired OR r.fired_at > @fired::timestamptz - @gap::interval OR r.lease_until IS NOT NULL))
RETURNING id`

// ClaimExplainAnalyze takes a firing of the schedule, for lease at first. However many proxies ask one gets it; none does while the run
// before goes on, and where the last firing taken was less than gap ago, for schedules that count from each proxy's start.
func (s *Store) ClaimExplainAnalyze(ctx context.Context, upstream string, fired time.Time, gap, lease time.Duration) (run int64, ok bool, err error) {
	err = s.inTx(ctx, "claim an EXPLAIN ANALYZE", []string{upstream}, func(ctx context.Context, tx pgx.Tx) error {
		run, ok = 0, false
		id, err := s.upstreamID(ctx, upstream)
		if err != nil {
			return err
		}
		args := pgx.NamedArgs{"upstream": id, "fired": stamp(fired), "gap": gap, "instance": text(s.o.Instance), "now": s.now(), "lease": lease}
		for _, sql := range []string{analyzeRunLock, analyzeRunLost} {
			if _, err := tx.Exec(ctx, sql, args); err != nil {
				return err
			}
		}
		err = tx.QueryRow(ctx, analyzeRunClaim, args).Scan(&run)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		ok = err == nil
		return err
	})
	return run, ok, err
}

const analyzeRunExtend = `
UPDATE hs2proxy.explain_analyze_runs SET lease_until = clock_timestamp() + @lease::interval WHERE id = @run AND lease_until IS NOT NULL`

// ExtendExplainAnalyze puts off the end of a lease to lease from now. ErrLeaseLost: another proxy took this one for gone.
func (s *Store) ExtendExplainAnalyze(ctx context.Context, run int64, lease time.Duration) error {
	return s.analyzeRun(ctx, "extend an EXPLAIN ANALYZE", analyzeRunExtend, pgx.NamedArgs{"run": run, "lease": lease})
}

const analyzeRunEnd = `
UPDATE hs2proxy.explain_analyze_runs SET ended_at = greatest(@now::timestamptz, started_at), lease_until = NULL, reason = @reason
WHERE id = @run AND lease_until IS NOT NULL`

// FinishExplainAnalyze ends a run; reason says why it ended before all queries were through.
func (s *Store) FinishExplainAnalyze(ctx context.Context, run int64, reason string) error {
	return s.analyzeRun(ctx, "end an EXPLAIN ANALYZE", analyzeRunEnd, pgx.NamedArgs{"run": run, "now": s.now(), "reason": message(reason)})
}

func (s *Store) analyzeRun(ctx context.Context, what, sql string, args pgx.NamedArgs) error {
	return s.do(ctx, what, func(ctx context.Context) error {
		tag, err := s.pool.Exec(ctx, sql, args)
		if err == nil && tag.RowsAffected() == 0 {
			err = fmt.Errorf("EXPLAIN ANALYZE run %d: %w", args["run"], ErrLeaseLost)
		}
		return err
	})
}

const explainAnalyzeInsert = `
INSERT INTO hs2proxy.explain_analyzes (run_id, fingerprint, database_name, outcome, reason, operators, started_at, seconds)
VALUES (@run, @fingerprint, @database, @outcome, @reason, @operators, @started, @seconds)
ON CONFLICT DO NOTHING`

// SaveExplainAnalyze records what became of a query of a run.
func (s *Store) SaveExplainAnalyze(ctx context.Context, run int64, e ExplainAnalyze) error {
	if !s.o.KeepLiterals && e.SQL != "" {
		e.Reason = withoutLiterals(e.Reason, e.SQL, hiveql.Parse(e.SQL).Normalized)
	}
	return s.do(ctx, "record an EXPLAIN ANALYZE", func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, explainAnalyzeInsert, pgx.NamedArgs{
			"run": run, "fingerprint": text(e.Fingerprint), "database": text(e.Database), "outcome": string(e.Outcome),
			"reason": message(s.o.Redact.Text(e.Reason)), "operators": e.Operators, "started": stamp(e.StartedAt), "seconds": e.Took.Seconds(),
		})
		return err
	})
}
