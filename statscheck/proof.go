package statscheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// Proof is what was foretold of a refresh before its ANALYZE, and what was found after.
type Proof struct {
	// PredictedAt is when the predictions were put on record; zero: they were not, and count for nothing.
	PredictedAt time.Time
	Predictions []Prediction
	// Prediction is the grade of all predictions together.
	Prediction Grade
	// Restore puts the statistics of before back.
	Restore Restore
	// Statistics are the table's, the partitions' and the columns' numbers before and after.
	Statistics []StatisticChange
}

// maxProofStatements bounds what a refresh asks about single partitions before, and again after.
const maxProofStatements = 200

// foretell puts on record what the refresh should change and how to undo it. None of that may fail a refresh: the statistics are worth
// having without the proof. It returns the partitions' statistics as they are now, and the names of those that are gone.
func (r *Runner) foretell(ctx context.Context, session Session, table hiveql.TableName, job *Refresh, plans []JoinStrategy) (before []advisor.TableStats, gone []string) {
	before, gone = r.readPartitions(ctx, session, table, r.provable(ctx, session, table, *job), job.Before.ColumnsRead, *job)
	restore, err := RestoreStatements(table, slices.Concat([]advisor.TableStats{*job.Before}, before))
	if err != nil {
		restore.Notes = []string{err.Error()}
	}
	job.Proof = &Proof{Predictions: Predict(plans), Prediction: GradeUnknown, Restore: restore}
	if r.cfg.Predicted == nil {
		return before, gone
	}
	job.Proof.PredictedAt = r.cfg.Now()
	ctx, cancel := context.WithTimeout(ctx, r.cfg.ReadTimeout)
	defer cancel()
	if err := r.cfg.Predicted(ctx, *job); err != nil {
		r.log.Warn().Err(err).Int64("refresh", job.ID).Str("table", job.Table).Msg("prediction not recorded before the ANALYZE; it counts for nothing")
		job.Proof.PredictedAt, job.Proof.Predictions = time.Time{}, nil
	}
	return before, gone
}

// leaveOut takes partitions that are gone out of the refresh: Hive would run the ANALYZE on Tez and fail there, for want of a folder.
func leaveOut(job *Refresh, gone []string) error {
	if len(gone) == 0 {
		return nil
	}
	left := slices.DeleteFunc(slices.Clone(job.Partitions), func(name string) bool { return slices.Contains(gone, name) })
	if len(left) == 0 && len(job.Partitions) > 0 {
		return fmt.Errorf("the table has no partition %s", strings.Join(gone, ", "))
	}
	job.Partitions = left
	note := "without " + strings.Join(gone, ", ") + ": there is no such partition"
	if len(gone) > 3 {
		note = fmt.Sprintf("without %d partitions that are gone", len(gone))
	}
	job.Scope = strings.TrimPrefix(job.Scope+"; "+note, "; ")
	return nil
}

// prove grades what was foretold and pairs the statistics.
func (r *Runner) prove(ctx context.Context, session Session, table hiveql.TableName, job *Refresh, before []advisor.TableStats) {
	if job.Proof == nil || job.Before == nil || job.After == nil {
		return
	}
	names := make([]string, len(before))
	for i, p := range before {
		names[i] = p.Partition
	}
	after, _ := r.readPartitions(ctx, session, table, names, job.Before.ColumnsRead, *job)
	job.Proof.Statistics = StatisticChanges(
		slices.Concat([]advisor.TableStats{*job.Before}, before), slices.Concat([]advisor.TableStats{*job.After}, after))
	job.Proof.Predictions, job.Proof.Prediction = GradePredictions(job.Proof.Predictions, job.Plans)
}

// provable are the partitions whose statistics are read before and after: those the refresh names, or all of a table that has few.
func (r *Runner) provable(ctx context.Context, session Session, table hiveql.TableName, job Refresh) []string {
	if len(job.Partitions) > 0 {
		return job.Partitions[:min(len(job.Partitions), MaxPartitions)]
	}
	n := job.Before.PartitionsNum
	if n == nil || *n < 1 || *n > MaxPartitions {
		return nil
	}
	names, err := r.showPartitions(ctx, session, table)
	if err != nil {
		r.log.Warn().Err(err).Int64("refresh", job.ID).Str("table", job.Table).Msg("partitions not listed; their statistics are not compared")
	}
	return names[:min(len(names), MaxPartitions)]
}

func (r *Runner) showPartitions(ctx context.Context, session Session, table hiveql.TableName) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.ReadTimeout)
	defer cancel()
	quoted, err := table.Quoted()
	if err != nil {
		return nil, err
	}
	res, err := session.Query(ctx, "SHOW PARTITIONS "+quoted)
	if err != nil {
		return nil, fmt.Errorf("show partitions of %s: %w", table, err)
	}
	var out []string
	for _, row := range res.Rows {
		if name := cell(row, 0); strings.Contains(name, "=") {
			out = append(out, name)
		}
	}
	return out, nil
}

// readPartitions reads those it can, with their columns where that costs few statements. A partition may be gone by now, and a
// connection that broke shows itself in what follows.
func (r *Runner) readPartitions(ctx context.Context, session Session, table hiveql.TableName, names, columns []string, job Refresh) (read []advisor.TableStats, gone []string) {
	if len(names)*(1+len(columns)) > maxProofStatements {
		columns = nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.cfg.ReadTimeout)
	defer cancel()
	for _, name := range names {
		p, err := ReadPartition(ctx, session, table, name, columns)
		if errors.Is(err, ErrTableGone) {
			gone = append(gone, name)
		}
		if err != nil {
			r.log.Debug().Err(err).Int64("refresh", job.ID).Str("partition", name).Msg("statistics of a partition not read; they are not compared")
			if ctx.Err() != nil {
				return read, gone
			}
			continue
		}
		read = append(read, p)
	}
	return read, gone
}
