package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// Mute names findings and who mutes them, or shows them again.
type Mute struct {
	Kind advisor.FindingKind
	// Fingerprint and Table ("database.table") limit it; empty: every query, every table. Both together mean that query's
	// findings about that table.
	Fingerprint string
	Table       string
	// Until is the end; zero: until it is taken back. Only MuteFindings reads it.
	Until time.Time
	// Reason and By are kept on record; neither may be empty.
	Reason string
	By     string
}

const recordMute = `
SELECT findings
FROM hs2proxy.record_finding_mute(@kind::text, @fingerprint::text, @table::text, @mute::boolean, @until::timestamptz, @reason::text, @by::text, @at::timestamptz)`

// MuteFindings takes findings out of report_findings, those to come too, and returns how many there are by now. A muting of
// the same kind, query and table takes the place of an earlier one. ErrData when there is no reason, or an end that is past.
func (s *Store) MuteFindings(ctx context.Context, m Mute) (int64, error) {
	return s.recordMute(ctx, "mute findings", m, true)
}

// UnmuteFindings shows findings again that a muting of the same kind, query and table hides; ErrNotFound when none does.
// Another muting may still hide some of them.
func (s *Store) UnmuteFindings(ctx context.Context, m Mute) (int64, error) {
	m.Until = time.Time{}
	return s.recordMute(ctx, "unmute findings", m, false)
}

func (s *Store) recordMute(ctx context.Context, what string, m Mute, mute bool) (findings int64, err error) {
	err = s.do(ctx, what, func(ctx context.Context) error {
		err := s.pool.QueryRow(ctx, recordMute, pgx.NamedArgs{
			"kind": text(string(m.Kind)), "fingerprint": text(m.Fingerprint), "table": text(m.Table), "mute": mute, "until": stampOrNil(m.Until),
			"reason": text(s.o.Redact.Text(m.Reason)), "by": text(m.By), "at": s.now(),
		}).Scan(&findings)
		if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "P0002" { // no_data_found, raised by the function
			return fmt.Errorf("%w: %s (%s)", ErrNotFound, pg.Message, pg.Hint)
		}
		return err
	})
	return findings, err
}
