package pipeline

import (
	"context"
	"errors"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

// PlanRecords is the part of the store that knows which queries a table affects.
type PlanRecords interface {
	AffectedFingerprints(ctx context.Context, upstream, table string) ([]store.AffectedQuery, error)
	RecordPlan(ctx context.Context, a store.Analysis) error
}

// maxReplanned bounds how many queries one refresh explains again: the most recent ones.
const maxReplanned = 50

// Replanner explains the queries that read a table, before and after its statistics change. It is a statscheck.Replanner.
type Replanner struct {
	Analyzer *Analyzer
	Samples  *Samples
	Cache    *Cache
	Records  PlanRecords
	Log      zerolog.Logger
}

// Before explains the affected queries now.
func (r *Replanner) Before(ctx context.Context, upstream, table string) ([]statscheck.JoinStrategy, error) {
	r.Analyzer.Tables.Forget(table)
	return r.explain(ctx, upstream, table, store.CauseAge)
}

// After explains them again; what was cached of the table and its queries is forgotten.
func (r *Replanner) After(ctx context.Context, upstream, table string, _ []statscheck.JoinStrategy) ([]statscheck.JoinStrategy, error) {
	r.Analyzer.Tables.Forget(table)
	r.Cache.Invalidate(table)
	return r.explain(ctx, upstream, table, store.CauseRefresh)
}

// explain explains each affected query in a mirror of its session and records the plan. A query whose text is known to
// nobody any more (literals are kept in memory only) is left out, as is one Hive refuses.
func (r *Replanner) explain(ctx context.Context, upstream, table string, cause store.Cause) ([]statscheck.JoinStrategy, error) {
	affected, err := r.Records.AffectedFingerprints(ctx, upstream, table)
	if err != nil {
		return nil, err
	}
	var out []statscheck.JoinStrategy
	for i, q := range affected {
		if i == maxReplanned {
			r.Log.Warn().Str("table", table).Int("affected", len(affected)).Int("explained", i).
				Msg("more queries read the table than are explained again")
			break
		}
		query, ok := r.query(q)
		if !ok {
			r.Log.Debug().Str("table", table).Str("fingerprint", q.Fingerprint).Msg("text of a query not known; not explained again")
			continue
		}
		query.Cause = cause
		a, err := r.Analyzer.Analyze(ctx, query)
		if err != nil {
			if ctx.Err() != nil {
				return out, err
			}
			if !errors.Is(err, ErrBusy) {
				r.Log.Warn().Str("fingerprint", q.Fingerprint).Err(err).Msg("affected query not explained again")
			}
			continue
		}
		if a.Error != "" {
			continue
		}
		if err := r.Records.RecordPlan(ctx, *a); err != nil {
			return out, err
		}
		out = append(out, strategiesOf(q.Fingerprint, table, a)...)
	}
	return out, nil
}

func (r *Replanner) query(q store.AffectedQuery) (Query, bool) {
	if s, ok := r.Samples.Get(q.Fingerprint, q.Database, q.Settings); ok {
		return Query{
			SQL: s.SQL, Fingerprint: q.Fingerprint, Fallback: s.Fallback,
			Target: Target{Configuration: s.Configuration, Settings: s.Settings, Database: s.Database, ConfOverlay: s.ConfOverlay},
		}, true
	}
	if q.SampleSQL == "" {
		return Query{}, false
	}
	return Query{
		SQL: q.SampleSQL, Fingerprint: q.Fingerprint, Fallback: hiveql.Parse(q.SampleSQL).Query, Target: Target{Settings: advisor.HiveSettings(q.Settings), Database: q.Database},
	}, true
}

// strategiesOf are a query's joins, with what each should become once the table's statistics are true.
func strategiesOf(fingerprint, table string, a *store.Analysis) []statscheck.JoinStrategy {
	settings := settingsOf(a)
	out := make([]statscheck.JoinStrategy, 0, len(a.Joins))
	for i := range a.Joins {
		j := statscheck.JoinStrategy{Fingerprint: fingerprint, Ordinal: a.Joins[i].Join.Ordinal, Strategy: a.Joins[i].Join.Strategy}
		j.Expected, j.Basis = predict(&a.Joins[i], table, &settings)
		out = append(out, j)
	}
	return out
}
