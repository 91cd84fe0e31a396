package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// plansSelect lists plans with the runs of the last seven days; which one is the latest of its query is found out here, since Postgres would
// sort all of them by name. Statements are asked only where a filter needs them. Whether a plan reads the table is told of every one: the
// latest may be another than the one that does.
const plansSelect = `
SELECT p.id, p.explained_at, u.name, p.database_name, p.fingerprint, p.settings_hash, coalesce(n.uses, 0),
    @table::text IS NULL OR EXISTS (
      SELECT 1 FROM hs2proxy.plan_tables r JOIN hs2proxy.tables t ON t.id = r.table_id WHERE r.plan_id = p.id AND t.name = @table)
FROM hs2proxy.plans p
JOIN hs2proxy.upstreams u ON u.id = p.upstream_id
LEFT JOIN (SELECT d.plan_id, sum(d.uses)::bigint AS uses FROM hs2proxy.plan_uses d WHERE d.day > (now() AT TIME ZONE 'UTC')::date - 7 GROUP BY d.plan_id) n
    ON n.plan_id = p.id
WHERE (@upstream::text IS NULL OR u.name = @upstream)
  AND (@user::text IS NULL AND @since::timestamptz IS NULL OR EXISTS (
      SELECT 1 FROM hs2proxy.statements t JOIN hs2proxy.sessions s ON s.id = t.session_id
      WHERE t.fingerprint = p.fingerprint AND s.upstream_id = p.upstream_id AND t.database_name = p.database_name
        AND (@since::timestamptz IS NULL OR t.started_at >= @since) AND (@user::text IS NULL OR s.user_name = @user)))`

const settingsOfPlans = `SELECT settings_hash, settings FROM hs2proxy.plans WHERE id = ANY (@plans)`

// recordedPlan is what the joins of a plan have in common.
type recordedPlan struct {
	id                              int64
	explainedAt                     time.Time
	upstream, database, fingerprint string
	settings                        map[string]string
	settingsHash                    string
	runs                            int64
	// reads: it reads the table that is asked for.
	reads bool
}

// join is a join of the plan, of which nothing else is known yet.
func (p *recordedPlan) join() RecordedJoin {
	return RecordedJoin{
		Upstream: p.upstream, Database: p.database, Fingerprint: p.fingerprint, Plan: p.id, ExplainedAt: p.explainedAt,
		Settings: p.settings, SettingsHash: p.settingsHash, Runs: p.runs,
	}
}

// before tells whether the plan was seen before another one of its query.
func (p *recordedPlan) before(o *recordedPlan) bool {
	return cmp.Or(p.explainedAt.Compare(o.explainedAt), cmp.Compare(p.id, o.id)) < 0
}

// recordedPlans are in order of their keys.
type recordedPlans []recordedPlan

func (p recordedPlans) ids() []int64 {
	out := make([]int64, len(p))
	for i := range p {
		out[i] = p[i].id
	}
	return out
}

func (p recordedPlans) sort() {
	slices.SortFunc(p, func(a, b recordedPlan) int { return cmp.Compare(a.id, b.id) })
}

// plan is the one with that key, which is among them.
func (p recordedPlans) plan(id int64) *recordedPlan {
	i, _ := slices.BinarySearchFunc(p, id, func(a recordedPlan, id int64) int { return cmp.Compare(a.id, id) })
	return &p[i]
}

// readRecordedPlans reads the latest plan of each query that the filter takes.
func readRecordedPlans(ctx context.Context, s *Store, f JoinFilter) (recordedPlans, error) {
	rows, err := s.pool.Query(ctx, plansSelect, pgx.NamedArgs{
		"upstream": orNil(text(f.Upstream)), "table": orNil(text(strings.ToLower(f.Table))), "user": orNil(text(f.User)), "since": stampOrNil(f.Since),
	})
	if err != nil {
		return nil, err
	}
	latest, err := latestPlans(rows)
	if err != nil {
		return nil, err
	}
	latest = slices.DeleteFunc(latest, func(p recordedPlan) bool { return !p.reads })
	latest.sort()
	one := map[string]int64{} // a plan with each of the settings
	for i := range latest {
		one[latest[i].settingsHash] = latest[i].id
	}
	settings, err := readSettings(ctx, s, one)
	for i := range latest {
		latest[i].settings = settings[latest[i].settingsHash]
	}
	return latest, err
}

// latestPlans keeps of each query the plan that was seen last, with the runs of all of them.
func latestPlans(rows pgx.Rows) (recordedPlans, error) {
	type query struct{ upstream, database, fingerprint string }
	var (
		out                          recordedPlans
		place                        = map[query]int{}
		names                        = map[string]string{}
		p                            recordedPlan
		upstream, database, settings pgtype.DriverBytes // good until the next row
	)
	// name is one string for all rows that have it.
	name := func(b []byte) string {
		s, ok := names[string(b)]
		if !ok {
			s = string(b)
			names[s] = s
		}
		return s
	}
	_, err := pgx.ForEachRow(rows, []any{&p.id, &p.explainedAt, &upstream, &database, &p.fingerprint, &settings, &p.runs, &p.reads}, func() error {
		p.upstream, p.database, p.settingsHash = name(upstream), name(database), name(settings)
		q := query{p.upstream, p.database, p.fingerprint}
		i, known := place[q]
		if !known {
			place[q], out = len(out), append(out, p)
			return nil
		}
		runs := out[i].runs + p.runs
		if out[i].before(&p) {
			out[i] = p
		}
		out[i].runs = runs
		return nil
	})
	return out, err
}

// readSettings reads each set of settings once: plans share few.
func readSettings(ctx context.Context, s *Store, one map[string]int64) (map[string]map[string]string, error) {
	rows, err := s.pool.Query(ctx, settingsOfPlans, pgx.NamedArgs{"plans": slices.Collect(maps.Values(one))})
	if err != nil {
		return nil, err
	}
	all := make(map[string]map[string]string, len(one))
	var (
		hash   string
		values map[string]string
	)
	_, err = pgx.ForEachRow(rows, []any{&hash, &values}, func() error {
		all[hash], values = values, nil
		return nil
	})
	return all, err
}
