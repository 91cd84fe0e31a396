package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/movement"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
)

// topKeys counts the share of the most frequent key of every side that a join shuffles. Unlike all else that explain does, it runs queries.
func (l live) topKeys(ctx context.Context, verdicts []advisor.JoinVerdict) (movement.Measured, error) {
	service := pipeline.NewService(l.login, nil)
	defer service.Close()
	m := movement.Measured{TopShare: map[movement.Place]float64{}}
	for i := range verdicts {
		j := &verdicts[i].Join
		for pos := range j.Inputs {
			sql, ok := movement.TopKeyQuery(j, pos)
			if !ok {
				continue
			}
			result, err := service.Query(ctx, sql)
			if err != nil {
				return m, fmt.Errorf("count the keys of %s: %w", j.InputName(pos), err)
			}
			if len(result.Rows) != 1 || len(result.Rows[0]) != 2 || result.Rows[0][0] == nil || result.Rows[0][1] == nil {
				continue // no row has a key
			}
			top, errTop := strconv.ParseFloat(*result.Rows[0][0], 64)
			all, errAll := strconv.ParseFloat(*result.Rows[0][1], 64)
			if errTop == nil && errAll == nil && all > 0 {
				m.TopShare[movement.Place{Join: j.Ordinal, Input: pos}] = top / all
			}
		}
	}
	return m, nil
}

// withSkew puts the findings about skew that the counts give in the place of those that statistics alone gave.
func withSkew(findings []advisor.Finding, q advisor.Query, m movement.Measured) []advisor.Finding {
	list := slices.DeleteFunc(slices.Clone(findings), func(f advisor.Finding) bool { return f.Kind == movement.SkewRisk })
	skewed := movement.FindSkew(q, m)
	advisor.Complete(skewed, q.Verdicts)
	return append(list, skewed...)
}

// printTopKeys prints the counted shares, also those that are worth no finding.
func printTopKeys(w io.Writer, verdicts []advisor.JoinVerdict, m movement.Measured) {
	for i := range verdicts {
		j := &verdicts[i].Join
		for pos := range j.Inputs {
			if share, ok := m.TopShare[movement.Place{Join: j.Ordinal, Input: pos}]; ok {
				fmt.Fprintf(w, "top key: %.2f %% of the rows of %s in join %d have one key\n", 100*share, j.InputName(pos), j.Ordinal)
			}
		}
	}
}
