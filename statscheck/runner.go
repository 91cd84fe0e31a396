package statscheck

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
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
	OpenSession(ctx context.Context, upstream string) (Session, error)
}

// RunnerConfig bounds a Runner.
type RunnerConfig struct {
	// Timeout ends an ANALYZE, in Hive too.
	Timeout time.Duration
	// ReadTimeout ends each reading of the statistics, and the opening of the session.
	ReadTimeout time.Duration
	// ReplanTimeout ends each explaining of the affected queries.
	ReplanTimeout time.Duration
	// NeededColumns names the columns of a ModeColumns refresh that names none: those that joins, filters and groupings
	// use. Optional.
	NeededColumns func(ctx context.Context, upstream, table string) ([]string, error)
	// Predicted puts job.Proof on record before the ANALYZE begins. Optional; what it does not take is not graded.
	Predicted func(ctx context.Context, job Refresh) error
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// Runner runs refreshes, one at a time per upstream. It is safe for concurrent use.
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
)

// NewRunner returns a Runner. replan may be nil: then no query is explained. Durations of zero get 30 minutes for Timeout and
// 2 minutes for the others.
func NewRunner(cfg RunnerConfig, sessions Sessions, replan Replanner, log zerolog.Logger) *Runner {
	cfg.Timeout = orElse(cfg.Timeout, 30*time.Minute)
	cfg.ReadTimeout = orElse(cfg.ReadTimeout, 2*time.Minute)
	cfg.ReplanTimeout = orElse(cfg.ReplanTimeout, 2*time.Minute)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	r := &Runner{cfg: cfg, sessions: sessions, replan: replan, log: log}
	r.mu.turns = make(map[string]chan struct{})
	return r
}

// Run runs one refresh and returns it filled completely: DONE with its effect, or FAILED with Hive's words in Error. When ctx
// ends first it comes back as REQUESTED with the reason in Error: what was running is canceled in Hive, and somebody may run
// it again. Run waits for the upstream's turn, and never panics.
func (r *Runner) Run(ctx context.Context, job Refresh) (out Refresh) {
	out = job
	out.State, out.Effect, out.Error = RefreshRunning, "", ""
	out.Statements, out.Before, out.After, out.Plans, out.Proof = nil, nil, nil, nil, nil
	out.StartedAt, out.EndedAt = time.Time{}, time.Time{}
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
	switch {
	case err == nil:
		out.State = RefreshDone
	case ctx.Err() != nil:
		out.State, out.Error = RefreshRequested, ErrInterrupted.Error()
	default:
		out.State, out.Effect, out.Error = RefreshFailed, EffectFailed, words(err)
	}
	return out
}

// turn waits until no other refresh runs on the upstream.
func (r *Runner) turn(ctx context.Context, upstream string) (release func(), err error) {
	r.mu.Lock()
	turn, ok := r.mu.turns[upstream]
	if !ok {
		turn = make(chan struct{}, 1)
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
	columns, err := r.columns(ctx, *job)
	if err != nil {
		return err
	}
	session, err := r.open(ctx, job.Upstream)
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
	if why := Refusal(before); why != "" {
		return errors.New(why)
	}
	if job.Mode == ModeColumns {
		columns = AnalyzableColumns(before, columns)
		job.Columns = columns
	} else {
		columns = nil
	}
	plansBefore := r.plansBefore(ctx, *job)
	partitionsBefore := r.foretell(ctx, session, table, job, plansBefore)
	if err := r.analyze(ctx, session, table, columns, job); err != nil {
		return err
	}
	after, err := r.read(ctx, session, table, before.ColumnsRead)
	if err != nil {
		return err
	}
	job.After = &after
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
	if job.Mode != ModeBasic && job.Mode != ModeColumns {
		return nil, fmt.Errorf("mode %q is none of %s and %s", job.Mode, ModeBasic, ModeColumns)
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

func (r *Runner) open(ctx context.Context, upstream string) (Session, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.ReadTimeout)
	defer cancel()
	session, err := r.sessions.OpenSession(ctx, upstream)
	if err != nil {
		return nil, fmt.Errorf("open a session on %s: %w", upstream, err)
	}
	return session, nil
}

func (r *Runner) read(ctx context.Context, session Session, table hiveql.TableName, columns []string) (advisor.TableStats, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.ReadTimeout)
	defer cancel()
	return ReadTable(ctx, session, table, columns)
}

// analyze runs the statements within the timeout and the window. Those that were sent are in job.Statements.
func (r *Runner) analyze(ctx context.Context, session Session, table hiveql.TableName, columns []string, job *Refresh) error {
	statements, err := AnalyzeStatements(table, job.Partitions, columns)
	if err != nil {
		return err
	}
	limit, cause := r.cfg.Timeout, errTimeout
	if !job.NotAfter.IsZero() {
		if left := job.NotAfter.Sub(r.cfg.Now()); left < limit {
			limit, cause = left, errWindowOver
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, cause)
	defer cancel()
	for _, sql := range statements {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		job.Statements = append(job.Statements, sql)
		if _, err := session.Query(ctx, sql); err != nil {
			if ended := context.Cause(ctx); ended != nil {
				return fmt.Errorf("%w: %w", ended, err)
			}
			return goneOr(err)
		}
	}
	return nil
}

// words are Hive's own where it spoke, beside our reason for a cancellation.
func words(err error) string {
	for _, cause := range []error{errWindowOver, errTimeout} {
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
