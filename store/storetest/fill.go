package storetest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed fill.sql
var fillSQL string

// Size is how busy an installation is.
type Size struct {
	// Tables known. Queries, plans, statistics, findings and refreshes go with them.
	Tables int
	// Statements a day, for Days days until now.
	Statements, Days int
}

// BenchSize is small, so that all benchmarks once over take seconds; HS2PROXY_BENCH_TABLES and HS2PROXY_BENCH_STATEMENTS (a day, for
// seven days) make it that of a busy installation.
func BenchSize(b *testing.B) Size {
	b.Helper()
	number := func(name string, otherwise int) int {
		value := os.Getenv(name) //nolint:forbidigo // a switch of the benchmarks
		if value == "" {
			return otherwise
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 100 {
			b.Fatalf("%s: %q is no number of at least 100", name, value)
		}
		return n
	}
	return Size{Tables: number("HS2PROXY_BENCH_TABLES", 200), Statements: number("HS2PROXY_BENCH_STATEMENTS", 2000), Days: 7}
}

// BenchJoins are the joins on record that benchmarks read: 100,000, or few with -short, which shows that they work.
func BenchJoins() int {
	if testing.Short() {
		return 5_000
	}
	return 100_000
}

// fillTimeout bounds Fill: a full size takes some minutes on a machine of two cores.
const fillTimeout = time.Hour

// Fill makes a migrated database that holds nothing yet that of a busy installation. It takes a superuser's DSN, since it checks no
// foreign keys while it fills.
func Fill(ctx context.Context, dsn string, size Size) (err error) {
	ctx, cancel := context.WithTimeout(ctx, fillTimeout)
	defer cancel()
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return fmt.Errorf("read the DSN: %w", err)
	}
	p := cfg.RuntimeParams
	p["session_replication_role"], p["work_mem"], p["maintenance_work_mem"] = "replica", "256MB", "512MB"
	p["fill.tables"], p["fill.statements"], p["fill.days"] = strconv.Itoa(size.Tables), strconv.Itoa(size.Statements), strconv.Itoa(size.Days)
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close(context.WithoutCancel(ctx))) }()
	for _, sql := range []string{"SELECT setseed(0.5)", fillSQL, "VACUUM ANALYZE"} {
		if _, err := c.Exec(ctx, sql); err != nil {
			return fmt.Errorf("fill the database: %w", err)
		}
	}
	return nil
}
