package app

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

const (
	// drainEvery is how often a drain tells who it waits for.
	drainEvery = 5 * time.Second
	// drainLines bounds a report, a line for each connection.
	drainLines = 20
	// drainText is how much of a statement is read for its kind and fingerprint, in bytes.
	drainText = 64 << 10
)

// relayed is the part of an intercept.Server that a drain report reads.
type relayed interface {
	Connections() []intercept.ConnectionInfo
	Sessions() []intercept.LiveSession
}

// blocker is a connection that keeps a drain from ending, with the session it opened and what runs there, the oldest statement of
// several; Statement is nil for a connection that only idles.
type blocker struct {
	connection intercept.ConnectionInfo
	session    *intercept.Session
	statement  *intercept.Statement
	running    int
}

// blockers are all of them: those with a statement first, the oldest statement in front, then those with calls that wait for a
// reply, then the idle ones.
func blockers(r relayed) []blocker {
	connections := r.Connections()
	if len(connections) == 0 {
		return nil
	}
	sessions := map[int64][]intercept.LiveSession{}
	for _, l := range r.Sessions() {
		if l.Connection != nil {
			sessions[l.Connection.ID] = append(sessions[l.Connection.ID], l)
		}
	}
	out := make([]blocker, 0, len(connections))
	for _, c := range connections {
		b := blocker{connection: c}
		for _, l := range sessions[c.ID] {
			if b.session == nil {
				b.session = &l.Session
			}
			for i := range l.Running {
				st := &l.Running[i]
				if b.running++; b.statement == nil || st.StartedAt.Before(b.statement.StartedAt) {
					b.session, b.statement = &l.Session, st
				}
			}
		}
		out = append(out, b)
	}
	slices.SortFunc(out, func(a, b blocker) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), a.since().Compare(b.since()), cmp.Compare(a.connection.ID, b.connection.ID))
	})
	return out
}

func (b blocker) rank() int {
	switch {
	case b.statement != nil:
		return 0
	case b.connection.Waiting > 0:
		return 1
	default:
		return 2
	}
}

// since is when the statement started, or the connection was opened.
func (b blocker) since() time.Time {
	if b.statement != nil {
		return b.statement.StartedAt
	}
	return b.connection.OpenedAt
}

// log is a line without any SQL.
func (b blocker) log(log zerolog.Logger, now time.Time) {
	e := log.Info().Int64("connection", b.connection.ID).Str("client", b.connection.ClientAddr).Int("waiting_calls", b.connection.Waiting)
	if b.session != nil {
		e = e.Str("session", b.session.Handle.ID()).Str("user", b.session.User)
	}
	if b.statement != nil {
		kind, fingerprint := described(b.statement)
		e = e.Str("kind", kind).Str("operation", b.statement.OperationID).Int("statements", b.running)
		if fingerprint != "" {
			e = e.Str("fingerprint", fingerprint)
		}
	}
	e.Time("since", b.since()).Dur("for", now.Sub(b.since()).Truncate(time.Second)).Msg("drain waits for a connection")
}

// described is the kind of a statement and, where the text is short enough to be read now, its fingerprint.
func described(st *intercept.Statement) (kind, fingerprint string) {
	kind = string(st.Info.Kind)
	if len(st.SQL) > drainText || st.Truncated {
		return kind, st.Info.Fingerprint
	}
	defer func() { _ = recover() }() // a text that the lexer trips over keeps nobody from stopping
	info := hiveql.Parse(st.SQL)
	return string(info.Kind), info.Fingerprint
}

// reportDrain logs at once, and then again and again until the returned function is called, who keeps a drain from ending. ctx is
// the drain's: at its end connections are cut.
func (a *App) reportDrain(ctx context.Context) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	tick := time.NewTicker(drainEvery)
	go func() {
		defer close(ended)
		defer tick.Stop()
		reportDrain(ctx, a.server, a.log, tick.C, done, time.Now)
	}()
	return func() {
		close(done)
		<-ended
	}
}

func reportDrain(ctx context.Context, r relayed, log zerolog.Logger, tick <-chan time.Time, done <-chan struct{}, now func() time.Time) {
	for {
		all := blockers(r)
		if len(all) > 0 {
			reportBlockers(ctx, all, log, now())
		}
		select {
		case <-tick:
		case <-done:
			return
		case <-ctx.Done():
			return
		}
	}
}

func reportBlockers(ctx context.Context, all []blocker, log zerolog.Logger, now time.Time) {
	statements, idle := 0, 0
	for _, b := range all {
		statements += b.running
		if b.rank() == 2 {
			idle++
		}
	}
	e := log.Info().Int("connections", len(all)).Int("statements", statements).Int("idle", idle)
	if end, ok := ctx.Deadline(); ok {
		e = e.Dur("cut_in", max(0, end.Sub(now)).Truncate(time.Second))
	}
	e.Msg("drain waits for connections to end")
	for _, b := range all[:min(len(all), drainLines)] {
		b.log(log, now)
	}
	if more := len(all) - drainLines; more > 0 {
		log.Info().Int("connections", more).Msg("drain waits for further connections")
	}
}
