package app

import (
	"context"
	"fmt"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
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

// Record implements pipeline.Records.
func (g gate) Record(ctx context.Context, records []pipeline.Record) (int, error) {
	if err := g.wait(ctx); err != nil {
		return 0, err
	}
	return g.to.Record(ctx, records)
}
