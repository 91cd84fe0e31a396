package store

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/statscheck"
)

// maxPlanPartitions is how many of the partitions a plan reads are kept by name.
const maxPlanPartitions = 64

// usageOf joins what the analysis says of its tables with what its joins show.
func usageOf(a Analysis) map[string]statscheck.Usage {
	out := map[string]statscheck.Usage{}
	for _, t := range a.Tables {
		if t = text(t); t != "" {
			out[t] = statscheck.Usage{}
		}
	}
	for t, given := range a.Usage {
		if t = text(t); t != "" {
			out[t] = merge(out[t], given)
		}
	}
	for _, v := range a.Joins {
		for _, in := range v.Join.Inputs {
			for _, k := range in.Keys {
				if k.Table != "" && k.Column != "" {
					t := text(k.Table)
					out[t] = merge(out[t], statscheck.Usage{JoinColumns: []string{k.Column}})
				}
			}
			for _, t := range in.Tables {
				if t = text(t); t == "" {
					continue
				}
				u := statscheck.Usage{}
				if len(in.Tables) == 1 {
					u.PlanBasic, u.PlanColumn = in.BasicStats, in.ColumnStats
				}
				out[t] = merge(out[t], u)
			}
		}
	}
	return out
}

func merge(a, b statscheck.Usage) statscheck.Usage {
	rows := b.PlanRows
	if rows == nil || *rows < 0 {
		rows = a.PlanRows
	}
	return statscheck.Usage{
		PlanRows:    rows,
		JoinColumns: union(a.JoinColumns, b.JoinColumns), OtherColumns: union(a.OtherColumns, b.OtherColumns),
		PlanBasic: worse(a.PlanBasic, b.PlanBasic), PlanColumn: worse(a.PlanColumn, b.PlanColumn),
	}
}

func union(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// worse orders Hive's states of statistics (org.apache.hadoop.hive.ql.plan.Statistics.State); what is none of them says nothing.
func worse(a, b string) string {
	for _, state := range []string{"NONE", "PARTIAL", "COMPLETE"} {
		if a == state || b == state {
			return state
		}
	}
	return ""
}

const knownTables = `
SELECT t.name FROM hs2proxy.tables t JOIN hs2proxy.upstreams u ON u.id = t.upstream_id
WHERE u.name = @upstream
ORDER BY greatest(t.used_at, t.writes_last_at) DESC NULLS LAST, t.name`

// KnownTables are the tables of an upstream seen in a plan or a write, the most recently used first.
func (s *Store) KnownTables(ctx context.Context, upstream string) (names []string, err error) {
	err = s.do(ctx, "read the known tables", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, knownTables, pgx.NamedArgs{"upstream": text(upstream)})
		if err != nil {
			return err
		}
		names, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return names, err
}

const usageSelect = `
SELECT t.join_columns, t.other_columns, t.plan_basic, t.plan_column, t.plan_rows, coalesce(tu.uses, 0)
FROM hs2proxy.tables t JOIN hs2proxy.upstreams u ON u.id = t.upstream_id
LEFT JOIN hs2proxy.table_uses tu ON tu.table_id = t.id
WHERE u.name = @upstream AND t.name = @table`

// UsageOf is how queries use a table; zero for a table never seen.
func (s *Store) UsageOf(ctx context.Context, upstream, table string) (statscheck.Usage, error) {
	var u statscheck.Usage
	err := s.do(ctx, "read a table's usage", func(ctx context.Context) error {
		err := s.pool.QueryRow(ctx, usageSelect, pgx.NamedArgs{"upstream": text(upstream), "table": text(table)}).
			Scan(&u.JoinColumns, &u.OtherColumns, &u.PlanBasic, &u.PlanColumn, &u.PlanRows, &u.Joins)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return u, err
}

// AffectedQuery is a query that reads a table, with its last plan under some settings.
type AffectedQuery struct {
	Fingerprint string
	Database    string
	// SampleSQL is the last text as sent; empty unless Options.KeepLiterals.
	SampleSQL   string
	Settings    map[string]string
	HiveVersion string
	PlanID      int64
	ExplainedAt time.Time
	Runs        int64
	Joins       []advisor.JoinVerdict
}

// maxAffected bounds AffectedFingerprints.
const maxAffected = 500

const affectedSelect = `
SELECT l.fingerprint, l.database_name, coalesce(q.sample_sql, ''), l.settings, l.hive_version, l.id, l.explained_at, q.runs
FROM (SELECT DISTINCT p.upstream_id, p.fingerprint, p.database_name, p.settings_hash
      FROM hs2proxy.tables t
      JOIN hs2proxy.upstreams u ON u.id = t.upstream_id
      JOIN hs2proxy.plan_tables pt ON pt.table_id = t.id
      JOIN hs2proxy.plans p ON p.id = pt.plan_id
      WHERE u.name = @upstream AND t.name = @table) c
JOIN LATERAL (SELECT p.id, p.fingerprint, p.database_name, p.settings, p.hive_version, p.explained_at
      FROM hs2proxy.plans p
      WHERE p.upstream_id = c.upstream_id AND p.fingerprint = c.fingerprint AND p.database_name = c.database_name AND p.settings_hash = c.settings_hash
      ORDER BY p.explained_at DESC, p.id DESC LIMIT 1) l ON true
JOIN hs2proxy.queries q ON q.fingerprint = l.fingerprint
ORDER BY l.explained_at DESC, l.id DESC
LIMIT @most`

const joinsOfPlans = `
SELECT plan_id, inputs, attempts, detail FROM hs2proxy.joins WHERE plan_id = ANY (@plans) ORDER BY plan_id, ordinal`

// AffectedFingerprints are the queries that read a table: one entry per query, database and settings with its last plan,
// the most recent first, at most 500.
func (s *Store) AffectedFingerprints(ctx context.Context, upstream, table string) (out []AffectedQuery, err error) {
	err = s.do(ctx, "read the affected queries", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, affectedSelect, pgx.NamedArgs{"upstream": text(upstream), "table": text(table), "most": maxAffected})
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, scanAffected)
		if err != nil || len(out) == 0 {
			return err
		}
		return s.addJoins(ctx, out)
	})
	return out, err
}

// scanAffected reads a query with its last plan, but for the plan's joins.
func scanAffected(row pgx.CollectableRow) (AffectedQuery, error) {
	var q AffectedQuery
	err := row.Scan(&q.Fingerprint, &q.Database, &q.SampleSQL, &q.Settings, &q.HiveVersion, &q.PlanID, &q.ExplainedAt, &q.Runs)
	return q, err
}

func (s *Store) addJoins(ctx context.Context, queries []AffectedQuery) error {
	place := make(map[int64]int, len(queries))
	ids := make([]int64, len(queries))
	for i, q := range queries {
		place[q.PlanID], ids[i] = i, q.PlanID
	}
	rows, err := s.pool.Query(ctx, joinsOfPlans, pgx.NamedArgs{"plans": ids})
	if err != nil {
		return err
	}
	var (
		plan                     int64
		inputs, attempts, detail json.RawMessage
	)
	_, err = pgx.ForEachRow(rows, []any{&plan, &inputs, &attempts, &detail}, func() error {
		v, err := readJoin(inputs, attempts, detail)
		if err != nil {
			return err
		}
		q := &queries[place[plan]]
		q.Joins = append(q.Joins, v)
		return nil
	})
	return err
}
