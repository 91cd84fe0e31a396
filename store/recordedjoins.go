package store

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// RecordedJoin is a join of the latest plan of a query, as it was recorded, without what its decision looked like: that is to be
// decided anew.
type RecordedJoin struct {
	Upstream, Database, Fingerprint string
	// Plan is the plan's key; joins of one plan come one after the other, in plan order.
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

// settingsSelect reads each set of settings once; plans share few.
const settingsSelect = `
SELECT p.settings_hash, p.settings
FROM hs2proxy.plans p
WHERE p.id IN (SELECT min(e.id) FROM hs2proxy.plans e GROUP BY e.settings_hash)`

// recordedSelect leaves out of a join what a replay decides anew. Statements and queries are asked only where a filter needs them.
const recordedSelect = `
SELECT u.name, p.database_name, p.fingerprint, p.id, p.settings_hash, p.explained_at, j.simulated, j.budget_bytes, coalesce(n.uses, 0),
       j.detail -> 'join', j.inputs, CASE WHEN lower(e.settings ->> 'hive.execution.mode') = 'llap' THEN j.attempts END
FROM hs2proxy.latest_plans p
JOIN hs2proxy.plans e ON e.id = p.id
JOIN hs2proxy.joins j ON j.plan_id = p.id
JOIN hs2proxy.upstreams u ON u.id = p.upstream_id
LEFT JOIN hs2proxy.query_uses n ON n.upstream_id = p.upstream_id AND n.fingerprint = p.fingerprint AND n.database_name = p.database_name
WHERE (@upstream::text IS NULL OR u.name = @upstream)
  AND (@table::text IS NULL OR EXISTS (
      SELECT 1 FROM hs2proxy.plan_tables r JOIN hs2proxy.tables t ON t.id = r.table_id WHERE r.plan_id = p.id AND t.name = @table))
  AND (@user::text IS NULL AND @since::timestamptz IS NULL OR EXISTS (
      SELECT 1 FROM hs2proxy.statements t JOIN hs2proxy.sessions s ON s.id = t.session_id
      WHERE t.fingerprint = p.fingerprint AND s.upstream_id = p.upstream_id AND t.database_name = p.database_name
        AND (@since::timestamptz IS NULL OR t.started_at >= @since) AND (@user::text IS NULL OR s.user_name = @user)))
ORDER BY p.id, j.ordinal`

// recordedBatch is how many joins are decoded at a time.
const recordedBatch = 256

// RecordedJoins calls each for the joins of the latest plan of every query, as they stand at one moment, and ends with its first error.
// Joins are streamed: however many there are, few are held. The deadline is the caller's.
func (s *Store) RecordedJoins(ctx context.Context, f JoinFilter, each func(*RecordedJoin) error) error {
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL statement_timeout = 0`); err != nil {
			return err
		}
		settings, err := recordedSettings(ctx, tx)
		if err != nil {
			return err
		}
		r := recordedReading{tx: tx, filter: f, settings: settings}
		return r.run(ctx, each)
	})
	return classify(ctx, "read the recorded joins", err)
}

func recordedSettings(ctx context.Context, tx pgx.Tx) (map[string]map[string]string, error) {
	rows, err := tx.Query(ctx, settingsSelect)
	if err != nil {
		return nil, err
	}
	all := map[string]map[string]string{}
	var (
		key    string
		values map[string]string
	)
	_, err = pgx.ForEachRow(rows, []any{&key, &values}, func() error {
		all[key], values = values, nil
		return nil
	})
	return all, err
}

// recordedReading reads on one goroutine, decodes on as many as there are processors, and calls back on the caller's, in order.
type recordedReading struct {
	tx       pgx.Tx
	filter   JoinFilter
	settings map[string]map[string]string
}

// rawJoins are some rows; done is closed when joins, or err, is there.
type rawJoins struct {
	joins []RecordedJoin
	raw   [][3][]byte // join, inputs, attempts
	err   error
	done  chan struct{}
}

func (r *recordedReading) run(ctx context.Context, each func(*RecordedJoin) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	workers := runtime.GOMAXPROCS(0)
	work, order := make(chan *rawJoins), make(chan *rawJoins, 2*workers)
	for range workers {
		wg.Go(func() {
			for b := range work {
				b.decode()
			}
		})
	}
	var readErr error
	wg.Go(func() {
		defer close(order)
		defer close(work)
		readErr = r.read(ctx, func(b *rawJoins) error {
			select {
			case work <- b:
			case <-ctx.Done():
				return ctx.Err()
			}
			select {
			case order <- b:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	for b := range order {
		<-b.done
		if b.err != nil {
			return b.err
		}
		for i := range b.joins {
			if !r.wanted(&b.joins[i]) {
				continue
			}
			if err := each(&b.joins[i]); err != nil {
				return err
			}
		}
	}
	return readErr
}

// wanted leaves out joins of a plan that reads the table elsewhere.
func (r *recordedReading) wanted(j *RecordedJoin) bool {
	if r.filter.Table == "" {
		return true
	}
	for i := range j.Join.Inputs {
		for _, table := range j.Join.Inputs[i].Tables {
			if table == r.filter.Table {
				return true
			}
		}
	}
	return false
}

func (r *recordedReading) read(ctx context.Context, pass func(*rawJoins) error) error {
	f := r.filter
	rows, err := r.tx.Query(ctx, recordedSelect, pgx.NamedArgs{
		"upstream": orNil(text(f.Upstream)), "table": orNil(text(strings.ToLower(f.Table))), "user": orNil(text(f.User)), "since": stampOrNil(f.Since),
	})
	if err != nil {
		return err
	}
	defer rows.Close()
	var b *rawJoins
	for rows.Next() {
		if b == nil {
			b = &rawJoins{joins: make([]RecordedJoin, 0, recordedBatch), raw: make([][3][]byte, 0, recordedBatch), done: make(chan struct{})}
		}
		var (
			j   RecordedJoin
			raw [3][]byte
		)
		err := rows.Scan(&j.Upstream, &j.Database, &j.Fingerprint, &j.Plan, &j.SettingsHash, &j.ExplainedAt, &j.Simulated, &j.Budget, &j.Runs,
			&raw[0], &raw[1], &raw[2])
		if err != nil {
			return err
		}
		j.Settings = r.settings[j.SettingsHash]
		b.joins, b.raw = append(b.joins, j), append(b.raw, raw)
		if len(b.joins) < recordedBatch {
			continue
		}
		if err := pass(b); err != nil {
			return err
		}
		b = nil
	}
	if err := rows.Err(); err != nil || b == nil {
		return err
	}
	return pass(b)
}

func (b *rawJoins) decode() {
	defer close(b.done)
	for i := range b.joins {
		j, raw := &b.joins[i], &b.raw[i]
		if b.err = j.decode(raw[0], raw[1], raw[2]); b.err != nil {
			return
		}
	}
}

func (j *RecordedJoin) decode(join, inputs, attempts []byte) error {
	if err := json.Unmarshal(join, &j.Join); err != nil {
		return fmt.Errorf("read a join: %w", err)
	}
	if err := json.Unmarshal(inputs, &j.Join.Inputs); err != nil {
		return fmt.Errorf("read a join's inputs: %w", err)
	}
	if attempts == nil {
		return nil
	}
	if err := json.Unmarshal(attempts, &j.Attempts); err != nil {
		return fmt.Errorf("read a join's attempts: %w", err)
	}
	return nil
}
