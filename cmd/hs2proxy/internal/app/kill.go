package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/admin"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// killTimeout bounds HiveServer2's answer to a CloseSession of ours; it is less than an operator's command line waits.
const killTimeout = 8 * time.Second

// killer ends sessions for an operator.
type killer struct {
	relay interface {
		Sessions() []intercept.LiveSession
		KillSession(id string) (intercept.Killed, error)
		// SessionEnded: the relay does not see our own connections.
		SessionEnded(id string) bool
	}
	// end closes a session by its handle, on a connection of our own.
	end func(ctx context.Context, server string, session client.Handle) error
	// outlive: HiveServer2 keeps sessions when their connection ends, so that to cut it is not enough.
	outlive bool
}

func (a *App) killer() *killer {
	return &killer{relay: a.server, end: a.explainer.End, outlive: a.cfg.Upstream.KeepSessions}
}

// kill cuts the connection that the session ends with. Where there is none, or it would not end the session, HiveServer2 is asked to
// close the session.
func (k *killer) kill(ctx context.Context, id string) (admin.Killed, error) {
	session, ok := k.find(id)
	if !ok {
		return admin.Killed{}, intercept.ErrNoSession
	}
	out := admin.Killed{Session: id, Server: session.Server, ClientAddress: session.ClientAddr}
	cut, err := k.relay.KillSession(id)
	switch {
	case err == nil:
		out.Connection, out.ClientAddress = cut.Connection.ID, cut.Connection.ClientAddr
		if !k.outlive && !overHTTP(session) {
			out.AlsoEnded = cut.AlsoEnded
			return out, nil
		}
	case !errors.Is(err, intercept.ErrNoConnection):
		return admin.Killed{}, err
	}
	err = k.closeIt(ctx, session)
	switch {
	case err == nil:
		out.Closed = true
		return out, nil
	case out.Connection == 0:
		return admin.Killed{}, err
	case errors.Is(err, intercept.ErrNoSession): // the cut has ended it
		return out, nil
	default:
		return admin.Killed{}, fmt.Errorf("connection %d of %s is cut, but HiveServer2 keeps the session: %w", out.Connection, out.ClientAddress, err)
	}
}

// overHTTP: the session may have a connection that was seen using it, but none that it ends with.
func overHTTP(s intercept.Session) bool { return strings.HasPrefix(s.Auth, "HTTP") }

func (k *killer) find(id string) (intercept.Session, bool) {
	for _, l := range k.relay.Sessions() {
		if l.Session.Handle.ID() == id {
			return l.Session, true
		}
	}
	return intercept.Session{}, false
}

func (k *killer) closeIt(ctx context.Context, s intercept.Session) error {
	ctx, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	err := k.end(ctx, s.Server, client.Handle{GUID: s.Handle.GUID, Secret: s.Handle.Secret})
	var refused *client.Error
	switch {
	case err == nil:
		k.relay.SessionEnded(s.Handle.ID())
		return nil
	case errors.As(err, &refused) && gone(refused):
		k.relay.SessionEnded(s.Handle.ID())
		return fmt.Errorf("%w: HiveServer2 %s has closed it already (%s)", intercept.ErrNoSession, s.Server, refused.Message)
	case errors.As(err, &refused):
		return fmt.Errorf("HiveServer2 %s refuses to close it: %w", s.Server, err)
	default:
		return fmt.Errorf("HiveServer2 %s, asked on a connection of our own (service.…): %w", s.Server, err)
	}
}

// gone reports whether HiveServer2 does not know the session: SessionManager.closeSession and getSession have no code for it.
func gone(e *client.Error) bool {
	return strings.Contains(e.Message, "Session does not exist") || strings.Contains(e.Message, "Invalid SessionHandle")
}
