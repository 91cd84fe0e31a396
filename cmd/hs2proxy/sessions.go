package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/admin"
)

type sessionsCmd struct {
	configFlags
	Kill    string        `help:"End the session with this id: cut the connection that opened it, or close it by its handle where no connection ends it." placeholder:"ID"`
	Format  string        `short:"f" enum:"table,json" default:"table" help:"table or json."`
	Timeout time.Duration `default:"10s" help:"How long the proxy may take to answer."`
}

// Run lists the live sessions of the proxy that runs with this configuration, or kills one.
func (c sessionsCmd) Run(ctx context.Context) error {
	cfg, err := c.load()
	if err != nil {
		return err
	}
	if cfg.Admin.Listen == "" {
		return errors.New("no admin port: set admin.listen in the configuration, or HS2PROXY_ADMIN__LISTEN")
	}
	client, err := admin.NewClient(cfg.Admin, c.Timeout)
	if err != nil {
		return err
	}
	if c.Kill != "" {
		killed, err := client.Kill(ctx, c.Kill)
		if err != nil {
			return fmt.Errorf("session %s: %w", c.Kill, err)
		}
		return printKilled(os.Stdout, killed, c.Format)
	}
	sessions, err := client.Sessions(ctx)
	if err != nil {
		return err
	}
	return printSessions(os.Stdout, sessions, c.Format, time.Now())
}

func printKilled(w io.Writer, k admin.Killed, format string) error {
	if format == "json" {
		return encode(w, k)
	}
	var did []string
	if k.Connection != 0 {
		did = append(did, fmt.Sprintf("connection %d of %s is cut", k.Connection, k.ClientAddress))
	}
	if k.Closed {
		did = append(did, fmt.Sprintf("HiveServer2 %s has closed it by its handle", k.Server))
	}
	_, err := fmt.Fprintf(w, "session %s killed: %s\n", k.Session, strings.Join(did, ", "))
	if err == nil && len(k.AlsoEnded) > 0 {
		_, err = fmt.Fprintf(w, "the connection was shared; these sessions ended with it: %s\n", strings.Join(k.AlsoEnded, ", "))
	}
	return err
}

func printSessions(w io.Writer, sessions []admin.Session, format string, now time.Time) error {
	if format == "json" {
		return encode(w, sessions)
	}
	if len(sessions) == 0 {
		_, err := fmt.Fprintln(w, "(no sessions)")
		return err
	}
	tw := table.NewWriter()
	tw.SetStyle(table.StyleLight)
	tw.Style().Format.Header = text.FormatDefault
	if f, ok := w.(*os.File); ok && terminal(f) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			tw.Style().Size.WidthMax = width
		}
	}
	tw.AppendHeader(table.Row{"session", "user", "client", "auth", "server", "database", "open for", "state", "for", "sent", "received", "statement"})
	tw.SetColumnConfigs([]table.ColumnConfig{{Number: 12, WidthMax: 60, WidthMaxEnforcer: text.Trim}})
	for _, s := range sessions {
		tw.AppendRow(sessionRow(s, now))
	}
	_, err := fmt.Fprintln(w, tw.Render())
	return err
}

// sessionRow is one line; sent and received are the client's, and not known of a session that has no connection. Auth names the
// transport too.
func sessionRow(s admin.Session, now time.Time) table.Row {
	client := s.ClientAddress
	if n := len(s.SharedWith); n > 0 {
		client += fmt.Sprintf(" (shared with %d)", n)
	}
	state, since, statement := "idle", "", ""
	if st := s.Statement; st != nil {
		state, since = strings.ToLower(st.State), elapsed(now, st.Since)
		statement = st.Text
		if statement == "" {
			statement = st.Kind
		}
		if s.Running > 1 {
			state += fmt.Sprintf(" (%d)", s.Running)
		}
	}
	sent, received := "", ""
	if s.Connection != nil {
		sent, received = size(s.Connection.BytesFromClient), size(s.Connection.BytesToClient)
	}
	return table.Row{s.ID, s.User, client, s.Auth, s.Server, s.Database, elapsed(now, s.OpenedAt), state, since, sent, received, statement}
}

// elapsed is in whole seconds; clocks of two machines may differ.
func elapsed(now, since time.Time) string {
	return max(0, now.Sub(since)).Truncate(time.Second).String()
}

// size is a number of bytes in the unit a person would use.
func size(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, suffix := float64(n)/unit, "KiB"
	for _, next := range []string{"MiB", "GiB", "TiB"} {
		if value < unit {
			break
		}
		value, suffix = value/unit, next
	}
	return fmt.Sprintf("%.1f %s", value, suffix)
}

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
