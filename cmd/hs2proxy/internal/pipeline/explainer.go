package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// ExplainConfig bounds what explaining may cost HiveServer2.
type ExplainConfig struct {
	Login           Login
	Timeout         time.Duration
	Concurrency     int
	Rate            float64 // a second
	BreakerFailures uint32
	BreakerPause    time.Duration
	Witness         bool
	// Observe is told how long each EXPLAIN took that was sent, whatever came back; may be nil.
	Observe func(took time.Duration)
}

// Explainer sends EXPLAIN EXTENDED and reads what comes back. It is safe for concurrent use.
//
// Hive's own refusals (an unknown table, say) are answers, not failures: only transport errors and time-outs open the breaker.
type Explainer struct {
	cfg     ExplainConfig
	log     zerolog.Logger
	limiter *rate.Limiter
	slots   chan struct{}

	mu struct {
		sync.Mutex
		// lines are by server; none goes away: servers are few.
		lines map[string]*line
		// forbidden are the overlay keys that this server refuses: it only ever grows.
		forbidden map[string]bool
	}
}

// Target says in which session to explain.
type Target struct {
	// Server is the ID of the HiveServer2 that has the session; empty for any.
	Server string
	// Session is the client's own; nil explains in a mirror session at once.
	Session *client.Handle
	// Configuration, Settings and Database rebuild the session where it cannot be used.
	Configuration map[string]string
	Settings      map[string]string
	Database      string
	// ConfOverlay was sent with the statement.
	ConfOverlay map[string]string
	// form of EXPLAIN, EXTENDED by default.
	form form
}

// Explained is the text of a plan and the planner's own lines.
type Explained struct {
	Text string
	// Log holds the planner's lines where the server gives them.
	Log []string
	// Mirrored: explained in a session of our own with the client's settings replayed.
	Mirrored bool
	At       time.Time
	Took     time.Duration
}

// ErrBusy: the rate, the concurrency or the open breaker leaves no room for this EXPLAIN.
var ErrBusy = errors.New("explain: no room")

// NewExplainer returns an Explainer. It dials nothing yet.
func NewExplainer(cfg ExplainConfig, log zerolog.Logger) *Explainer {
	e := &Explainer{
		cfg: cfg, log: log,
		limiter: rate.NewLimiter(rate.Limit(cfg.Rate), cfg.Concurrency),
		slots:   make(chan struct{}, cfg.Concurrency),
	}
	e.mu.lines = map[string]*line{}
	e.mu.forbidden = map[string]bool{}
	return e
}

// Explain explains sql (one statement, no EXPLAIN in front) in the target's session, else in a mirror of it.
// A *client.Error is Hive's refusal of the statement; ErrBusy means try later; anything else is a transport failure.
func (e *Explainer) Explain(ctx context.Context, t Target, sql string) (Explained, error) {
	if err := e.limiter.Wait(ctx); err != nil {
		return Explained{}, fmt.Errorf("%w: %w", ErrBusy, err)
	}
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return Explained{}, fmt.Errorf("%w: %w", ErrBusy, ctx.Err())
	}
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
	defer cancel()

	start := time.Now()
	out := Explained{At: start}
	statement := t.form.of(sql)
	line := e.line(t.Server)
	var res client.Result
	err := errNoSession
	if t.Session != nil {
		res, err = line.protected(ctx, func(c *client.Conn) (client.Result, error) {
			return e.explainIn(ctx, c, *t.Session, t, statement)
		})
	}
	if sessionGone(err) {
		out.Mirrored = true
		res, err = line.protected(ctx, func(c *client.Conn) (client.Result, error) {
			return e.explainMirrored(ctx, c, t, statement)
		})
	}
	out.Took = time.Since(start)
	if e.cfg.Observe != nil && !errors.Is(err, ErrBusy) {
		e.cfg.Observe(out.Took)
	}
	if err != nil {
		return out, fmt.Errorf("explain: %w", err)
	}
	out.Text, out.Log = planText(res), res.Log
	return out, nil
}

var errNoSession = errors.New("no session")

// goneWords are HiveServer2's for a session that is gone, or that went away under our operation: only the end of its session
// closes an operation of ours. It has no code for them (SessionManager and OperationManager throw with code 0).
var goneWords = []string{
	"Invalid SessionHandle", "Invalid OperationHandle", "the operation ended in state CANCELED", "the operation ended in state CLOSED",
}

// sessionGone: the client's session cannot be used, so a mirror may answer.
func sessionGone(err error) bool {
	if errors.Is(err, errNoSession) {
		return true
	}
	refused, ok := refusal(err)
	return ok && slices.ContainsFunc(goneWords, func(words string) bool { return strings.Contains(refused.Message, words) })
}

// planText joins the rows of an EXPLAIN: one column, a line a row.
func planText(res client.Result) string {
	lines := make([]string, 0, len(res.Rows))
	for _, row := range res.Rows {
		if len(row) > 0 && row[0] != nil {
			lines = append(lines, *row[0])
		}
	}
	return strings.Join(lines, "\n")
}

// settingsKey is a stable text of a map, for keys and comparisons.
func settingsKey(m map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b.WriteString(k)
		b.WriteByte('=')
		b.WriteString(m[k])
		b.WriteByte('\n')
	}
	return b.String()
}
