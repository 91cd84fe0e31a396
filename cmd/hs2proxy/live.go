package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/app"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/store"
)

// live is the configured HiveServer2, for a command that explains on it.
type live struct {
	cfg      config.Config
	login    pipeline.Login
	analyzer *pipeline.Analyzer
	close    func()
}

// connect reads the configuration, with another server in it where upstream names one, and wires what explains. The release flag,
// where a command has one, goes over the configuration's.
func (f configFlags) connect(ctx context.Context, upstream string, release releaseFlag) (live, error) {
	cfg, err := f.load()
	if err != nil {
		return live{}, err
	}
	if upstream != "" {
		cfg.Upstream.SetServers(upstream)
	}
	release.over(&cfg)
	if err := cfg.Validate(); err != nil {
		return live{}, err
	}
	way, err := app.NewWay(ctx, cfg, zerolog.Nop())
	if err != nil {
		return live{}, err
	}
	a, closeAll := app.NewAnalyzer(cfg, app.ExplainConfig(cfg, way.Login), zerolog.Nop())
	return live{cfg, way.Login, a, func() { closeAll(); way.Close() }}, nil
}

// explainable reads a query that can be explained.
func explainable(text string) (hiveql.Info, error) {
	info := hiveql.Parse(text)
	if !info.Explainable {
		return info, fmt.Errorf("a %s statement reads no table or cannot be explained", info.Kind)
	}
	return info, nil
}

// analyze explains one query. Hive's refusal is an error.
func (l live) analyze(ctx context.Context, text string, info hiveql.Info, target pipeline.Target) (*store.Analysis, *explain.Plan, error) {
	analysis, err := l.analyzer.Analyze(ctx, pipeline.Query{SQL: text, Fingerprint: info.Fingerprint, Fallback: info.Query, Target: target})
	if err != nil {
		return nil, nil, err
	}
	if analysis.Error != "" {
		return nil, nil, errors.New(analysis.Error)
	}
	plan, err := explain.Parse(analysis.PlanText)
	return analysis, plan, err
}
