package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/statscheck"
)

const proofClaimed = `
SELECT EXISTS (SELECT 1 FROM hs2proxy.refreshes WHERE id = @id AND state = 'RUNNING' AND claimed_by = @instance)`

// proofForetold keeps what restores the statistics from before the first attempt: an ANALYZE that was cut short may have set some.
const proofForetold = `
INSERT INTO hs2proxy.refresh_proofs AS p (refresh_id, predicted_at, restore, restore_notes)
VALUES (@id, @at, @restore, @notes)
ON CONFLICT (refresh_id) DO UPDATE SET predicted_at = excluded.predicted_at,
    restore = CASE WHEN p.restore = '{}' THEN excluded.restore ELSE p.restore END,
    restore_notes = CASE WHEN p.restore = '{}' THEN excluded.restore_notes ELSE p.restore_notes END`

const predictionsForget = `DELETE FROM hs2proxy.refresh_predictions WHERE refresh_id = @id`

const predictionInsert = `
INSERT INTO hs2proxy.refresh_predictions (refresh_id, position, fingerprint, ordinal, strategy_before, expected, basis)
VALUES (@id, @position, @fingerprint, @ordinal, @before, @expected, @basis)`

// SavePrediction puts on record what is foretold of a refresh that this instance runs, before its ANALYZE begins: r.Proof's predictions
// and what restores the old statistics. ErrLeaseLost when the refresh is no longer this instance's.
func (s *Store) SavePrediction(ctx context.Context, r statscheck.Refresh) error {
	if r.Proof == nil {
		return nil
	}
	return s.inTx(ctx, "record a prediction", nil, func(ctx context.Context, tx pgx.Tx) error {
		args := pgx.NamedArgs{
			"id": r.ID, "instance": s.o.Instance, "at": stampOrNil(r.Proof.PredictedAt),
			"restore": texts(s.o.Redact.all(r.Proof.Restore.Statements)), "notes": texts(s.o.Redact.all(r.Proof.Restore.Notes)),
		}
		var ours bool
		if err := tx.QueryRow(ctx, proofClaimed, args).Scan(&ours); err != nil {
			return err
		}
		if !ours {
			return fmt.Errorf("refresh %d: %w", r.ID, ErrLeaseLost)
		}
		batch := &pgx.Batch{}
		batch.Queue(proofForetold, args)
		batch.Queue(predictionsForget, args) // an earlier attempt's
		for i, p := range r.Proof.Predictions {
			batch.Queue(predictionInsert, pgx.NamedArgs{
				"id": r.ID, "position": i, "fingerprint": text(p.Fingerprint), "ordinal": p.Ordinal, "before": strategy(p.Before),
				"expected": orNil(string(p.Expected)), "basis": text(s.o.Redact.Text(p.Basis)),
			})
		}
		return tx.SendBatch(ctx, batch).Close()
	})
}

const proofGraded = `
INSERT INTO hs2proxy.refresh_proofs AS p (refresh_id, prediction, restore, restore_notes)
VALUES (@id, @prediction, @restore, @notes)
ON CONFLICT (refresh_id) DO UPDATE SET prediction = excluded.prediction`

// predictionGrade names the join too, so that no other prediction than the one that was made is graded.
const predictionGrade = `
UPDATE hs2proxy.refresh_predictions SET strategy_after = @after, grade = @grade
WHERE refresh_id = @id AND position = @position AND fingerprint = @fingerprint AND ordinal = @ordinal`

const statisticInsert = `
INSERT INTO hs2proxy.refresh_statistics (refresh_id, position, level, partition_name, column_name, name, before, after)
VALUES (@id, @position, @level, @partition, @column, @name, @before, @after)`

// finishProof records the proof with the end of its refresh.
func (s *Store) finishProof(ctx context.Context, tx pgx.Tx, r statscheck.Refresh) error {
	if r.Proof == nil {
		return nil
	}
	grade := r.Proof.Prediction
	if grade == "" {
		grade = statscheck.GradeUnknown
	}
	batch := &pgx.Batch{}
	batch.Queue(proofGraded, pgx.NamedArgs{
		"id": r.ID, "prediction": string(grade),
		"restore": texts(s.o.Redact.all(r.Proof.Restore.Statements)), "notes": texts(s.o.Redact.all(r.Proof.Restore.Notes)),
	})
	for i, p := range r.Proof.Predictions {
		batch.Queue(predictionGrade, pgx.NamedArgs{
			"id": r.ID, "position": i, "fingerprint": text(p.Fingerprint), "ordinal": p.Ordinal, "after": orNil(string(p.After)), "grade": string(p.Grade),
		})
	}
	for i, c := range r.Proof.Statistics {
		batch.Queue(statisticInsert, pgx.NamedArgs{
			"id": r.ID, "position": i, "level": string(c.Level), "partition": text(s.o.Redact.Text(c.Partition)), "column": text(c.Column), "name": c.Name,
			"before": orNil(text(s.o.Redact.Text(c.Before))), "after": orNil(text(s.o.Redact.Text(c.After))),
		})
	}
	return tx.SendBatch(ctx, batch).Close()
}

// RefreshProof is the proof of one refresh as it is on record.
type RefreshProof struct {
	statscheck.Proof
	// FalseAlarm: a schedule refreshed the table, and nothing had changed.
	FalseAlarm bool
	// LaterEffect is what later runs show: NO_CHANGE, IMPROVED, REGRESSED; empty: nothing yet. JudgedAt is when they were last looked at.
	LaterEffect statscheck.Effect
	JudgedAt    time.Time
	// Runtimes are the affected queries' by fingerprint.
	Runtimes []QueryRuntime
}

const proofSelect = `
SELECT predicted_at, prediction, restore, restore_notes, false_alarm, coalesce(later_effect, ''), judged_at
FROM hs2proxy.refresh_proofs WHERE refresh_id = @id`

const proofPredictions = `
SELECT fingerprint, ordinal, strategy_before, coalesce(expected, ''), basis, coalesce(strategy_after, ''), grade
FROM hs2proxy.refresh_predictions WHERE refresh_id = @id ORDER BY position`

const proofStatistics = `
SELECT level, partition_name, column_name, name, coalesce(before, ''), coalesce(after, '')
FROM hs2proxy.refresh_statistics WHERE refresh_id = @id ORDER BY position`

// Proof is the proof of a refresh; ErrNotFound when it has none: it has not begun, was refused, or is older than proofs.
func (s *Store) Proof(ctx context.Context, id int64) (*RefreshProof, error) {
	var out RefreshProof
	err := s.do(ctx, "read the proof of a refresh", func(ctx context.Context) error {
		args := pgx.NamedArgs{"id": id}
		rows, err := s.pool.Query(ctx, proofSelect, args)
		if err != nil {
			return err
		}
		proofs, err := pgx.CollectRows(rows, readProof)
		if err != nil {
			return err
		}
		if len(proofs) == 0 {
			return fmt.Errorf("proof of refresh %d: %w", id, ErrNotFound)
		}
		out = proofs[0]
		if out.Predictions, err = collect(ctx, s, proofPredictions, args, func(row pgx.CollectableRow) (p statscheck.Prediction, err error) {
			err = row.Scan(&p.Fingerprint, &p.Ordinal, &p.Before, &p.Expected, &p.Basis, &p.After, &p.Grade)
			return p, err
		}); err != nil {
			return err
		}
		if out.Statistics, err = collect(ctx, s, proofStatistics, args, func(row pgx.CollectableRow) (c statscheck.StatisticChange, err error) {
			err = row.Scan(&c.Level, &c.Partition, &c.Column, &c.Name, &c.Before, &c.After)
			return c, err
		}); err != nil {
			return err
		}
		out.Runtimes, err = collect(ctx, s, runtimesSelect, args, readRuntime)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &out, nil
}

func readProof(row pgx.CollectableRow) (p RefreshProof, err error) {
	var predicted, judged *time.Time
	err = row.Scan(&predicted, &p.Prediction, &p.Restore.Statements, &p.Restore.Notes, &p.FalseAlarm, &p.LaterEffect, &judged)
	p.PredictedAt, p.JudgedAt = orZero(predicted).UTC(), orZero(judged).UTC()
	p.Restore.Statements, p.Restore.Notes = nilIfEmpty(p.Restore.Statements), nilIfEmpty(p.Restore.Notes)
	return p, err
}

// collect is a query's rows; nil without any.
func collect[T any](ctx context.Context, s *Store, sql string, args pgx.NamedArgs, read pgx.RowToFunc[T]) ([]T, error) {
	rows, err := s.pool.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	out, err := pgx.CollectRows(rows, read)
	if len(out) == 0 {
		out = nil
	}
	return out, err
}
