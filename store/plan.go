package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/advisor"
)

const upstreamVersion = `
UPDATE hs2proxy.upstreams SET hive_version = @version WHERE id = @upstream AND hive_version IS DISTINCT FROM @version`

// planChainLock makes plans of one query under the same settings come one after the other, whichever proxy brings them.
const planChainLock = `
SELECT pg_advisory_xact_lock(hashtextextended(concat_ws('/', 'hs2proxy.plan', @upstream::bigint, @database::text, @fingerprint::text, @settings_hash::text), 0))`

// planBefore is the plan that was in force at a time, or the latest one.
const planBefore = `
SELECT id, plan_hash, hive_version, explained_at
FROM hs2proxy.plans
WHERE upstream_id = @upstream AND fingerprint = @fingerprint AND database_name = @database AND settings_hash = @settings_hash
  AND (first_explained_at <= @at OR @latest)
ORDER BY explained_at DESC, id DESC
LIMIT 1`

const planInsert = `
INSERT INTO hs2proxy.plans (upstream_id, fingerprint, database_name, settings_hash, plan_hash, hive_version, settings, plan_text, cause, first_explained_at, explained_at, explain_time, llap_nodes, llap_executors, replay)
VALUES (@upstream, @fingerprint, @database, @settings_hash, @plan_hash, @version, @settings, @text, @cause, @at, @at, @duration, @nodes, @executors, @replay)
RETURNING id`

const planSeenAgain = `
UPDATE hs2proxy.plans SET explained_at = @at, explains = explains + 1, explain_time = @duration, plan_text = coalesce(@text, plan_text), replay = @replay,
    llap_nodes = CASE WHEN @nodes > 0 THEN @nodes ELSE llap_nodes END, llap_executors = CASE WHEN @nodes > 0 THEN @executors ELSE llap_executors END
WHERE id = @plan`

type planRow struct {
	ID          int64
	PlanHash    string
	HiveVersion string
	ExplainedAt time.Time
}

// recordPlan finds or makes the row of an analysis and returns its key. a.ExplainedAt is set, and a.Fingerprint; what changed since the
// plan before is added to its findings.
func (r *recording) recordPlan(ctx context.Context, a *Analysis) (int64, error) {
	settings, err := asJSON(settingsOf(a.Settings))
	if err != nil {
		return 0, err
	}
	args := pgx.NamedArgs{
		"upstream": r.upstream, "fingerprint": a.Fingerprint, "database": a.Database, "settings": settings, "settings_hash": hash(settings),
		"plan_hash": shape(a.Joins), "version": a.HiveVersion, "at": a.ExplainedAt, "latest": a.Reused, "cause": cause(a.Cause),
		"duration": a.Duration, "text": []byte(nil), "nodes": max(a.Nodes, 0), "executors": max(a.NodeExecutors, 0),
	}
	if plan := r.planText(*a); plan != "" {
		if args["text"], err = compress(plan); err != nil {
			return 0, err
		}
	}
	before, err := r.planBefore(ctx, *a, args)
	if err != nil {
		return 0, err
	}
	same := before != nil && before.PlanHash == args["plan_hash"] && before.HiveVersion == a.HiveVersion
	if before != nil && (a.Reused || same && !a.ExplainedAt.After(before.ExplainedAt)) {
		return before.ID, nil
	}
	joins, err := r.joinRows(*a)
	if err != nil {
		return 0, err
	}
	args["replay"] = replayForm(a.ExplainedAt, a.Settings, joins)
	if same {
		args["plan"] = before.ID
		if _, err := r.tx.Exec(ctx, planSeenAgain, args); err != nil {
			return 0, err
		}
		return before.ID, r.saveJoins(ctx, before.ID, joins)
	}
	var id int64
	if err := r.tx.QueryRow(ctx, planInsert, args).Scan(&id); err != nil {
		return 0, err
	}
	if err := r.saveJoins(ctx, id, joins); err != nil {
		return 0, err
	}
	args["plan"] = id
	return id, r.comparePlans(ctx, a, joins, args)
}

func (r *recording) joinRows(a Analysis) (joins []joinRow, err error) {
	joins = make([]joinRow, len(a.Joins))
	for i, v := range a.Joins {
		if joins[i], err = newJoinRow(i, v, r.s.o.KeepLiterals, r.s.o.Redact); err != nil {
			return nil, fmt.Errorf("join %d: %w", i, err)
		}
	}
	return joins, nil
}

// planBefore takes the chain's lock and reads the plan this one follows; nil for the first.
func (r *recording) planBefore(ctx context.Context, a Analysis, args pgx.NamedArgs) (*planRow, error) {
	batch := &pgx.Batch{}
	if a.HiveVersion != "" {
		batch.Queue(upstreamVersion, args)
	}
	// The analysed query may be another than the statement's (what CREATE TABLE AS selects).
	batch.Queue(queryInsert, pgx.NamedArgs{
		"fingerprint": a.Fingerprint, "kind": kind(r.o.Statement.Info.Kind), "normalized": r.normalized(), "started": r.started(),
	})
	batch.Queue(planChainLock, args)
	var before *planRow
	batch.Queue(planBefore, args).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[planRow])
		if len(found) > 0 {
			before = &found[0]
		}
		return err
	})
	return before, r.tx.SendBatch(ctx, batch).Close()
}

func cause(c Cause) string {
	if c == "" {
		return string(CauseFirst)
	}
	return string(c)
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// shape is a hash of what makes two plans the same to a reader: tables, types, strategies and verdicts, without sizes.
func shape(joins []advisor.JoinVerdict) string {
	type input struct {
		Tables []string `json:"t"`
	}
	type join struct {
		Strategy, Simulated, Expected advisor.Strategy
		BigTable                      int
		Agrees                        bool
		Conditions                    []advisor.Condition
		Inputs                        []input
	}
	out := make([]join, len(joins))
	for i, v := range joins {
		out[i] = join{
			Strategy: v.Join.Strategy, Simulated: v.Verdict.Simulated, Expected: v.Verdict.Expected,
			BigTable: v.Join.BigTable, Agrees: v.Verdict.Agrees, Conditions: v.Join.Conditions,
		}
		for _, in := range v.Join.Inputs {
			out[i].Inputs = append(out[i].Inputs, input{Tables: in.Tables})
		}
	}
	b, err := json.Marshal(out)
	if err != nil { // strings and numbers only: cannot happen
		return ""
	}
	return hash(b)
}

func compress(s string) ([]byte, error) {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write([]byte(s)); err != nil {
		return nil, fmt.Errorf("compress the plan: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress the plan: %w", err)
	}
	return buf.Bytes(), nil
}
