package check

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/store"
)

// Judged is what was made of a statement's plan.
type Judged struct {
	Joins    []advisor.JoinVerdict
	Findings []advisor.Finding
}

// Explainer explains one statement and judges its joins.
type Explainer interface {
	Explain(ctx context.Context, s Statement) (Judged, error)
}

// Outcome is a statement with what came of it. Error is empty when it was explained or skipped.
type Outcome struct {
	Statement
	Judged
	Error string
}

// Run explains the statements that are to be, at most so many at a time, and returns an outcome for each, in the same order.
// A statement that could not be explained is an outcome too; the error is that of ctx.
func Run(ctx context.Context, e Explainer, statements []Statement, atOnce int) ([]Outcome, error) {
	out := make([]Outcome, len(statements))
	var group errgroup.Group
	group.SetLimit(max(atOnce, 1))
	for i, st := range statements {
		out[i].Statement, out[i].Error = st, st.Unknown
		if st.Skipped != "" || st.Unknown != "" {
			continue
		}
		group.Go(func() error {
			judged, err := e.Explain(ctx, st)
			if err != nil {
				out[i].Error = strings.TrimSpace(err.Error())
			}
			out[i].Judged = judged
			return nil
		})
	}
	_ = group.Wait() // none returns an error
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("explain the statements: %w", err)
	}
	return out, nil
}

// Analyzer is what Live needs of pipeline.Analyzer.
type Analyzer interface {
	Analyze(ctx context.Context, q pipeline.Query) (*store.Analysis, error)
}

// Live explains on a HiveServer2.
type Live struct{ Analyzer Analyzer }

// Explain implements Explainer.
func (l Live) Explain(ctx context.Context, s Statement) (Judged, error) {
	a, err := l.Analyzer.Analyze(ctx, pipeline.Query{
		SQL: s.SQL, Fingerprint: s.Info.Fingerprint, Fallback: s.Info.Query,
		Target: pipeline.Target{Settings: s.Settings, Database: s.Database},
	})
	if err != nil {
		return Judged{}, err
	}
	if a.Error != "" {
		return Judged{}, errors.New(a.Error)
	}
	return Judged{Joins: a.Joins, Findings: a.Findings}, nil
}
