package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Errors a caller branches on, with errors.Is.
var (
	// ErrUnavailable: the same call may succeed later. The server cannot be reached, is full, starting, read-only, or
	// the schema or a right is missing.
	ErrUnavailable = errors.New("the database is not available")
	// ErrData: the same call can never succeed.
	ErrData = errors.New("the database refuses the data")
	// ErrNotFound: there is no such row.
	ErrNotFound = errors.New("not found")
	// ErrLeaseLost: the refresh is no longer ours; another proxy has it or has finished it.
	ErrLeaseLost = errors.New("the refresh belongs to another proxy by now")
	// ErrUnknownReport: there is no view of that name.
	ErrUnknownReport = errors.New("no such report")
)

// classify adds what was done and the class. An error that comes from the end of the caller's own context has no class.
func classify(caller context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case caller.Err() != nil:
		return fmt.Errorf("%s: %w", what, err)
	}
	for _, own := range []error{ErrUnavailable, ErrData, ErrNotFound, ErrLeaseLost, ErrUnknownReport} {
		if errors.Is(err, own) {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	if unavailable(err) {
		return fmt.Errorf("%s: %w: %w", what, ErrUnavailable, err)
	}
	return fmt.Errorf("%s: %w: %w", what, ErrData, err)
}

func unavailable(err error) bool {
	if errors.Is(err, pgx.ErrNoRows) {
		return false
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return unavailableState(pg.Code)
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return pgconn.SafeToRetry(err) || pgconn.Timeout(err) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed)
}

// unavailableState judges an SQLSTATE (PostgreSQL's manual, appendix A).
func unavailableState(code string) bool {
	if len(code) != 5 {
		return false
	}
	switch code {
	case "42501", // insufficient_privilege
		"42P01", "42703", "42883", "3F000", // no such table, column, function, schema: not migrated
		"3D000",          // no such database
		"25006",          // read_only_sql_transaction: a standby
		"55P03", "55006": // lock_not_available, object_in_use
		return true
	}
	switch code[:2] {
	case "08", // connection exception
		"28", // invalid authorization
		"40", // transaction rollback: deadlock, serialization
		"53", // insufficient resources: disk, memory, connections
		"57", // operator intervention: cancel, shutdown, starting
		"58", // system error
		"XX": // internal error
		return true
	}
	return false
}

// conflict reports a transaction that may succeed when it is simply run again.
func conflict(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == "40001" || pg.Code == "40P01")
}

// upstreamGone reports a row that names an upstream which is no longer there.
func upstreamGone(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "23503" && strings.HasSuffix(pg.ConstraintName, "_upstream_id_fkey")
}

func duplicate(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == "23505" || pg.Code == "42P06")
}
