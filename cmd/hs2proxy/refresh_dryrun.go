package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/app"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

// dryRun says what each schedule would request now, or what a request for one table would run, and why.
func (c refreshCmd) dryRun(ctx context.Context) error {
	cfg, err := c.load()
	if err != nil {
		return err
	}
	s, err := c.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	upstream := c.Upstream
	if upstream == "" {
		upstream = cfg.Upstream.Name
	}
	now := time.Now()
	candidates, err := app.RefreshCandidates(ctx, s, upstream, now)
	if err != nil {
		return err
	}
	if c.Table != "" {
		if err := c.dryRequest(ctx, os.Stdout, s, cfg, upstream, candidates); err != nil {
			return err
		}
	}
	shown := 0
	for _, schedule := range cfg.Stats.Refresh.Schedules {
		if c.Schedule != "" && c.Schedule != schedule.Name {
			continue
		}
		shown++
		printDecisions(os.Stdout, schedule, statscheck.Decide(candidates, schedule, cfg.Stats.Refresh.Policy, now), c.Table, now)
	}
	switch {
	case shown == 0 && c.Schedule != "":
		return fmt.Errorf("no such schedule: %q; statistics.refresh.schedules has %s", c.Schedule, scheduleNames(cfg))
	case shown == 0 && c.Table == "":
		fmt.Println("no schedule is configured: nothing is refreshed unless somebody asks")
	}
	return nil
}

func scheduleNames(cfg config.Config) string {
	var names []string
	for _, s := range cfg.Stats.Refresh.Schedules {
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// dryRequest says what this command would do without --dry-run.
func (c refreshCmd) dryRequest(ctx context.Context, w io.Writer, s *store.Store, cfg config.Config, upstream string, candidates []statscheck.Candidate) error {
	set, err := s.RefreshPolicies(ctx)
	if err != nil {
		return err
	}
	policy := statscheck.PolicyOf(c.Table, set, cfg.Stats.Refresh.Tables)
	if why := policy.Bars(""); why != "" {
		_, _ = fmt.Fprintf(w, "%s: a request would be refused: %s\n", c.Table, why)
		return nil
	}
	table, err := hiveql.ParseTableName(c.Table)
	if err != nil {
		return err
	}
	columns, partitions := c.Columns, c.Partition
	if len(columns) == 0 {
		columns = policy.Columns
	}
	if len(partitions) == 0 {
		partitions = policy.Partitions
	}
	if len(columns) == 0 && c.mode() == statscheck.ModeColumns {
		usage, err := s.UsageOf(ctx, upstream, c.Table)
		if err != nil {
			return err
		}
		columns = append(usage.JoinColumns, usage.OtherColumns...)
	}
	named := plain(partitions)
	version, err := s.HiveVersion(ctx, upstream)
	if err != nil {
		return err
	}
	statements, err := statscheck.ServerStatements(table, c.mode(), named, columns, version == "" || statscheck.ColumnsCountRows(version))
	if err != nil {
		return err
	}
	if len(partitions) > 0 && len(named) == 0 {
		statements = nil // a pattern's partitions are known when it runs
	}
	factors, err := s.RefreshFactors(ctx, upstream, []string{c.Table})
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(w, "%s: a request would run, %s\n", c.Table, worth(factors[c.Table], c.Priority))
	for _, cand := range candidates {
		if cand.Table != c.Table {
			continue
		}
		for _, st := range cand.Staleness {
			_, _ = fmt.Fprintf(w, "  %s %s: %s\n", st.Rule, st.Level, st.Reason)
		}
	}
	for _, p := range partitions {
		if strings.ContainsAny(p, "*?") {
			_, _ = fmt.Fprintf(w, "  %s of each partition that matches %s\n", c.mode(), p)
		}
	}
	for _, sql := range statements {
		_, _ = fmt.Fprintln(w, "  "+sql)
	}
	if version == "" && c.mode() == statscheck.ModeColumns && len(columns) > 0 {
		_, _ = fmt.Fprintln(w, "  a server before Hive 3 is asked for the rows too, by COMPUTE STATISTICS without columns: no version is on record yet")
	}
	_, _ = fmt.Fprintln(w, "  columns that Hive keeps no statistics of are left out when it runs")
	return nil
}

// plain are the partitions that are no patterns.
func plain(partitions []string) (out []string) {
	for _, p := range partitions {
		if !strings.ContainsAny(p, "*?") {
			out = append(out, p)
		}
	}
	return out
}

func worth(f statscheck.Factors, given *float64) string {
	weight := 1
	if f.Flips {
		weight = 4
	}
	text := fmt.Sprintf("priority %.3g = severity %d × %d joins in 7 days × %d ÷ %.3g s", f.Priority(), f.Severity, f.Joins, weight, max(f.Seconds, 1))
	if given != nil {
		text = fmt.Sprintf("priority %.3g as given; computed: %s", *given, text)
	}
	return text
}

func printDecisions(w io.Writer, schedule statscheck.Schedule, decisions []statscheck.Decision, table string, now time.Time) {
	head := "schedule " + schedule.Name
	if window, open := schedule.WindowAt(now); open {
		head += fmt.Sprintf(", whose window is open until %s", window.End.UTC().Format(time.RFC3339))
	}
	_, _ = fmt.Fprintln(w, head+", if it fired now:")
	printed := false
	for _, d := range decisions {
		if table != "" && d.Candidate.Table != table {
			continue
		}
		printed = true
		if d.Why != "" {
			_, _ = fmt.Fprintf(w, "  not %s: %s\n", d.Candidate.Table, d.Why)
			continue
		}
		_, _ = fmt.Fprintf(w, "  %s, %s\n    %s\n    %s\n", d.Refresh.Table, worth(d.Candidate.Factors, nil), d.Refresh.Scope, d.Refresh.Reason)
		if len(d.Refresh.Columns) > 0 {
			_, _ = fmt.Fprintf(w, "    columns %s\n", strings.Join(d.Refresh.Columns, ", "))
		}
		if len(d.Refresh.Partitions) > 0 {
			_, _ = fmt.Fprintf(w, "    partitions %s\n", strings.Join(d.Refresh.Partitions, ", "))
		}
	}
	if !printed {
		_, _ = fmt.Fprintln(w, "  nothing is stale")
	}
}
