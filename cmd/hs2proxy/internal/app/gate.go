package app

import (
	"context"
	"fmt"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/store"
)

// gate holds records back until the schema is there.
type gate struct {
	to    pipeline.Records
	ready <-chan struct{}
}

func (g gate) wait(ctx context.Context) error {
	select {
	case <-g.ready:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: the schema is not there yet", store.ErrUnavailable)
	}
}

// RecordStatement implements pipeline.Records.
func (g gate) RecordStatement(ctx context.Context, o store.Observation) error {
	if err := g.wait(ctx); err != nil {
		return err
	}
	return g.to.RecordStatement(ctx, o)
}

// UpsertSession implements pipeline.Records.
func (g gate) UpsertSession(ctx context.Context, s intercept.Session) error {
	if err := g.wait(ctx); err != nil {
		return err
	}
	return g.to.UpsertSession(ctx, s)
}

// RecordActuals implements pipeline.Records.
func (g gate) RecordActuals(ctx context.Context, a store.Actuals) error {
	if err := g.wait(ctx); err != nil {
		return err
	}
	return g.to.RecordActuals(ctx, a)
}

// CloseSession implements pipeline.Records.
func (g gate) CloseSession(ctx context.Context, s intercept.Session) error {
	if err := g.wait(ctx); err != nil {
		return err
	}
	return g.to.CloseSession(ctx, s)
}
