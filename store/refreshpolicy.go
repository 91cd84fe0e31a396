package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/statscheck"
)

const policyRecord = `
SELECT hs2proxy.record_refresh_policy(@table::text, @remove::boolean, @never::boolean, @schedules::text[], @columns::text[], @partitions::text[],
    @cooldown::interval, NULL, @reason::text, @by::text, @at::timestamptz)`

// SetRefreshPolicy lays down how the tables of a name or pattern are refreshed, in place of the policy before; Reason and By are kept on
// record, FailuresSince stays as it was. ErrData when the pattern makes no sense or there is no reason.
func (s *Store) SetRefreshPolicy(ctx context.Context, p statscheck.TablePolicy) error {
	return s.recordPolicy(ctx, "set a refresh policy", p, false)
}

// DropRefreshPolicy takes back the policy of a name or pattern; ErrNotFound when there is none.
func (s *Store) DropRefreshPolicy(ctx context.Context, pattern, by, reason string) error {
	return s.recordPolicy(ctx, "drop a refresh policy", statscheck.TablePolicy{Pattern: pattern, By: by, Reason: reason}, true)
}

func (s *Store) recordPolicy(ctx context.Context, what string, p statscheck.TablePolicy, remove bool) error {
	var cooldown *time.Duration
	if p.Cooldown > 0 {
		cooldown = &p.Cooldown
	}
	return s.do(ctx, what, func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, policyRecord, pgx.NamedArgs{
			"table": text(p.Pattern), "remove": remove, "never": p.Never, "schedules": texts(p.Schedules), "columns": texts(p.Columns),
			"partitions": texts(p.Partitions), "cooldown": cooldown, "reason": text(s.o.Redact.Text(p.Reason)), "by": text(p.By), "at": s.now(),
		})
		return notFound(err)
	})
}

const policyRestart = `SELECT hs2proxy.restart_refresh(@table::text, @reason::text, @by::text, @at::timestamptz)`

// EnableRefresh switches a table's scheduled refreshes on again: failures until now count no more, and a policy of never ends.
func (s *Store) EnableRefresh(ctx context.Context, table, by, reason string) error {
	return s.do(ctx, "enable a table's refreshes", func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, policyRestart, pgx.NamedArgs{"table": text(table), "reason": text(s.o.Redact.Text(reason)), "by": text(by), "at": s.now()})
		return notFound(err)
	})
}

const policiesSelect = `
SELECT table_pattern, never, schedules, columns, partitions, extract(epoch FROM cooldown)::double precision, failures_since, reason, person
FROM hs2proxy.active_refresh_policies`

// RefreshPolicies are those that hold, in the order in which statscheck.PolicyOf wants them: names before patterns, the last one set first.
func (s *Store) RefreshPolicies(ctx context.Context) (out []statscheck.TablePolicy, err error) {
	err = s.do(ctx, "read the refresh policies", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, policiesSelect)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p statscheck.TablePolicy, err error) {
			var (
				cooldown *float64
				since    *time.Time
			)
			err = row.Scan(&p.Pattern, &p.Never, &p.Schedules, &p.Columns, &p.Partitions, &cooldown, &since, &p.Reason, &p.By)
			p.Cooldown, p.FailuresSince = seconds(cooldown), orZero(since)
			p.Schedules, p.Columns, p.Partitions = nilIfEmpty(p.Schedules), nilIfEmpty(p.Columns), nilIfEmpty(p.Partitions)
			return p, err
		})
		return err
	})
	return out, err
}

const factorsSelect = `
SELECT f.table_name, f.severity, f.joins_7d, f.uncertainty, f.flips, f.seconds
FROM hs2proxy.refresh_factors f JOIN hs2proxy.upstreams u ON u.id = f.upstream_id
WHERE u.name = @upstream AND (@tables::text[] IS NULL OR f.table_name = ANY (@tables))`

// RefreshFactors are what refreshes of an upstream's tables are worth now, by table; nil tables mean all.
func (s *Store) RefreshFactors(ctx context.Context, upstream string, tables []string) (map[string]statscheck.Factors, error) {
	out := map[string]statscheck.Factors{}
	err := s.do(ctx, "read what refreshes are worth", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, factorsSelect, pgx.NamedArgs{"upstream": text(upstream), "tables": tables})
		if err != nil {
			return err
		}
		var (
			table string
			f     statscheck.Factors
		)
		_, err = pgx.ForEachRow(rows, []any{&table, &f.Severity, &f.Joins, &f.Uncertainty, &f.Flips, &f.Seconds}, func() error {
			out[table] = f
			return nil
		})
		return err
	})
	return out, err
}
