package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// planFollowed is the plan that a new one is compared with, as report_plan_changes does: under the same settings if there is one.
const planFollowed = `
SELECT id, settings, hive_version, llap_nodes, llap_executors
FROM hs2proxy.plans
WHERE upstream_id = @upstream AND fingerprint = @fingerprint AND database_name = @database AND id <> @plan AND first_explained_at <= @at
ORDER BY settings_hash = @settings_hash DESC, first_explained_at DESC, id DESC
LIMIT 1`

const planJoins = `SELECT inputs, attempts, detail FROM hs2proxy.joins WHERE plan_id = @plan ORDER BY ordinal`

// comparePlans adds to the findings of a new plan what changed since the one before.
func (r *recording) comparePlans(ctx context.Context, a *Analysis, joins []joinRow, args pgx.NamedArgs) error {
	before, err := r.planFollowed(ctx, args)
	if before == nil || err != nil {
		return err
	}
	after := a.State()
	after.Settings, after.Verdicts = settingsOf(a.Settings), make([]advisor.JoinVerdict, len(joins))
	for i := range joins {
		after.Verdicts[i] = joins[i].verdict
	}
	a.Findings = slices.Concat(a.Findings, advisor.PlanChange(*before, after))
	return nil
}

// planFollowed reads that plan and its joins; nil when there is none.
func (r *recording) planFollowed(ctx context.Context, args pgx.NamedArgs) (*advisor.PlanState, error) {
	rows, err := r.tx.Query(ctx, planFollowed, args)
	if err != nil {
		return nil, fmt.Errorf("read the plan before: %w", err)
	}
	type planRow struct {
		ID               int64
		Settings         json.RawMessage
		HiveVersion      string
		Nodes, Executors int64
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[planRow])
	if err != nil || len(found) == 0 {
		return nil, err
	}
	p := found[0]
	state := advisor.PlanState{Version: p.HiveVersion, Nodes: p.Nodes, Executors: p.Executors}
	if err := json.Unmarshal(p.Settings, &state.Settings); err != nil {
		return nil, fmt.Errorf("read the settings of the plan before: %w", err)
	}
	rows, err = r.tx.Query(ctx, planJoins, pgx.NamedArgs{"plan": p.ID})
	if err != nil {
		return nil, fmt.Errorf("read the joins of the plan before: %w", err)
	}
	state.Verdicts, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (advisor.JoinVerdict, error) {
		var inputs, attempts, detail json.RawMessage
		if err := row.Scan(&inputs, &attempts, &detail); err != nil {
			return advisor.JoinVerdict{}, err
		}
		return readJoin(inputs, attempts, detail)
	})
	return &state, err
}
