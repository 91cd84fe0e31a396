package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/advisor/movement"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/store"
)

const (
	// recentRuns is how many ended statements are kept for counters that come late; texts beyond recentText bytes are not.
	recentRuns = 512
	recentText = 64 << 10
	// identifiedPlans is how many plans with operators' identifiers are kept, as texts.
	identifiedPlans = 256
	// measureBacklog bounds the runs whose counts wait; further ones are not joined with their plans.
	measureBacklog = 64
)

// run is a statement that has ended and was handed on, so that nothing changes it, with what its operators put out as far as that is
// known.
type run struct {
	*store.Observation
	rows advisor.OperatorRows
}

// operatorsCounted takes counters from a log that the client read. They come in the middle of a run or after its end, in one piece or
// several.
func (r *Recorder) operatorsCounted(st *intercept.Statement) {
	rows := advisor.ParseOperatorRows(st.OperatorCounters)
	if rows == nil {
		return
	}
	if j := r.pending[st.ID]; j != nil {
		j.rows = merged(j.rows, rows)
		return
	}
	if x, ok := r.recent.Get(st.ID); ok {
		x.rows = merged(x.rows, rows)
		r.measure(x)
	}
}

// merged is a new map: another goroutine may read the ones before.
func merged(a, b advisor.OperatorRows) advisor.OperatorRows {
	if a == nil {
		return b
	}
	a = maps.Clone(a)
	maps.Copy(a, b)
	return a
}

// ran remembers a statement that is recorded for good.
func (r *Recorder) ran(j *job) {
	a := j.Analysis
	if !j.ended || j.Statement.State != intercept.StateFinished || a == nil || a.Error != "" {
		return
	}
	r.wrote(j)
	x := &run{&j.Observation, j.rows}
	if len(x.Statement.SQL) > recentText {
		return
	}
	r.recent.Add(x.Statement.ID, x)
	if x.rows != nil {
		r.measure(x)
	}
}

// wrote compares the rows a statement wrote into its one table with the planner's estimate. HiveServer2 says 0 for rows it did not count.
func (r *Recorder) wrote(j *job) {
	st := &j.Statement
	if st.ModifiedRows == nil || *st.ModifiedRows <= 0 || j.Analysis.WrittenRows == nil || !oneTable(st) {
		return
	}
	r.cfg.Record(Record{Actuals: &store.Actuals{
		Upstream: j.Session.Upstream, StatementID: st.ID, Source: store.SourceRowsModified, At: st.EndedAt,
		Operators: []advisor.OperatorActual{{ID: "WRITE", Kind: "File Output Operator", Estimated: *j.Analysis.WrittenRows, Actual: *st.ModifiedRows}},
	}})
}

// measure has counts joined with their plan, if there is room.
func (r *Recorder) measure(x *run) {
	if r.cfg.Analyzer == nil || r.silent.Load() {
		return
	}
	select {
	case r.measures <- *x:
	default:
		r.counters.Skipped.Add(1)
	}
}

// measureRuns joins until there is nothing more to come.
func (r *Recorder) measureRuns(ctx context.Context) {
	texts, err := lru.New[string, string](identifiedPlans)
	if err != nil {
		return // it has a size
	}
	for x := range r.measures {
		if a := r.measured(ctx, &x, texts); a != nil {
			r.cfg.Record(Record{Actuals: a})
		}
	}
}

func (r *Recorder) measured(ctx context.Context, x *run, texts *lru.Cache[string, string]) (out *store.Actuals) {
	defer isolate(r.log, r.counters, "counted rows could not be joined with their plan; they are left out")
	key := cacheKey(&x.Statement) + "\n" + x.Analysis.ExplainedAt.Format(time.RFC3339Nano)
	text, known := texts.Get(key)
	if !known && r.stopping() {
		return nil
	}
	if !known {
		q := queryOf(&x.Session, &x.Statement, "")
		q.Target.form = formUser
		got, err := r.cfg.Analyzer.Explainer.Explain(ctx, q.Target, q.SQL)
		if _, refused := refusal(err); err != nil && !refused {
			if !errors.Is(err, ErrBusy) && ctx.Err() == nil {
				r.log.Debug().Err(err).Msg("plan with operator identifiers not read; counted rows are left out")
			}
			return nil
		}
		text = got.Text // empty after a refusal, which would come again
		texts.Add(key, text)
	}
	plan, err := explain.Parse(text)
	if err != nil || !ofPlan(x.rows, plan) {
		return nil
	}
	x.rows.Annotate(plan)
	return actualsOf(x.Analysis, plan, store.Actuals{
		Upstream: x.Session.Upstream, StatementID: x.Statement.ID, Source: store.SourceCounters, At: x.Statement.EndedAt,
	})
}

func (r *Recorder) stopping() bool {
	select {
	case <-r.drain:
		return true
	default:
		return false
	}
}

// ofPlan reports whether the counters can be those of the plan: it knows half of their operators at least. MAP_0 and its like are no
// operators that a plan prints.
func ofPlan(rows advisor.OperatorRows, plan *explain.Plan) bool {
	found, all := 0, 0
	known := advisor.OperatorIDs(plan)
	for id := range rows {
		if strings.HasPrefix(id, "MAP_") {
			continue
		}
		all++
		if known[id] {
			found++
		}
	}
	return found > 0 && 2*found >= all
}

// actualsOf completes out with the operators of a plan in which rows were counted, and with what they tell of the analysis's joins.
func actualsOf(a *store.Analysis, counted *explain.Plan, out store.Actuals) *store.Actuals {
	out.Operators = advisor.OperatorActuals(counted)
	if len(out.Operators) == 0 {
		return nil
	}
	out.Fingerprint = a.Fingerprint
	rows := movement.Counted(a.Joins, advisor.Joins(counted))
	out.Findings = movement.FindCounted(advisor.Query{Verdicts: a.Joins, Settings: a.JoinSettings()}, movement.Measured{ActualRows: rows})
	advisor.Complete(out.Findings, a.Joins)
	return &out
}

// dwarfed lists the broadcasts of tables that have grown tenfold since their statistics, by the rows seen written.
func dwarfed(q advisor.Query, growth map[string]float64) []advisor.Finding {
	rows := grown(q.Verdicts, growth)
	if len(rows) == 0 {
		return nil
	}
	list := movement.FindCounted(q, movement.Measured{ActualRows: rows})
	for i := range list {
		list[i].Evidence["counted_by"] = "rows written since the statistics"
	}
	advisor.Complete(list, q.Verdicts)
	return list
}

// grown are the rows that inputs have by what was seen written since the statistics: estimates of single tables, scaled as their tables
// grew.
func grown(verdicts []advisor.JoinVerdict, growth map[string]float64) map[movement.Place]int64 {
	rows := map[movement.Place]int64{}
	for i := range verdicts {
		j := &verdicts[i].Join
		for pos := range j.Inputs {
			in := &j.Inputs[pos]
			if len(in.Tables) != 1 || in.Rows <= 0 {
				continue
			}
			if factor := growth[in.Tables[0]]; factor > 1 {
				rows[movement.Place{Join: j.Ordinal, Input: pos}] = int64(min(float64(in.Rows)*factor, 9e18))
			}
		}
	}
	return rows
}

// errNoSelect: what EXPLAIN ANALYZE is asked for would change something when it runs.
var errNoSelect = errors.New("explain analyze: only a SELECT is run")

// ExplainAnalyze runs a SELECT under EXPLAIN ANALYZE, for most at the longest, in a session of our own. Nil: Hive printed no counts.
func (a *Analyzer) ExplainAnalyze(ctx context.Context, q Query, most time.Duration) (*store.Actuals, error) {
	if hiveql.Parse(q.SQL).Kind != hiveql.KindSelect {
		return nil, errNoSelect
	}
	q.Target.Session = nil
	analysis, err := a.Analyze(ctx, q)
	if err != nil {
		return nil, err
	}
	if analysis.Error != "" {
		return nil, errors.New(analysis.Error)
	}
	text, err := a.Explainer.ExplainAnalyze(ctx, q.Target, q.SQL, most)
	if err != nil {
		return nil, err
	}
	plan, err := explain.Parse(text.Text)
	if err != nil {
		return nil, fmt.Errorf("explain analyze: read the plan: %w", err)
	}
	return actualsOf(analysis, plan, store.Actuals{Upstream: a.Upstream, Analysis: analysis, Source: store.SourceExplainAnalyze, At: text.At}), nil
}
