package main

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/store"
)

type whatifCmd struct {
	configFlags
	SQL      string            `arg:"" optional:"" help:"One query, explained on the upstream; - reads standard input. Without: the joins on record."`
	File     string            `short:"F" type:"existingfile" help:"Read the query (or, with --plan, the plan) from a file." placeholder:"FILE"`
	Plan     bool              `help:"The text is EXPLAIN output already: replay it without a server."`
	Database string            `short:"d" default:"default" help:"Current database of the query."`
	Base     map[string]string `help:"A setting that the query or plan has now; repeat for more." placeholder:"KEY=VALUE"`

	Set       map[string]string `short:"s" help:"A setting to change; repeat for more." placeholder:"KEY=VALUE"`
	Nodes     int64             `help:"LLAP nodes to have." placeholder:"N"`
	Executors int64             `help:"Executors of an LLAP node to have." placeholder:"N"`
	Release   string            `enum:",hive-4,hive-3,hive-2" default:"" help:"Release line to have: hive-4, hive-3 or hive-2, with its defaults and rules."`
	Table     []string          `sep:"none" help:"Statistics to have: db.table:rows=N,bytes=N,ndv.COLUMN=N,nulls.COLUMN=N; rows and bytes also as factors, such as 2x. Repeat for more." placeholder:"CHANGE"`
	Bucket    []string          `sep:"none" help:"Buckets to have: db.table:col=A,B:buckets=N, sorted by the same columns unless :sort=C or :sort=none follows. Repeat for more." placeholder:"CHANGE"`
	Sweep     []string          `sep:"none" help:"Print where strategies flip in a range: budget=10MB..2GB, nodes=4..400, executors=1..40, or a setting of Hive's. Repeat for more." placeholder:"NAME=FROM..TO"`

	Upstream string `help:"Only joins recorded of this upstream; with a query, HiveServer2 as host:port." placeholder:"NAME"`
	OnTable  string `help:"Only recorded joins that read this table." placeholder:"DB.TABLE"`
	User     string `help:"Only recorded joins of queries that this user ran."`
	Since    string `help:"Only recorded joins of queries that ran since then: a date, a time, or how long ago (7d, 36h)." placeholder:"WHEN"`

	Limit  int    `default:"50" help:"How many joins to print; 0 for all. All are counted."`
	Format string `short:"f" enum:"text,json" default:"text" help:"text or json."`
}

// Run replays joins with something changed, and prints which get another strategy.
func (c whatifCmd) Run(ctx context.Context) error { return c.print(ctx, os.Stdout) }

func (c whatifCmd) print(ctx context.Context, w io.Writer) error {
	change, sweeps, err := c.changes()
	if err != nil {
		return err
	}
	r := newReplay(change, sweeps, c.Limit)
	if c.one() {
		err = c.replayOne(ctx, r)
	} else {
		err = c.replayRecorded(ctx, r)
	}
	if err != nil {
		return err
	}
	return printWhatIf(w, r.finish(), c.Format)
}

// one: a query or a plan is given.
func (c whatifCmd) one() bool { return c.SQL != "" || c.File != "" || c.Plan }

func (c whatifCmd) replayOne(ctx context.Context, r *replay) error {
	if c.OnTable != "" || c.User != "" || c.Since != "" {
		return errors.New("--on-table, --user and --since choose recorded joins; leave out the query")
	}
	r.whole = true
	text, err := explainCmd{SQL: c.SQL, File: c.File}.text()
	if err != nil {
		return err
	}
	if c.Plan {
		return c.replayPlan(r, text)
	}
	return c.replayQuery(ctx, r, text)
}

func (c whatifCmd) replayPlan(r *replay, text string) error {
	plan, err := explain.Parse(text)
	if err != nil {
		return err
	}
	release, err := releaseFlag{}.offline(c.configFlags)
	if err != nil {
		return err
	}
	r.sizes = func(string) (map[string]advisor.TableSize, error) { return advisor.ScanSizes(plan), nil }
	values := release.Fill(c.Base, "")
	s := advisor.NewSettings(values)
	for _, j := range advisor.Joins(plan) {
		d := advisor.Explain(j, s)
		if err := r.add(plannedJoin{Database: c.Database, Join: &j, Values: values, Decision: &d, Simulated: d.Strategy}); err != nil {
			return err
		}
	}
	return nil
}

func (c whatifCmd) replayQuery(ctx context.Context, r *replay, text string) error {
	info, err := explainable(text)
	if err != nil {
		return err
	}
	server, err := c.connect(ctx, c.Upstream, releaseFlag{})
	if err != nil {
		return err
	}
	defer server.close()
	analysis, plan, err := server.analyze(ctx, text, info, pipeline.Target{Settings: c.Base, Database: c.Database})
	if err != nil {
		return err
	}
	r.nodes = int64(server.cfg.Upstream.LLAPNodes)
	r.sizes = func(string) (map[string]advisor.TableSize, error) { return advisor.ScanSizes(plan), nil }
	for i := range analysis.Joins {
		v := &analysis.Joins[i]
		err := r.add(plannedJoin{
			Upstream: analysis.Upstream, Database: c.Database, Fingerprint: info.Fingerprint,
			Join: &v.Join, Values: analysis.Settings, Decision: &v.Decision, Simulated: v.Decision.Strategy,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c whatifCmd) replayRecorded(ctx context.Context, r *replay) error {
	if len(c.Base) > 0 {
		return errors.New("--base goes with a query or a plan: recorded joins have the settings they were recorded with")
	}
	filter := store.JoinFilter{Upstream: c.Upstream, User: c.User}
	if c.OnTable != "" {
		name, err := fullTableName(c.OnTable)
		if err != nil {
			return err
		}
		filter.Table = name
	}
	if c.Since != "" {
		at, err := parseSince(c.Since, time.Now())
		if err != nil {
			return err
		}
		filter.Since = at
	}
	cfg, err := c.load()
	if err != nil {
		return err
	}
	s, err := c.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	r.nodes, r.runs = int64(cfg.Upstream.LLAPNodes), true
	r.sizes = func(upstream string) (map[string]advisor.TableSize, error) {
		return recordedSizes(ctx, s, upstream, r.change)
	}
	return s.RecordedJoins(ctx, filter, func(j *store.RecordedJoin) error {
		return r.add(plannedJoin{
			Upstream: j.Upstream, Database: j.Database, Fingerprint: j.Fingerprint, Runs: j.Runs, Join: &j.Join, Values: j.Settings, Key: j.SettingsHash,
			Decision: &advisor.Decision{Budget: j.Budget, Attempts: j.Attempts}, Simulated: j.Simulated,
		})
	})
}

// recordedSizes are the rows and bytes the metastore last had of the tables to change.
func recordedSizes(ctx context.Context, s *store.Store, upstream string, change advisor.WhatIf) (map[string]advisor.TableSize, error) {
	names := make([]string, 0, len(change.Tables))
	for name := range change.Tables {
		names = append(names, name)
	}
	latest, err := s.LatestTableStats(ctx, upstream, names)
	if err != nil {
		return nil, err
	}
	out := map[string]advisor.TableSize{}
	for name, list := range latest {
		if len(list) > 0 && list[0].Partition == "" {
			out[name] = advisor.TableSize{Rows: orUnknown(list[0].Rows), Bytes: orUnknown(list[0].RawDataSize)}
		}
	}
	return out, nil
}

func orUnknown(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}
