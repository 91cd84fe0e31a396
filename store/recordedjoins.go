package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"golang.org/x/sync/errgroup"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// RecordedJoin is a join of the latest plan of a query, as it was recorded, without what its decision looked like: that is to be
// decided anew.
type RecordedJoin struct {
	Upstream, Database, Fingerprint string
	// Plan is the plan's key.
	Plan        int64
	ExplainedAt time.Time
	// Settings are those the query was planned with that matter to joins. Joins with equal SettingsHash share the map: it is not to be
	// written to.
	Settings     map[string]string
	SettingsHash string
	Join         advisor.Join
	// Simulated is what the selector chose then, Budget what it compared with, in bytes.
	Simulated advisor.Strategy
	Budget    int64
	// Attempts are the selector's checks then, for plans under LLAP only: they tell the cluster. Nil otherwise.
	Attempts []advisor.Attempt
	// Runs are the analysed runs of the query in the last seven days.
	Runs int64
}

// JoinFilter chooses recorded joins. The zero value takes all.
type JoinFilter struct {
	// Upstream is a server's name.
	Upstream string
	// Table takes joins that read this table, "database.table".
	Table string
	// User takes queries that this user ran.
	User string
	// Since takes queries that ran at that time or later.
	Since time.Time
}

// replaySelect reads the joins of plans in their replay form.
const replaySelect = `SELECT id, explained_at, replay FROM hs2proxy.plans WHERE id = ANY (@plans)`

const (
	// recordedBatch is how many plans are read by one statement.
	recordedBatch = 1000
	// recordedReaders is how many read at a time, each on a connection: where joins are to be read from JSON, printing it is most of
	// Postgres' work, and one processor's.
	recordedReaders = 4
)

// RecordedJoins calls each for the joins of the latest plan of every query, in no order, and ends with its first error. The list of plans is
// held, their joins are streamed. A plan that comes meanwhile may be missed, one that goes is left out.
func (s *Store) RecordedJoins(ctx context.Context, f JoinFilter, each func(*RecordedJoin) error) error {
	var plans recordedPlans
	err := s.do(ctx, "read the recorded plans", func(ctx context.Context) (err error) {
		plans, err = readRecordedPlans(ctx, s, f)
		return err
	})
	if err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(recordedReaders)
	batches := make(chan []RecordedJoin)
	var readErr error
	done := make(chan struct{})
	readCtx, cancel := context.WithCancel(groupCtx)
	go func() {
		defer close(done)
		for plans := range slices.Chunk(plans, recordedBatch) {
			group.Go(func() error {
				var joins []RecordedJoin
				err := s.do(readCtx, "read the recorded joins", func(ctx context.Context) (err error) {
					joins, err = plans.joins(ctx, s)
					return err
				})
				if err != nil {
					return err
				}
				select {
				case batches <- joins:
				case <-readCtx.Done():
				}
				return readCtx.Err()
			})
		}
		readErr = group.Wait()
		close(batches)
	}()
	defer func() { <-done }()
	defer cancel()
	for joins := range batches {
		for i := range joins {
			if !joins[i].reads(f.Table) {
				continue
			}
			if err := each(&joins[i]); err != nil {
				return err
			}
		}
	}
	return readErr
}

// reads tells whether the join reads the table: another join of its plan may be the one that does. Empty: any table.
func (j *RecordedJoin) reads(table string) bool {
	if table == "" {
		return true
	}
	for i := range j.Join.Inputs {
		if slices.ContainsFunc(j.Join.Inputs[i].Tables, func(t string) bool { return strings.EqualFold(t, table) }) {
			return true
		}
	}
	return false
}

// joins reads those of the plans: in their replay form, where they have one.
func (p recordedPlans) joins(ctx context.Context, s *Store) ([]RecordedJoin, error) {
	rows, err := s.pool.Query(ctx, replaySelect, pgx.NamedArgs{"plans": p.ids()})
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var (
		out     = make([]RecordedJoin, 0, len(p)+len(p)/2)
		id      int64
		at      time.Time
		replay  pgtype.DriverBytes // good until the next row
		f       = formReader()
		without recordedPlans
	)
	for rows.Next() {
		if err := rows.Scan(&id, &at, &replay); err != nil {
			return nil, err
		}
		plan := p.plan(id)
		n, ok := f.open(replay, at)
		if !ok {
			without = append(without, *plan)
			continue
		}
		for range n {
			out = append(out, plan.join())
			f.recorded(&out[len(out)-1])
		}
		if f.err != nil {
			return nil, fmt.Errorf("read the replay form of plan %d: %w", id, f.err)
		}
	}
	if err := rows.Err(); err != nil || len(without) == 0 {
		return out, err
	}
	without.sort() // rows come in any order
	more, err := without.joinsInJSON(ctx, s)
	return append(out, more...), err
}
