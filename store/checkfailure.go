package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// CheckFailure is why a table could not be checked.
type CheckFailure struct {
	Error string
	// At is when, and Again when it is tried again; Again is zero when that is left to the next query or write.
	At, Again time.Time
}

const checkFailed = `
UPDATE hs2proxy.tables SET check_failures = check_failures + 1, check_failed_at = @at, check_error = @error, check_again_at = @again
WHERE upstream_id = @upstream AND name = @name`

// SaveCheckFailure records a failed check of a table, until one succeeds. What was found before stays.
func (s *Store) SaveCheckFailure(ctx context.Context, upstream, table string, f CheckFailure) error {
	return s.inTx(ctx, "record a failed check", []string{upstream}, func(ctx context.Context, tx pgx.Tx) error {
		id, err := s.upstreamID(ctx, upstream)
		if err != nil {
			return err
		}
		args := pgx.NamedArgs{
			"upstream": id, "name": text(table), "at": stamp(f.At), "again": stampOrNil(f.Again), "error": message(s.o.Redact.Text(f.Error)),
		}
		batch := &pgx.Batch{}
		batch.Queue(tableInsert, args)
		batch.Queue(checkFailed, args)
		return tx.SendBatch(ctx, batch).Close()
	})
}
