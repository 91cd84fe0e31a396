package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

const hiveVersion = `SELECT coalesce(hive_version, '') FROM hs2proxy.upstreams WHERE name = @upstream`

// HiveVersion is what the upstream's server said last that it is; "" when nobody asked yet.
func (s *Store) HiveVersion(ctx context.Context, upstream string) (version string, err error) {
	err = s.do(ctx, "read a server's version", func(ctx context.Context) error {
		version = ""
		err := s.pool.QueryRow(ctx, hiveVersion, pgx.NamedArgs{"upstream": text(upstream)}).Scan(&version)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return version, err
}
