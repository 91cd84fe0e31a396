package statscheck

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// Session is a HiveServer2 session of our own. *client.Session is one.
type Session interface {
	Hive
	Close() error
}

// Sessions opens a session on an upstream as the configured service user, with the configured SETs.
type Sessions interface {
	// Sessions of one job carry a mark, so that what an attempt left behind can be ended.
	OpenSession(ctx context.Context, job Refresh) (Session, error)
}

// RunnerConfig bounds a Runner.
type RunnerConfig struct {
	// Timeout ends an ANALYZE, in Hive too.
	Timeout time.Duration
	// ReadTimeout ends each reading of a partition's statistics, and the opening of the session.
	ReadTimeout time.Duration
	// DescribeTimeout ends the describing of a table: Hive fetches all its partitions for it, which took it minutes where there were 10,000.
	DescribeTimeout time.Duration
	// ReplanTimeout ends each explaining of the affected queries.
	ReplanTimeout time.Duration
	// NeededColumns names the columns of a ModeColumns refresh that names none: those that joins, filters and groupings
	// use. Optional.
	NeededColumns func(ctx context.Context, upstream, table string) ([]string, error)
	// Policy is what is laid down for the table. Optional.
	Policy func(ctx context.Context, upstream, table string) (TablePolicy, error)
	// Request takes the requests for the base tables of a view. Optional: views are refused without it.
	Request func(ctx context.Context, r Refresh) (id int64, created bool, err error)
	// Progress is told what a refresh does: the number of the statement, how many there are, and words. It must not take long. Optional.
	Progress func(ctx context.Context, id int64, step, steps int, doing string)
	// Concurrency is how many refreshes run at a time on one upstream; 1 when 0.
	Concurrency int
	// LockWait is how long a writer's lock on the table is waited for before the refresh is put back; locks are not looked at when 0.
	// LockPoll is the pause between two looks; 5 s when 0.
	LockWait, LockPoll time.Duration
	// PutBackPause is how long a refresh waits that was put back for the first time, doubled each time up to 2 h; 5 min when 0.
	PutBackPause time.Duration
	// Retries is how often a refresh is put back because HiveServer2 cannot be reached, before it fails.
	Retries int
	// Predicted puts job.Proof on record before the ANALYZE begins. Optional; what it does not take is not graded.
	Predicted func(ctx context.Context, job Refresh) error
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// Runner runs refreshes, RunnerConfig.Concurrency at a time per upstream. It is safe for concurrent use.
type Runner struct {
	cfg      RunnerConfig
	sessions Sessions
	replan   Replanner
	log      zerolog.Logger

	mu struct {
		sync.Mutex
		turns map[string]chan struct{}
	}
}

// Causes of a canceled ANALYZE.
var (
	errWindowOver = errors.New("canceled in Hive: the schedule's window is over")
	errTimeout    = errors.New("canceled in Hive: the timeout is over")
	errTooLong    = errors.New("canceled in Hive: the attempt took longer than it may, what goes before and after ANALYZE included")
	errBudgetOver = errors.New("canceled in Hive: the time that the schedule has for ANALYZE in this window is used up")
)

// Canceled is the cause to cancel the context of Run with when a person wants the refresh to end.
type Canceled struct{ By, Reason string }

func (c *Canceled) Error() string {
	if c.By == "" {
		return c.Reason
	}
	return fmt.Sprintf("canceled by %s: %s", c.By, c.Reason)
}

// NewRunner returns a Runner. replan may be nil: then no query is explained. Durations of zero get 30 minutes for Timeout and
// 2 minutes for the others.
func NewRunner(cfg RunnerConfig, sessions Sessions, replan Replanner, log zerolog.Logger) *Runner {
	cfg.Timeout = orElse(cfg.Timeout, 30*time.Minute)
	cfg.ReadTimeout = orElse(cfg.ReadTimeout, 2*time.Minute)
	cfg.DescribeTimeout = orElse(cfg.DescribeTimeout, 15*time.Minute)
	cfg.ReplanTimeout = orElse(cfg.ReplanTimeout, 2*time.Minute)
	cfg.LockPoll = orElse(cfg.LockPoll, 5*time.Second)
	cfg.PutBackPause = orElse(cfg.PutBackPause, 5*time.Minute)
	cfg.Concurrency = max(cfg.Concurrency, 1)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	r := &Runner{cfg: cfg, sessions: sessions, replan: replan, log: log}
	r.mu.turns = make(map[string]chan struct{})
	return r
}

// Run runs one refresh and returns it filled completely: DONE with its effect, or FAILED with Hive's words in Error. When ctx
// ends first it comes back as REQUESTED with the reason in Error: what was running is canceled in Hive, and somebody may run
// it again; as CANCELED when the context's cause is a *Canceled. One that a writer keeps from running comes back as REQUESTED too, with
// NotBefore. Run waits for the upstream's turn, and never panics.
func (r *Runner) Run(ctx context.Context, job Refresh) (out Refresh) {
	out = job
	out.State, out.Effect, out.Error = RefreshRunning, "", ""
	out.Statements, out.Before, out.After, out.Plans, out.Proof = nil, nil, nil, nil, nil
	out.StartedAt, out.EndedAt, out.NotBefore, out.Analyzed = time.Time{}, time.Time{}, time.Time{}, 0
	log := r.log.With().Int64("refresh", job.ID).Str("upstream", job.Upstream).Str("table", job.Table).Logger()
	defer func() {
		if p := recover(); p != nil {
			log.Error().Interface("panic", p).Bytes("stack", debug.Stack()).Msg("refresh panicked")
			out.State, out.Effect, out.Error = RefreshFailed, EffectFailed, fmt.Sprintf("internal error: %v", p)
		}
		out.EndedAt = r.cfg.Now()
		log.Info().Str("state", string(out.State)).Str("effect", string(out.Effect)).Str("error", out.Error).Msg("refresh ended")
	}()

	release, err := r.turn(ctx, job.Upstream)
	if err == nil {
		defer release()
		err = r.run(ctx, &out)
	}
	var canceled *Canceled
	var back *putBack
	switch {
	case err == nil:
		out.State = RefreshDone
	case errors.As(context.Cause(ctx), &canceled):
		out.State, out.Error = RefreshCanceled, canceled.Error()
		if len(out.Statements) > 0 {
			out.Error += " (canceled in Hive)"
		}
	case errors.As(err, &canceled):
		out.State, out.Error = RefreshCanceled, canceled.Error()
	case errors.As(err, &back) && ctx.Err() == nil:
		out.State, out.NotBefore, out.Error = RefreshRequested, back.until, back.why
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		out.State, out.Effect, out.Error = RefreshFailed, EffectFailed, errTooLong.Error()
	case ctx.Err() != nil:
		out.State, out.Error = RefreshRequested, ErrInterrupted.Error()
	default:
		out.State, out.Effect, out.Error = RefreshFailed, EffectFailed, words(err)
	}
	return out
}

// turn waits until the upstream has room for another refresh.
func (r *Runner) turn(ctx context.Context, upstream string) (release func(), err error) {
	r.mu.Lock()
	turn, ok := r.mu.turns[upstream]
	if !ok {
		turn = make(chan struct{}, r.cfg.Concurrency)
		r.mu.turns[upstream] = turn
	}
	r.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (r *Runner) run(ctx context.Context, job *Refresh) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	table, err := hiveql.ParseTableName(job.Table)
	if err != nil {
		return err
	}
	if table.Database == "" {
		return fmt.Errorf("table %q names no database", job.Table)
	}
	if !job.NotAfter.IsZero() && !r.cfg.Now().Before(job.NotAfter) {
		return fmt.Errorf("not started: the schedule's window ended at %s", job.NotAfter.UTC().Format(time.RFC3339))
	}
	if err := r.obey(ctx, job); err != nil {
		return err
	}
	columns, err := r.columns(ctx, *job)
	if err != nil {
		return err
	}
	session, err := r.open(ctx, *job)
	if err != nil {
		return err
	}
	defer func() {
		if err := session.Close(); err != nil {
			r.log.Warn().Err(err).Str("upstream", job.Upstream).Msg("closing the refresh session failed")
		}
	}()

	job.StartedAt = r.cfg.Now() // an upstream that is down is no failure of the table
	before, err := r.read(ctx, session, table, columns)
	if err != nil {
		return err
	}
	job.Before = &before
	if before.Kind == kindView {
		return r.delegate(ctx, session, table, job)
	}
	if why := Refusal(before); why != "" {
		return errors.New(why)
	}
	if err := r.adapt(ctx, session, table, before, job); err != nil {
		return err
	}
	if err := r.awaitWriters(ctx, session, table, job); err != nil {
		return err
	}
	if job.Mode == ModeColumns {
		columns = AnalyzableColumns(before, columns)
		job.Columns = columns
	} else {
		columns = nil
	}
	r.progress(ctx, *job, "explains the affected queries before")
	plansBefore := r.plansBefore(ctx, *job)
	partitionsBefore, gone := r.foretell(ctx, session, table, job, plansBefore)
	if err := leaveOut(job, gone); err != nil {
		return err
	}
	if err := r.analyze(ctx, session, table, columns, job); err != nil {
		return err
	}
	after, err := r.read(ctx, session, table, before.ColumnsRead)
	if err != nil {
		return err
	}
	job.After = &after
	r.progress(ctx, *job, "explains the affected queries after")
	job.Plans = r.plansAfter(ctx, *job, plansBefore)
	r.prove(ctx, session, table, job, partitionsBefore)
	judged, err := r.judged(ctx, session, table, after, *job)
	if err != nil {
		return err
	}
	job.Effect = EffectOf(before, judged, columns, job.Plans)
	return nil
}

// judged is after with the accuracy flags of the partitions that were refreshed: the table's own speak of all partitions.
func (r *Runner) judged(ctx context.Context, session Session, table hiveql.TableName, after advisor.TableStats, job Refresh) (advisor.TableStats, error) {
	if len(job.Partitions) == 0 {
		return after, nil
	}
	after.BasicAccurate, after.ColumnsAccurate = true, job.Columns
	for _, name := range job.Partitions {
		ctx, cancel := context.WithTimeout(ctx, r.cfg.ReadTimeout)
		p, err := ReadPartition(ctx, session, table, name, nil)
		cancel()
		if err != nil {
			return after, err
		}
		after.BasicAccurate = after.BasicAccurate && p.BasicAccurate
		after.ColumnsAccurate = intersection(after.ColumnsAccurate, p.ColumnsAccurate)
	}
	return after, nil
}

func intersection(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}

func (r *Runner) columns(ctx context.Context, job Refresh) ([]string, error) {
	if !slices.Contains(modes, job.Mode) {
		return nil, fmt.Errorf("mode %q is none of %s, %s and %s", job.Mode, ModeNoScan, ModeBasic, ModeColumns)
	}
	if len(job.Columns) > 0 || r.cfg.NeededColumns == nil {
		return job.Columns, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.cfg.ReadTimeout)
	defer cancel()
	columns, err := r.cfg.NeededColumns(ctx, job.Upstream, job.Table)
	if err != nil {
		return nil, fmt.Errorf("find the columns that queries use: %w", err)
	}
	return columns, nil
}

func (r *Runner) open(ctx context.Context, job Refresh) (Session, error) {
	opening, cancel := context.WithTimeout(ctx, r.cfg.ReadTimeout)
	defer cancel()
	session, err := r.sessions.OpenSession(opening, job)
	if err == nil {
		return session, nil
	}
	err = fmt.Errorf("open a session on %s: %w", job.Upstream, err)
	if refused := (*client.Error)(nil); errors.As(err, &refused) || ctx.Err() != nil || job.PutBacks >= r.cfg.Retries {
		return nil, err
	}
	return nil, &putBack{until: r.cfg.Now().Add(r.pause(job.PutBacks)), why: "put back: " + err.Error()}
}

// obey applies the table's policy.
func (r *Runner) obey(ctx context.Context, job *Refresh) error {
	if r.cfg.Policy == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.cfg.ReadTimeout)
	defer cancel()
	policy, err := r.cfg.Policy(ctx, job.Upstream, job.Table)
	if err != nil {
		return fmt.Errorf("read the table's policy: %w", err)
	}
	if why := policy.Bars(""); why != "" {
		return errors.New(why)
	}
	if len(job.Columns) == 0 && job.Mode == ModeColumns {
		job.Columns = policy.Columns
	}
	if len(job.Partitions) == 0 {
		job.Partitions = policy.Partitions
	}
	return nil
}

// adapt makes the request fit the table, and notes in its scope what was changed.
func (r *Runner) adapt(ctx context.Context, session Session, table hiveql.TableName, before advisor.TableStats, job *Refresh) error {
	mode, partitions, note, refusal := fit(before, job.Mode, job.Partitions)
	if refusal != "" {
		return errors.New(refusal)
	}
	look, cancel := context.WithTimeout(ctx, r.cfg.ReadTimeout)
	defer cancel()
	partitions, err := expandPartitions(look, session, table, partitions)
	if err != nil {
		return err
	}
	job.Mode, job.Partitions = mode, partitions
	if note != "" && !strings.Contains(job.Scope, note) {
		job.Scope = strings.TrimPrefix(job.Scope+"; "+note, "; ")
	}
	return nil
}

// progressTimeout bounds what telling of the progress may take.
const progressTimeout = 5 * time.Second

func (r *Runner) progress(ctx context.Context, job Refresh, doing string) {
	r.step(ctx, job, len(job.Statements), len(job.Statements), doing)
}

func (r *Runner) step(ctx context.Context, job Refresh, step, steps int, doing string) {
	if r.cfg.Progress == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, progressTimeout)
	defer cancel()
	r.cfg.Progress(ctx, job.ID, step, steps, doing)
}

func (r *Runner) read(ctx context.Context, session Session, table hiveql.TableName, columns []string) (advisor.TableStats, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.DescribeTimeout)
	defer cancel()
	return ReadTable(ctx, session, table, columns)
}

// analyze runs the statements within the timeout, the window and the window's budget. Those that were sent are in job.Statements.
// Between two batches of partitions it looks at the locks again.
func (r *Runner) analyze(ctx context.Context, session Session, table hiveql.TableName, columns []string, job *Refresh) error {
	statements, err := statementsFor(ctx, session, table, *job, columns)
	if err != nil {
		return err
	}
	limit, cause := r.limit(*job)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, cause)
	defer cancel()
	batch := MaxPartitions * len(statements) / max(len(job.Partitions), 1)
	for i, sql := range statements {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if i > 0 && i%max(batch, 1) == 0 {
			if err := r.awaitWriters(ctx, session, table, job); err != nil {
				return err
			}
		}
		job.Statements = append(job.Statements, sql)
		r.step(ctx, *job, i+1, len(statements), sql)
		began := r.cfg.Now()
		_, err := session.Query(ctx, sql)
		job.Analyzed += r.cfg.Now().Sub(began)
		if err != nil {
			if ended := context.Cause(ctx); ended != nil {
				return fmt.Errorf("%w: %w", ended, err)
			}
			return goneOr(err)
		}
	}
	return nil
}

// limit is how long ANALYZE may take, and why no longer.
func (r *Runner) limit(job Refresh) (limit time.Duration, cause error) {
	limit, cause = r.cfg.Timeout, errTimeout
	if job.Budget > 0 && job.BudgetLeft < limit {
		limit, cause = job.BudgetLeft, errBudgetOver
	}
	if !job.NotAfter.IsZero() {
		if left := job.NotAfter.Sub(r.cfg.Now()); left < limit {
			limit, cause = left, errWindowOver
		}
	}
	return limit, cause
}

// words are Hive's own where it spoke, beside our reason for a cancellation.
func words(err error) string {
	for _, cause := range []error{errWindowOver, errTimeout, errBudgetOver} {
		if errors.Is(err, cause) {
			return cause.Error()
		}
	}
	var refused *client.Error
	if errors.As(err, &refused) && refused.Message != "" {
		return refused.Message
	}
	return err.Error()
}
