package admin

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/upstream"
	"github.com/hs2proxy/hs2proxy/thrift"
)

// Session is a live session as /sessions lists it.
type Session struct {
	// ID is the GUID of the handle, as Hive's log prints it.
	ID            string `json:"id"`
	User          string `json:"user"`
	ClientAddress string `json:"client_address"`
	ClientName    string `json:"client_name,omitempty"`
	// Transport is binary or http; Auth what was seen on it, such as "SASL PLAIN" or "HTTP BASIC".
	Transport string `json:"transport"`
	Auth      string `json:"auth"`
	Upstream  string `json:"upstream"`
	// Server is the HiveServer2 that has the session.
	Server   string    `json:"server"`
	Database string    `json:"database"`
	OpenedAt time.Time `json:"opened_at"`
	// Statement is the one started last of those running, nil when none is; Running is how many are.
	Statement *Statement `json:"statement"`
	Running   int        `json:"running"`
	// Connection is the one that opened the session and ends it, nil when it is not known or there is none: a session over HTTP
	// lives without. SharedWith are the other sessions it opened, which end with it when this one is killed.
	Connection *Connection `json:"connection"`
	SharedWith []string    `json:"shared_with,omitempty"`
}

// Statement is a running statement. Text has ? for every literal, and is cut after maxText bytes.
type Statement struct {
	ID          string    `json:"id"`
	OperationID string    `json:"operation_id,omitempty"`
	Kind        string    `json:"kind"`
	State       string    `json:"state"`
	Since       time.Time `json:"since"`
	Text        string    `json:"text"`
}

// Connection is a client's connection. Bytes are payload, both ways.
type Connection struct {
	ID              int64     `json:"id"`
	OpenedAt        time.Time `json:"opened_at"`
	BytesFromClient int64     `json:"bytes_from_client"`
	BytesToClient   int64     `json:"bytes_to_client"`
	WaitingCalls    int       `json:"waiting_calls"`
	// Blind is why the connection is not observed any more, empty while it is.
	Blind string `json:"blind,omitempty"`
}

// Killed is the answer to a kill: how the session was ended, by one of two ways or by both.
type Killed struct {
	Session       string `json:"session"`
	Server        string `json:"server"`
	ClientAddress string `json:"client_address"`
	// Connection was cut, and HiveServer2 ends the session with it; 0: none was.
	Connection int64 `json:"connection,omitempty"`
	// Closed by its handle, on a connection of the proxy's own: no connection ends the session, or none that is known.
	Closed bool `json:"closed"`
	// AlsoEnded are the other sessions that the connection had opened.
	AlsoEnded []string `json:"also_ended,omitempty"`
}

// maxText bounds a statement's text in the list, in bytes.
const maxText = 2 << 10

// sessions answers /sessions and kills.
type sessions struct {
	relay  Relay
	end    func(ctx context.Context, id string) (Killed, error)
	redact func(string) string
	log    zerolog.Logger
}

// list answers with every live session, the oldest first.
func (s *sessions) list(w http.ResponseWriter, _ *http.Request) {
	live := s.relay.Sessions()
	all := make([]Session, 0, len(live))
	for _, l := range live {
		listed := sessionOf(l)
		if s.redact != nil {
			listed.ClientName = s.redact(listed.ClientName)
			if listed.Statement != nil {
				listed.Statement.Text = s.redact(listed.Statement.Text)
			}
		}
		if listed.Statement != nil {
			listed.Statement.Text = cut(listed.Statement.Text, maxText)
		}
		all = append(all, listed)
	}
	slices.SortStableFunc(all, func(a, b Session) int { return a.OpenedAt.Compare(b.OpenedAt) })
	writeJSON(w, http.StatusOK, all)
}

// kill ends a session.
func (s *sessions) kill(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	killed, err := s.end(r.Context(), id)
	switch {
	case errors.Is(err, intercept.ErrNoSession):
		writeError(w, http.StatusNotFound, err.Error())
		return
	case err != nil: // HiveServer2's own, or no way to it
		s.log.Warn().Str("session", id).Str("asked_by", r.RemoteAddr).Err(err).Msg("session could not be killed")
		writeError(w, http.StatusBadGateway, err.Error())
		return
	}
	s.log.Warn().Str("session", id).Str("server", killed.Server).Str("client", killed.ClientAddress).
		Int64("connection", killed.Connection).Bool("closed", killed.Closed).
		Strs("also_ended", killed.AlsoEnded).Str("asked_by", r.RemoteAddr).Msg("session killed by an operator")
	writeJSON(w, http.StatusOK, killed)
}

func sessionOf(l intercept.LiveSession) Session {
	s := Session{
		ID: l.Session.Handle.ID(), User: l.Session.User, ClientAddress: l.Session.ClientAddr, ClientName: l.Session.ClientName,
		Transport: transportOf(l.Session.Auth), Auth: l.Session.Auth, Upstream: l.Session.Upstream, Server: l.Session.Server, Database: l.Session.Database, OpenedAt: l.Session.OpenedAt,
		Running: len(l.Running), SharedWith: l.SharedWith,
	}
	if n := len(l.Running); n > 0 {
		st := l.Running[n-1]
		s.Statement = &Statement{
			ID: st.ID, OperationID: st.OperationID, Kind: string(st.Info.Kind), State: string(st.State), Since: st.StartedAt,
			Text: st.Info.Normalized,
		}
	}
	if c := l.Connection; c != nil {
		s.Connection = &Connection{
			ID: c.ID, OpenedAt: c.OpenedAt, BytesFromClient: c.BytesFromClient, BytesToClient: c.FromServer, WaitingCalls: c.Waiting,
		}
		if c.Blind != thrift.NotBlind {
			s.Connection.Blind = c.Blind.String()
		}
	}
	return s
}

// transportOf reads the transport from Session.Auth, in hive.server2.transport.mode's words.
func transportOf(auth string) string {
	if strings.HasPrefix(auth, "HTTP") {
		return upstream.HTTP.String()
	}
	return upstream.Binary.String()
}

// cut is at most n bytes of text, an ellipsis behind them where there was more.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
