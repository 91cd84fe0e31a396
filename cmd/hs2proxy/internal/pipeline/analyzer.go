package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/advise"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

const (
	// statsTimeout bounds the reading of all tables of one plan, and knownTimeout asking for their true rows: an analysis goes
	// on without what did not come in time.
	statsTimeout = time.Minute
	knownTimeout = 3 * time.Second
	// maxPartitions and maxPartitionStatements bound what one analysis asks about partitions, beside the tables themselves: each
	// costs a DESCRIBE and one more for every column. A table whose partitions go beyond is judged by its aggregated statistics.
	maxPartitions          = 16
	maxPartitionStatements = 200
)

// Query is one query to analyse and the session it belongs to.
type Query struct {
	SQL         string
	Fingerprint string
	// Fallback is explained when Hive says that SQL's target exists already: the query inside CTAS.
	Fallback string
	Target   Target
	Cause    store.Cause
}

// Analyzer explains a query, joins the plan with what is known of its tables, and judges every join.
type Analyzer struct {
	Upstream  string
	LLAPNodes int
	// Release names the release line or profile to judge by; empty: the one that the server's version tells.
	Release   string
	Profiles  advisor.Profiles
	Explainer *Explainer
	Server    *Server
	Tables    *Tables
	// Known knows better row counts than Hive's statistics; nil: nobody does.
	Known KnownRows
	Log   zerolog.Logger
}

// KnownRows tells how many rows a table should have by what was seen on the wire; false when nothing was counted.
type KnownRows interface {
	KnownRows(ctx context.Context, upstream, table string, partitioned bool) (int64, bool)
}

// Analyze returns the analysis of one query. Hive's refusal and a plan that cannot be read are analyses too, with Error
// set; the returned error means that nothing could be said (ErrBusy, or HiveServer2 not reached).
func (a *Analyzer) Analyze(ctx context.Context, q Query) (*store.Analysis, error) {
	facts, err := a.Server.Facts(ctx)
	if err != nil {
		return nil, err
	}
	out := &store.Analysis{
		Upstream: a.Upstream, HiveVersion: facts.Version, Fingerprint: q.Fingerprint, Database: q.Target.Database, Cause: q.Cause,
	}
	raw := overlaid(facts.Settings, q.Target.Settings, q.Target.ConfOverlay)
	release := a.Profiles.Choose(a.Release, facts.Version)
	out.Settings, raw = release.Fill(thatMatter(raw), facts.Version), release.Fill(raw, facts.Version)
	if hasTransactions(raw) {
		q.Target.Session = nil
	}

	text, err := a.Explainer.Explain(ctx, q.Target, q.SQL)
	if refused, ok := refusal(err); ok && q.Fallback != "" && strings.Contains(refused.Message, "already exists") {
		text, err = a.Explainer.Explain(ctx, q.Target, q.Fallback)
	}
	out.ExplainedAt, out.Duration = text.At, text.Took
	if refused, ok := refusal(err); ok {
		out.Error = refused.Message
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	out.PlanText = text.Text
	plan, err := explain.Parse(text.Text)
	if err != nil {
		out.Error = fmt.Sprintf("the plan could not be read: %v", err)
		return out, nil
	}
	witness := advisor.ParseWitness(text.Log)
	told := advisor.NewSettings(raw)
	planned := planned{witness: &witness, nodes: a.cluster(told, nil).Nodes}
	a.judge(ctx, out, advisor.Query{SQL: q.SQL, Plan: plan, Settings: a.cluster(told, &witness), Version: facts.Version}, planned)
	return out, nil
}

// growth is, for each table, the rows there should be now (at the last verified ANALYZE, plus those written since) over the
// rows Hive believes in; tables without such a count are left out.
func (a *Analyzer) growth(ctx context.Context, stats map[string]advisor.TableStats) map[string]float64 {
	if a.Known == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, knownTimeout)
	defer cancel()
	out := map[string]float64{}
	for table, s := range stats {
		if s.Partition != "" || s.Rows == nil || *s.Rows <= 0 {
			continue
		}
		rows, ok := a.Known.KnownRows(ctx, a.Upstream, table, len(s.PartitionColumns) > 0)
		if ok && rows >= 0 && rows != *s.Rows {
			out[table] = float64(rows) / float64(*s.Rows)
		}
	}
	return out
}

// cluster adds the LLAP cluster to settings that name none: the one the planner found in its registry, where its lines were asked for,
// else the configured one.
func (a *Analyzer) cluster(s advisor.Settings, witness *advisor.Witness) advisor.Settings {
	if s.Nodes > 0 {
		return s
	}
	if witness != nil {
		for _, j := range witness.Joins {
			if j.Nodes > 0 && j.Executors > 0 {
				return s.WithCluster(j.Nodes, j.Executors)
			}
		}
	}
	if a.LLAPNodes > 0 {
		return s.WithCluster(int64(a.LLAPNodes), s.DaemonExecutors)
	}
	return s
}

// planned is what the planner told of a plan, and how many LLAP nodes there are by what we know without it.
type planned struct {
	witness *advisor.Witness
	nodes   int64
}

func (a *Analyzer) judge(ctx context.Context, out *store.Analysis, q advisor.Query, p planned) {
	out.Nodes, out.NodeExecutors = q.Settings.Nodes, q.Settings.NodeExecutors
	joins := advisor.Joins(q.Plan)
	out.Tables = tablesOf(q.Plan)
	out.Usage, out.Reads = usageOf(q.Plan, joins), readsOf(q.Plan, joins)
	q.Tables = a.statistics(ctx, out.Tables, joins)
	advisor.EnrichFor(joins, q.Tables, &q.Settings)
	decisions := p.witness.Attach(joins)
	growth := a.growth(ctx, q.Tables)
	for i, j := range joins {
		v := advisor.Judge(j, q.Settings)
		v.Fidelity = advisor.Compare(&v, decisions[i], p.nodes)
		v.Expect(growth, q.Settings)
		q.Verdicts = append(q.Verdicts, v)
	}
	out.Joins, out.Findings = q.Verdicts, append(advise.Findings(q), dwarfed(q, growth)...)
	if rows := advisor.WrittenRows(q.Plan); rows >= 0 {
		out.WrittenRows = &rows
	}
}

// statistics reads those of the tables it can, within statsTimeout, and of the partitions that the joins read where they are few.
func (a *Analyzer) statistics(ctx context.Context, tables []string, joins []advisor.Join) map[string]advisor.TableStats {
	ctx, cancel := context.WithTimeout(ctx, statsTimeout)
	defer cancel()
	needs := advisor.Needed(joins)
	needed := map[string][]string{}
	for _, n := range needs {
		needed[n.Table] = n.Columns
	}
	stats := map[string]advisor.TableStats{}
	for _, table := range tables {
		// Join columns first: the number of columns read of a table is bounded.
		s, err := a.Tables.Get(ctx, table, append(columnsOf(joins, table), needed[table]...))
		switch {
		case err == nil:
			stats[table] = s
		case errors.Is(err, statscheck.ErrTableGone): // a temporary table of the client's, or dropped since
		default:
			a.Log.Warn().Str("table", table).Err(err).Msg("table statistics not read; its joins are judged without them")
		}
	}
	a.partitions(ctx, needs, stats)
	return stats
}

// thatMatter keeps the settings that the selector reads.
func thatMatter(raw map[string]string) map[string]string {
	out := map[string]string{}
	for _, s := range advisor.Catalogue() {
		if v, ok := raw[s.Name]; ok {
			out[s.Name] = v
		}
	}
	return out
}

// age of an analysis at a moment.
func age(a *store.Analysis, now time.Time) time.Duration { return now.Sub(a.ExplainedAt) }
