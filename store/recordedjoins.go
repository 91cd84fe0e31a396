package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	gojson "github.com/goccy/go-json"
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

// recordedPlans are the latest plans. Statements are asked only where a filter needs them.
const recordedPlans = `
SELECT p.id, u.name, p.database_name, p.fingerprint, p.settings_hash, p.explained_at, coalesce(n.uses, 0)
FROM hs2proxy.latest_plans p
JOIN hs2proxy.upstreams u ON u.id = p.upstream_id
LEFT JOIN hs2proxy.query_uses n ON n.upstream_id = p.upstream_id AND n.fingerprint = p.fingerprint AND n.database_name = p.database_name
WHERE (@upstream::text IS NULL OR u.name = @upstream)
  AND (@table::text IS NULL OR EXISTS (
      SELECT 1 FROM hs2proxy.plan_tables r JOIN hs2proxy.tables t ON t.id = r.table_id WHERE r.plan_id = p.id AND t.name = @table))
  AND (@user::text IS NULL AND @since::timestamptz IS NULL OR EXISTS (
      SELECT 1 FROM hs2proxy.statements t JOIN hs2proxy.sessions s ON s.id = t.session_id
      WHERE t.fingerprint = p.fingerprint AND s.upstream_id = p.upstream_id AND t.database_name = p.database_name
        AND (@since::timestamptz IS NULL OR t.started_at >= @since) AND (@user::text IS NULL OR s.user_name = @user)))`

const settingsOfPlans = `SELECT settings_hash, settings FROM hs2proxy.plans WHERE id = ANY (@plans)`

// recordedSelect leaves out of a join what a replay decides anew. A plan's detail without its inputs is small, so that it is taken as it is.
const recordedSelect = `
SELECT j.plan_id, j.simulated, j.budget_bytes, j.detail -> 'join', j.inputs, CASE WHEN j.plan_id = ANY (@llap) THEN j.attempts END
FROM hs2proxy.joins j
WHERE j.plan_id = ANY (@plans)`

const (
	// recordedBatch is how many plans are read by one statement.
	recordedBatch = 1000
	// recordedReaders is how many read at a time, each on a connection: printing JSON is most of Postgres' work, and one processor's.
	recordedReaders = 4
)

// RecordedJoins calls each for the joins of the latest plan of every query, in no order, and ends with its first error. The list of plans is
// held, their joins are streamed. A plan that comes meanwhile may be missed, one that goes is left out.
func (s *Store) RecordedJoins(ctx context.Context, f JoinFilter, each func(*RecordedJoin) error) error {
	var r recordedReading
	err := s.do(ctx, "read the recorded plans", func(ctx context.Context) error { return r.start(ctx, s, f) })
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
		for plans := range slices.Chunk(r.order, recordedBatch) {
			group.Go(func() error {
				var joins []RecordedJoin
				err := s.do(readCtx, "read the recorded joins", func(ctx context.Context) (err error) {
					joins, err = r.joins(ctx, s, plans)
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

// recordedReading is what joins are read with: their plans, in order of their keys, each with its settings.
type recordedReading struct {
	order []int64
	plans map[int64]*RecordedJoin
	// llap are the plans under LLAP.
	llap map[int64]bool
}

func (r *recordedReading) start(ctx context.Context, s *Store, f JoinFilter) error {
	r.plans, r.llap = map[int64]*RecordedJoin{}, map[int64]bool{}
	rows, err := s.pool.Query(ctx, recordedPlans, pgx.NamedArgs{
		"upstream": orNil(text(f.Upstream)), "table": orNil(text(strings.ToLower(f.Table))), "user": orNil(text(f.User)), "since": stampOrNil(f.Since),
	})
	if err != nil {
		return err
	}
	var j RecordedJoin
	one := map[string]int64{} // a plan with each of the settings
	_, err = pgx.ForEachRow(rows, []any{&j.Plan, &j.Upstream, &j.Database, &j.Fingerprint, &j.SettingsHash, &j.ExplainedAt, &j.Runs}, func() error {
		plan := j
		r.plans[j.Plan], r.order, one[j.SettingsHash] = &plan, append(r.order, j.Plan), j.Plan
		return nil
	})
	if err != nil {
		return err
	}
	slices.Sort(r.order)
	settings, err := readSettings(ctx, s, one)
	if err != nil {
		return err
	}
	for id, plan := range r.plans {
		plan.Settings = settings[plan.SettingsHash]
		r.llap[id] = strings.EqualFold(plan.Settings["hive.execution.mode"], "llap")
	}
	return nil
}

// readSettings reads each set of settings once: plans share few.
func readSettings(ctx context.Context, s *Store, one map[string]int64) (map[string]map[string]string, error) {
	ids := make([]int64, 0, len(one))
	for _, id := range one {
		ids = append(ids, id)
	}
	rows, err := s.pool.Query(ctx, settingsOfPlans, pgx.NamedArgs{"plans": ids})
	if err != nil {
		return nil, err
	}
	all := make(map[string]map[string]string, len(one))
	var (
		hash   string
		values map[string]string
	)
	_, err = pgx.ForEachRow(rows, []any{&hash, &values}, func() error {
		all[hash], values = values, nil
		return nil
	})
	return all, err
}

// joins reads those of some plans.
func (r *recordedReading) joins(ctx context.Context, s *Store, plans []int64) ([]RecordedJoin, error) {
	llap := []int64{}
	for _, id := range plans {
		if r.llap[id] {
			llap = append(llap, id)
		}
	}
	rows, err := s.pool.Query(ctx, recordedSelect, pgx.NamedArgs{"plans": plans, "llap": llap})
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var (
		out                    = make([]RecordedJoin, 0, len(plans))
		plan, budget           int64
		simulated              advisor.Strategy
		join, inputs, attempts pgtype.DriverBytes // good until the next row
	)
	for rows.Next() {
		if err := rows.Scan(&plan, &simulated, &budget, &join, &inputs, &attempts); err != nil {
			return nil, err
		}
		out = append(out, *r.plans[plan])
		j := &out[len(out)-1]
		j.Simulated, j.Budget = simulated, budget
		if err := j.decode(join, inputs, attempts); err != nil {
			return nil, err
		}
	}
	return out, rows.Err()
}

// decode reads what Postgres prints, with a faster reader than encoding/json: a replay reads all joins on record.
func (j *RecordedJoin) decode(join, inputs, attempts []byte) error {
	if err := gojson.Unmarshal(join, &j.Join); err != nil {
		return fmt.Errorf("read a join: %w", err)
	}
	if err := gojson.Unmarshal(inputs, &j.Join.Inputs); err != nil {
		return fmt.Errorf("read a join's inputs: %w", err)
	}
	if attempts == nil {
		return nil
	}
	if err := gojson.Unmarshal(attempts, &j.Attempts); err != nil {
		return fmt.Errorf("read a join's attempts: %w", err)
	}
	return nil
}
