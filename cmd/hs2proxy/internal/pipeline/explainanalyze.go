package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/store"
)

// CountedQueries is the part of the store that chooses queries to count, and keeps what came of them.
type CountedQueries interface {
	QueriesToCount(ctx context.Context, upstream string, fingerprints []string, mostJoined int) ([]store.AffectedQuery, error)
	RecordActuals(ctx context.Context, a store.Actuals) error
	SaveExplainAnalyze(ctx context.Context, run int64, e store.ExplainAnalyze) error
}

// RowCount runs chosen queries under EXPLAIN ANALYZE, one after the other, and records what their operators put out.
type RowCount struct {
	Analyzer *Analyzer
	Samples  *Samples
	Records  CountedQueries
	// Fingerprints are the queries, and MostJoined so many more: those whose joins run most.
	Fingerprints []string
	MostJoined   int
	// Timeout ends one query, and MaxTime what is left of a run.
	Timeout, MaxTime time.Duration
	// Queue is tez.queue.name; empty leaves the one of the query's session.
	Queue string
	Log   zerolog.Logger
}

// proxyUser is the entry of OpenSession's configuration (HiveAuthConstants.HS2_PROXY_USER) by which a client acts for somebody else. The
// service user acts for nobody.
const proxyUser = "hive.server2.proxy.user"

const parallelCompilation = "hive.driver.parallel.compilation"

// runsCode are functions and clauses by which a SELECT runs a program that nobody has read: scripts of TRANSFORM, methods of Java.
var runsCode = regexp.MustCompile(`(?i)\b(transform|reduce|reflect2?|java_method)\b`)

// Run takes each query once. The error says why it ended early; what becomes of single queries is on record.
func (c *RowCount) Run(ctx context.Context, run int64) error {
	ctx, cancel := context.WithTimeout(ctx, c.MaxTime)
	defer cancel()
	queries, err := c.Records.QueriesToCount(ctx, c.Analyzer.Upstream, c.Fingerprints, c.MostJoined)
	if err != nil {
		return err
	}
	for _, f := range c.Fingerprints {
		if slices.ContainsFunc(queries, func(q store.AffectedQuery) bool { return q.Fingerprint == f }) {
			continue
		}
		e := store.ExplainAnalyze{Fingerprint: f, Outcome: store.AnalyzeRefused, Reason: "no plan of it is on record", StartedAt: time.Now()}
		if err := c.Records.SaveExplainAnalyze(ctx, run, e); err != nil {
			return err
		}
	}
	for i, q := range queries {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%d of %d queries were not run: %w", len(queries)-i, len(queries), context.Cause(ctx))
		}
		e := c.count(ctx, q)
		c.Log.Info().Str("fingerprint", e.Fingerprint).Str("outcome", string(e.Outcome)).Int("operators", e.Operators).Dur("took", e.Took).
			Msg("query run under EXPLAIN ANALYZE")
		// What was canceled is to be on record too.
		save, done := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
		err := c.Records.SaveExplainAnalyze(save, run, e)
		done()
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *RowCount) count(ctx context.Context, q store.AffectedQuery) (e store.ExplainAnalyze) {
	e = store.ExplainAnalyze{Fingerprint: q.Fingerprint, Database: q.Database, StartedAt: time.Now()}
	defer func() { e.Took = time.Since(e.StartedAt) }()
	query, ok := (&Replanner{Samples: c.Samples}).query(q)
	if !ok {
		e.Outcome, e.Reason = store.AnalyzeRefused, "its text with literals is not known here: it did not run lately, and database.keep_literals is false"
		return e
	}
	e.SQL = query.SQL
	if e.Reason = unfit(query.SQL); e.Reason != "" {
		e.Outcome = store.AnalyzeRefused
		return e
	}
	query.Cause, query.Target = store.CauseAge, c.own(query.Target)
	if e.Reason = c.inTheWay(ctx); e.Reason != "" {
		e.Outcome = store.AnalyzeRefused
		return e
	}
	e.Operators, e.Outcome, e.Reason = c.counted(ctx, query)
	return e
}

// inTheWay says why the server is not asked; empty where others go on meanwhile. Hive executes the query of EXPLAIN ANALYZE while it
// compiles (ExplainSemanticAnalyzer): on a server that compiles one statement at a time (CompileLock) no other would begin until it has ended.
func (c *RowCount) inTheWay(ctx context.Context) string {
	facts, err := c.Analyzer.Server.Facts(ctx)
	switch {
	case err != nil:
		return "whether HiveServer2 compiles other statements meanwhile is not known: " + err.Error()
	case !strings.EqualFold(facts.Settings[parallelCompilation], "true"):
		return parallelCompilation + " is not true: HiveServer2 would compile no other statement until EXPLAIN ANALYZE has ended"
	}
	return ""
}

// unfit says why a query is not run; empty for one that may be.
func unfit(sql string) string {
	info := hiveql.Parse(sql)
	switch {
	case info.Kind != hiveql.KindSelect:
		return fmt.Sprintf("it is no SELECT but %s", info.Kind)
	case runsCode.MatchString(info.Normalized):
		return "it runs a script or a method of Java"
	}
	return ""
}

// own is the target as the service user's own.
func (c *RowCount) own(t Target) Target {
	t.Session = nil
	t.Configuration = maps.Clone(t.Configuration)
	delete(t.Configuration, proxyUser)
	if c.Queue != "" {
		t.Settings = maps.Clone(t.Settings)
		if t.Settings == nil {
			t.Settings = map[string]string{}
		}
		t.Settings["tez.queue.name"] = c.Queue
		t.ConfOverlay = maps.Clone(t.ConfOverlay)
		delete(t.ConfOverlay, "tez.queue.name")
	}
	return t
}

// counted is how many operators of a query were counted.
func (c *RowCount) counted(ctx context.Context, q Query) (int, store.ExplainAnalyzeOutcome, string) {
	actuals, err := c.Analyzer.ExplainAnalyze(ctx, q, c.Timeout)
	switch {
	case ctx.Err() != nil:
		return 0, store.AnalyzeCanceled, "the run ended: " + context.Cause(ctx).Error()
	case errors.Is(err, context.DeadlineExceeded):
		return 0, store.AnalyzeCanceled, fmt.Sprintf("it took longer than %v", c.Timeout)
	case err != nil:
		return 0, store.AnalyzeFailed, err.Error()
	case actuals == nil:
		return 0, store.AnalyzeNoCounts, "Hive printed no counts"
	}
	if err := c.Records.RecordActuals(ctx, *actuals); err != nil {
		return 0, store.AnalyzeFailed, err.Error()
	}
	return len(actuals.Operators), store.AnalyzeCounted, ""
}
