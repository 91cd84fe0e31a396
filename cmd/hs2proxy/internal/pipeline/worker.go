package pipeline

import (
	"context"
	"errors"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/store"
)

// task is a statement to analyse, as it was when it started; result is what came of it (nil: nothing could be said).
type task struct {
	key       string
	query     Query
	session   intercept.Session
	statement intercept.Statement
}

type result struct {
	id       string
	analysis *store.Analysis
}

func (r *Recorder) work(ctx context.Context) {
	for t := range r.tasks {
		res := result{id: t.statement.ID, analysis: r.analyse(ctx, &t)}
		select {
		case r.results <- res:
		case <-ctx.Done():
			return
		}
	}
}

// analyse isolates a panic: one query's analysis is lost, and counted.
func (r *Recorder) analyse(ctx context.Context, t *task) (out *store.Analysis) {
	defer isolate(r.log, r.counters, "analysis panicked; the statement is recorded without it")
	// A query like it may have been explained while this one waited.
	if a, _ := r.cfg.Cache.Lookup(t.key, &t.statement); a != nil {
		r.counters.Reused.Add(1)
		r.cfg.Samples.Put(&t.statement, &t.session, a.Settings)
		return a
	}
	a, err := r.cfg.Analyzer.Analyze(ctx, t.query)
	switch {
	case errors.Is(err, ErrBusy) || err != nil && ctx.Err() != nil:
		r.counters.Skipped.Add(1)
		return nil
	case err != nil:
		r.counters.Failed.Add(1)
		r.log.Warn().Str("side", "HiveServer2").Str("fingerprint", t.query.Fingerprint).Err(err).
			Msg("query not explained; traffic is not affected")
		return nil
	case a.Error != "":
		r.counters.Refused.Add(1)
	default:
		r.counters.Explained.Add(1)
		r.counters.compared(a.Joins)
		r.cfg.Cache.Put(t.key, a)
	}
	r.cfg.Samples.Put(&t.statement, &t.session, a.Settings)
	return a
}
