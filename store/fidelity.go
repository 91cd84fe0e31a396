package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// witnessArgs are the planner's numbers beside the simulated ones, one element an input.
func witnessArgs(v advisor.JoinVerdict) pgx.NamedArgs {
	f := v.Fidelity
	if f == nil {
		return pgx.NamedArgs{
			"witnessed": nil, "witnessed_budget": nil, "witnessed_sizes": nil, "simulated_sizes": nil,
			"witnessed_entries": nil, "simulated_entries": nil, "witnessed_nodes": nil, "simulated_nodes": nil,
		}
	}
	args := pgx.NamedArgs{"witnessed": strategy(f.Strategy), "witnessed_budget": f.Budget.Witnessed, "witnessed_nodes": nil, "simulated_nodes": nil}
	args["witnessed_sizes"], args["simulated_sizes"] = byInput(f.Sizes, len(v.Join.Inputs))
	args["witnessed_entries"], args["simulated_entries"] = byInput(f.Entries, len(v.Join.Inputs))
	if n := f.Nodes; n != nil && n.Simulated != nil {
		args["witnessed_nodes"], args["simulated_nodes"] = n.Witnessed, *n.Simulated
	}
	return args
}

func byInput(list []advisor.ComparedInput, inputs int) (witnessed, simulated []*int64) {
	witnessed, simulated = make([]*int64, inputs), make([]*int64, inputs)
	for _, c := range list {
		if c.Position >= 0 && c.Position < inputs {
			witnessed[c.Position], simulated[c.Position] = &c.Witnessed, c.Simulated
		}
	}
	return witnessed, simulated
}

// fidelityCount adds the joins of a plan, which have just been written, to the day of its EXPLAIN.
const fidelityCount = `
INSERT INTO hs2proxy.fidelity_days AS d (upstream_id, hive_version, day, strategies, strategies_agree, budgets, budgets_agree, sizes, sizes_agree)
SELECT p.upstream_id, p.hive_version, (p.explained_at AT TIME ZONE 'UTC')::date, count(*), count(*) FILTER (WHERE f.strategy_equal),
       count(f.budget_equal), count(*) FILTER (WHERE f.budget_equal), sum(f.sizes), sum(f.sizes_near)
FROM hs2proxy.plans p
JOIN hs2proxy.join_fidelity f ON f.plan_id = p.id
WHERE p.id = @plan
GROUP BY p.id
ON CONFLICT (upstream_id, hive_version, day) DO UPDATE SET
    strategies = d.strategies + excluded.strategies, strategies_agree = d.strategies_agree + excluded.strategies_agree,
    budgets = d.budgets + excluded.budgets, budgets_agree = d.budgets_agree + excluded.budgets_agree,
    sizes = d.sizes + excluded.sizes, sizes_agree = d.sizes_agree + excluded.sizes_agree`

// FidelityChange is what a look at a server's agreement brought: at most one of the two.
type FidelityChange struct {
	// Fell is the finding that begins to hold now; nil when none does, or when it held before.
	Fell *advisor.Finding
	// Recovered: the finding that held before holds no longer.
	Recovered bool
}

const fidelityLock = `SELECT pg_advisory_xact_lock(hashtextextended('hs2proxy.fidelity ' || @upstream::bigint, 0))`

const fidelityRecent = `
SELECT d.hive_version, sum(d.strategies_agree)::bigint, sum(d.strategies)::bigint, sum(d.budgets_agree)::bigint, sum(d.budgets)::bigint,
       sum(d.sizes_agree)::bigint, sum(d.sizes)::bigint
FROM hs2proxy.fidelity_days d
WHERE d.upstream_id = @upstream AND d.day > (@now::timestamptz AT TIME ZONE 'UTC')::date - @days::int
GROUP BY d.hive_version
ORDER BY max(d.day) DESC, d.hive_version`

const fidelityEarlier = `
SELECT '', coalesce(sum(d.strategies_agree), 0)::bigint, coalesce(sum(d.strategies), 0)::bigint, coalesce(sum(d.budgets_agree), 0)::bigint,
       coalesce(sum(d.budgets), 0)::bigint, coalesce(sum(d.sizes_agree), 0)::bigint, coalesce(sum(d.sizes), 0)::bigint
FROM hs2proxy.fidelity_days d
WHERE d.upstream_id = @upstream AND d.day <= (@now::timestamptz AT TIME ZONE 'UTC')::date - @days::int`

const fidelityOpen = `
SELECT f.evidence FROM hs2proxy.findings f
WHERE f.upstream_id = @upstream AND f.fingerprint IS NULL AND f.kind = @kind AND f.subject = @subject AND f.cleared_at IS NULL`

const serverFindingUpsert = `
INSERT INTO hs2proxy.findings AS f (upstream_id, kind, subject, severity, summary, evidence, advice, advisor, doc, first_seen, last_seen, times)
VALUES (@upstream, @kind, @subject, @severity, @summary, @evidence, @advice, @advisor, @doc, @now, @now, 1)
ON CONFLICT (upstream_id, kind, subject) WHERE fingerprint IS NULL DO UPDATE SET
    severity = excluded.severity, summary = excluded.summary, evidence = excluded.evidence, advice = excluded.advice,
    advisor = excluded.advisor, doc = excluded.doc, last_seen = greatest(f.last_seen, excluded.last_seen), times = f.times + (f.cleared_at IS NOT NULL)::int, cleared_at = NULL`

const serverFindingClear = `
UPDATE hs2proxy.findings f SET cleared_at = greatest(@now, f.last_seen)
WHERE f.upstream_id = @upstream AND f.fingerprint IS NULL AND f.kind = @kind AND f.subject = @subject AND f.cleared_at IS NULL`

// WatchFidelity looks at how far the simulation agreed with the planner of an upstream over the last days, and keeps one finding
// about it: raised when the agreement falls, brought up to date while it stays low, cleared when it has recovered. Several
// proxies may look at once; one of them is told.
func (s *Store) WatchFidelity(ctx context.Context, upstream string, p advisor.FidelityPolicy) (change FidelityChange, err error) {
	err = s.inTx(ctx, "watch the agreement with the planner", []string{upstream}, func(ctx context.Context, tx pgx.Tx) error {
		change = FidelityChange{}
		id, err := s.upstreamID(ctx, upstream)
		if err != nil {
			return err
		}
		w := fidelityWatch{tx: tx, args: pgx.NamedArgs{
			"upstream": id, "now": s.now(), "days": p.Days, "kind": string(advisor.FidelityFell), "subject": text(upstream),
		}}
		recent, earlier, open, err := w.read(ctx)
		if err != nil {
			return err
		}
		found, settled := advisor.WatchFidelity(upstream, recent, earlier, open, p)
		switch {
		case found != nil:
			if open == nil {
				change.Fell = found
			}
			return w.save(ctx, found)
		case open != nil && settled:
			change.Recovered = true
			_, err := tx.Exec(ctx, serverFindingClear, w.args)
			return err
		}
		return nil
	})
	return change, err
}

// fidelityWatch is one run of WatchFidelity's transaction.
type fidelityWatch struct {
	tx   pgx.Tx
	args pgx.NamedArgs
}

func (w fidelityWatch) read(ctx context.Context) (recent []advisor.Agreement, earlier advisor.Agreement, open *advisor.OpenFidelity, err error) {
	if _, err := w.tx.Exec(ctx, fidelityLock, w.args); err != nil {
		return nil, earlier, nil, err
	}
	rows, err := w.tx.Query(ctx, fidelityRecent, w.args)
	if err != nil {
		return nil, earlier, nil, err
	}
	if recent, err = pgx.CollectRows(rows, agreement); err != nil {
		return nil, earlier, nil, err
	}
	if rows, err = w.tx.Query(ctx, fidelityEarlier, w.args); err != nil {
		return nil, earlier, nil, err
	}
	if earlier, err = pgx.CollectOneRow(rows, agreement); err != nil {
		return nil, earlier, nil, err
	}
	var evidence json.RawMessage
	err = w.tx.QueryRow(ctx, fidelityOpen, w.args).Scan(&evidence)
	if errors.Is(err, pgx.ErrNoRows) {
		return recent, earlier, nil, nil
	}
	if err != nil {
		return nil, earlier, nil, err
	}
	if err := json.Unmarshal(evidence, &open); err != nil {
		return nil, earlier, nil, fmt.Errorf("%w: read the evidence of a finding: %w", ErrData, err)
	}
	return recent, earlier, open, nil
}

func agreement(row pgx.CollectableRow) (a advisor.Agreement, err error) {
	err = row.Scan(&a.HiveVersion, &a.Strategies.Agree, &a.Strategies.Of, &a.Budgets.Agree, &a.Budgets.Of, &a.Sizes.Agree, &a.Sizes.Of)
	return a, err
}

func (w fidelityWatch) save(ctx context.Context, f *advisor.Finding) error {
	evidence, err := asJSON(f.Evidence)
	if err != nil {
		return err
	}
	info, _ := advisor.KindOf(f.Kind)
	args := pgx.NamedArgs{
		"severity": string(f.Severity), "summary": text(f.Summary), "evidence": evidence, "advice": text(f.Advice),
		"advisor": string(info.Advisor), "doc": info.Doc,
	}
	maps.Copy(args, w.args)
	_, err = w.tx.Exec(ctx, serverFindingUpsert, args)
	return err
}
