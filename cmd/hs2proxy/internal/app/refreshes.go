package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/admin"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

// adminRefreshes are the refreshes in the store, as the admin port asks for them.
type adminRefreshes struct {
	store    *store.Store
	upstream string
}

func adminError(err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("%w: %w", admin.ErrNoRefresh, err)
	case errors.Is(err, store.ErrData):
		return fmt.Errorf("%w: %w", admin.ErrBadRequest, err)
	}
	return err
}

// Request files a refresh on this proxy's upstream.
func (a adminRefreshes) Request(ctx context.Context, r admin.RefreshRequest) (id int64, created bool, err error) {
	mode := statscheck.Mode(strings.ToUpper(r.Mode))
	if mode == "" {
		mode = statscheck.ModeColumns
	}
	if r.Reason == "" {
		r.Reason = "asked for on the admin port"
	}
	id, created, err = a.store.RequestRefresh(ctx, store.RefreshRequest{
		Upstream: a.upstream, Table: r.Table, Mode: mode, Columns: r.Columns, Partitions: r.Partitions, Priority: r.Priority,
		Reason: r.Reason, RequestedBy: r.By,
	})
	return id, created, adminError(err)
}

// Cancel cancels a refresh.
func (a adminRefreshes) Cancel(ctx context.Context, id int64, by, reason string) (string, error) {
	state, err := a.store.CancelRefresh(ctx, id, by, reason)
	return string(state), adminError(err)
}

// Get is one refresh with its progress.
func (a adminRefreshes) Get(ctx context.Context, id int64) (admin.Refresh, error) {
	r, err := a.store.Refresh(ctx, id)
	if err != nil {
		return admin.Refresh{}, adminError(err)
	}
	return a.shown(ctx, *r)
}

// Open are those that wait or run, the oldest first.
func (a adminRefreshes) Open(ctx context.Context) ([]admin.Refresh, error) {
	open, err := a.store.Refreshes(ctx, store.RefreshFilter{States: []statscheck.RefreshState{statscheck.RefreshRequested, statscheck.RefreshRunning}})
	if err != nil {
		return nil, adminError(err)
	}
	out := make([]admin.Refresh, 0, len(open))
	for i := len(open) - 1; i >= 0; i-- {
		one, err := a.shown(ctx, open[i])
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

func (a adminRefreshes) shown(ctx context.Context, r statscheck.Refresh) (admin.Refresh, error) {
	out := admin.Refresh{
		ID: r.ID, Upstream: r.Upstream, Table: r.Table, Mode: string(r.Mode), Columns: r.Columns, Partitions: r.Partitions, Scope: r.Scope,
		State: string(r.State), Effect: string(r.Effect), Error: r.Error, Attempts: r.Attempt, Reason: r.Reason,
		RequestedBy: r.RequestedBy, RequestedAt: r.RequestedAt, StartedAt: timeOrNil(r.StartedAt), EndedAt: timeOrNil(r.EndedAt),
	}
	if r.State != statscheck.RefreshRequested && r.State != statscheck.RefreshRunning {
		return out, nil
	}
	p, err := a.store.RefreshProgress(ctx, r.ID)
	if errors.Is(err, store.ErrNotFound) { // it has ended since
		return out, nil
	}
	out.Step, out.Steps, out.Doing, out.WaitsFor, out.Place = p.Step, p.Steps, p.Doing, p.WaitsFor, p.Place
	return out, adminError(err)
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
