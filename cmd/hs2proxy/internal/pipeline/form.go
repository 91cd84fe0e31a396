package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// form is a kind of EXPLAIN.
type form uint8

const (
	// formExtended is what every verdict rests on.
	formExtended form = iota
	// formUser is the user-level text: it alone prints operators' identifiers and surely shows the same plan (FORMATTED may plan
	// another one).
	formUser
	// formAnalyze runs the query and prints what its operators put out, as user-level text.
	formAnalyze
)

func (f form) of(sql string) string {
	sql = strings.TrimRight(strings.TrimSpace(sql), "; \t\r\n")
	switch f {
	case formUser:
		return "EXPLAIN " + sql
	case formAnalyze:
		return "EXPLAIN ANALYZE " + sql
	case formExtended:
	}
	return "EXPLAIN EXTENDED " + sql
}

// errNoCancel: EXPLAIN ANALYZE runs its query while HiveServer2 compiles, and without asynchronous compilation nobody could stop it.
var errNoCancel = errors.New("explain analyze: HiveServer2 refuses " + client.AsyncCompile + ", so the query could not be cancelled")

// ExplainAnalyze runs EXPLAIN ANALYZE of sql, for most at the longest, then it is cancelled. It executes the query: nobody but a person's
// configuration asks for it. It is sent in a mirror of the target's session, never in a client's own, and takes no room of EXPLAINs.
func (e *Explainer) ExplainAnalyze(ctx context.Context, t Target, sql string, most time.Duration) (Explained, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	l := e.line(t.Server)
	if l.breaker.State() == gobreaker.StateOpen {
		return Explained{}, ErrBusy
	}
	t.form, t.Session = formAnalyze, nil
	out := Explained{At: time.Now(), Mirrored: true}
	for {
		res, stale, err := l.pool.converse(ctx, func(c *client.Conn) (client.Result, error) {
			return e.explainMirrored(ctx, c, t, t.form.of(sql))
		})
		if stale {
			continue
		}
		out.Took = time.Since(out.At)
		if err != nil {
			return out, fmt.Errorf("explain analyze: %w", err)
		}
		out.Text = planText(res)
		return out, nil
	}
}
