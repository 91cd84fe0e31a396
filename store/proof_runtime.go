package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/statscheck"
)

// QueryRuntime is how one query ran before a refresh and since. Durations are from the call to the final state as seen on the wire.
type QueryRuntime struct {
	Fingerprint   string
	Before, After statscheck.Runtime
	// Effect is empty with fewer than three runs on one of the sides. After has no standard deviation.
	Effect statscheck.Effect
}

const runtimesSelect = `
SELECT fingerprint, runs_before, coalesce(seconds_before, 0), coalesce(deviation_before, 0), runs_after, coalesce(seconds_after, 0), coalesce(effect, '')
FROM hs2proxy.refresh_runtimes WHERE refresh_id = @id ORDER BY fingerprint`

func readRuntime(row pgx.CollectableRow) (q QueryRuntime, err error) {
	var before, deviation, after float64
	err = row.Scan(&q.Fingerprint, &q.Before.Runs, &before, &deviation, &q.After.Runs, &after, &q.Effect)
	q.Before.Mean, q.Before.StdDev, q.After.Mean = duration(before), duration(deviation), duration(after)
	return q, err
}

func duration(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Microsecond)
}

const (
	// baselineRuns and baselineAge bound the runs before a refresh that later ones are compared with.
	baselineRuns = 20
	baselineAge  = 30 * 24 * time.Hour
	// laterAge is how long later runs are looked at, at most laterRuns of a query.
	laterAge  = 7 * 24 * time.Hour
	laterRuns = 1000
)

// judgeable are the refreshes whose later runs are still to be looked at, with the moment at which that ends: when the table is refreshed
// again, and seven days after the end at the latest.
const judgeable = `
SELECT r.id, r.table_name, r.started_at, r.ended_at, coalesce(f.later_effect, ''),
       least(r.ended_at + @age::interval, (SELECT min(n.started_at) FROM hs2proxy.refreshes n
            WHERE n.table_name = r.table_name AND n.upstream_id = r.upstream_id AND n.id > r.id AND n.started_at >= r.ended_at))
FROM hs2proxy.refresh_proofs f
JOIN hs2proxy.refreshes r ON r.id = f.refresh_id
JOIN hs2proxy.upstreams u ON u.id = r.upstream_id
WHERE NOT f.complete AND u.name = @upstream AND r.state = 'DONE' AND r.effect IN ('EFFECTIVE', 'NO_CHANGE') AND r.started_at IS NOT NULL
ORDER BY r.id`

// runsOfQueries are the durations, in seconds, of the runs of each affected query that ended well.
const runsOfQueries = `
SELECT g.fingerprint,
       ARRAY(SELECT extract(epoch FROM t.ended_at - t.started_at)::double precision
             FROM hs2proxy.statements t JOIN hs2proxy.sessions s ON s.id = t.session_id
             WHERE t.fingerprint = g.fingerprint AND s.upstream_id = r.upstream_id AND t.state = 'FINISHED'
               AND t.started_at >= r.started_at - @baseline_age::interval AND t.started_at < r.started_at AND t.ended_at <= r.started_at
             ORDER BY t.started_at DESC LIMIT @baseline_runs),
       ARRAY(SELECT extract(epoch FROM t.ended_at - t.started_at)::double precision
             FROM hs2proxy.statements t JOIN hs2proxy.sessions s ON s.id = t.session_id
             WHERE t.fingerprint = g.fingerprint AND s.upstream_id = r.upstream_id AND t.state = 'FINISHED'
               AND t.started_at >= r.ended_at AND t.started_at < @until AND t.ended_at >= t.started_at
             ORDER BY t.started_at LIMIT @later_runs)
FROM hs2proxy.refreshes r
CROSS JOIN LATERAL (SELECT DISTINCT p.fingerprint FROM hs2proxy.refresh_plans p WHERE p.refresh_id = r.id) g
WHERE r.id = @id
ORDER BY g.fingerprint`

const runtimeUpsert = `
INSERT INTO hs2proxy.refresh_runtimes (refresh_id, fingerprint, runs_before, seconds_before, deviation_before, runs_after, seconds_after, effect)
VALUES (@id, @fingerprint, @runs_before, @before, @deviation, @runs_after, @after, @effect)
ON CONFLICT (refresh_id, fingerprint) DO UPDATE SET
    runs_before = excluded.runs_before, seconds_before = excluded.seconds_before, deviation_before = excluded.deviation_before,
    runs_after = excluded.runs_after, seconds_after = excluded.seconds_after, effect = excluded.effect`

const proofJudged = `
UPDATE hs2proxy.refresh_proofs SET later_effect = @effect, judged_at = @at, complete = @complete WHERE refresh_id = @id`

// Judged is a refresh of which later runs show something new.
type Judged struct {
	ID          int64
	Table       string
	Was, Effect statscheck.Effect
}

type judging struct {
	Judged
	started, ended, until time.Time
}

// JudgeRuntimes compares, for every refresh of an upstream of the last days, the later runs of the affected queries with those before, and
// returns the refreshes whose LaterEffect changed. Several proxies may do it at once.
func (s *Store) JudgeRuntimes(ctx context.Context, upstream string) ([]Judged, error) {
	var open []judging
	err := s.do(ctx, "find refreshes to judge", func(ctx context.Context) (err error) {
		open, err = collect(ctx, s, judgeable, pgx.NamedArgs{"upstream": text(upstream), "age": laterAge}, func(row pgx.CollectableRow) (j judging, err error) {
			err = row.Scan(&j.ID, &j.Table, &j.started, &j.ended, &j.Was, &j.until)
			return j, err
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	var out []Judged
	for _, j := range open {
		if err := s.judge(ctx, &j); err != nil {
			return out, err
		}
		if j.Effect != j.Was {
			out = append(out, j.Judged)
		}
	}
	return out, nil
}

func (s *Store) judge(ctx context.Context, j *judging) error {
	return s.inTx(ctx, "judge a refresh", nil, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, runsOfQueries, pgx.NamedArgs{
			"id": j.ID, "until": j.until, "baseline_age": baselineAge, "baseline_runs": baselineRuns, "later_runs": laterRuns,
		})
		if err != nil {
			return err
		}
		var (
			fingerprint   string
			before, after []float64
			effects       []statscheck.Effect
		)
		batch := &pgx.Batch{}
		_, err = pgx.ForEachRow(rows, []any{&fingerprint, &before, &after}, func() error {
			earlier, later := durations(before), durations(after)
			effect := statscheck.RuntimeEffect(earlier, later)
			effects = append(effects, effect)
			batch.Queue(runtimeUpsert, runtimeArgs(j.ID, fingerprint, statscheck.RuntimeOf(earlier), statscheck.RuntimeOf(later), effect))
			return nil
		})
		if err != nil {
			return err
		}
		j.Effect = statscheck.LaterEffect(effects)
		batch.Queue(proofJudged, pgx.NamedArgs{"id": j.ID, "effect": orNil(string(j.Effect)), "at": s.now(), "complete": !s.now().Before(j.until)})
		return tx.SendBatch(ctx, batch).Close()
	})
}

func runtimeArgs(id int64, fingerprint string, before, after statscheck.Runtime, effect statscheck.Effect) pgx.NamedArgs {
	args := pgx.NamedArgs{
		"id": id, "fingerprint": fingerprint, "runs_before": before.Runs, "before": nil, "deviation": nil, "runs_after": after.Runs, "after": nil,
		"effect": orNil(string(effect)),
	}
	if before.Runs > 0 {
		args["before"], args["deviation"] = before.Mean.Seconds(), before.StdDev.Seconds()
	}
	if after.Runs > 0 {
		args["after"] = after.Mean.Seconds()
	}
	return args
}

func durations(seconds []float64) []time.Duration {
	out := make([]time.Duration, len(seconds))
	for i, s := range seconds {
		out[i] = duration(s)
	}
	return out
}
