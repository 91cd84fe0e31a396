package store

import (
	"context"
	"fmt"

	gojson "github.com/goccy/go-json"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// recordedSelect leaves out of a join what a replay decides anew. A plan's detail without its inputs is small, so that it is taken as it is.
const recordedSelect = `
SELECT j.plan_id, j.simulated, j.budget_bytes, j.detail -> 'join', j.inputs, CASE WHEN j.plan_id = ANY (@llap) THEN j.attempts END
FROM hs2proxy.joins j
WHERE j.plan_id = ANY (@plans)`

// joinsInJSON reads the joins of plans that have no replay form, or one that this program does not know.
func (p recordedPlans) joinsInJSON(ctx context.Context, s *Store) ([]RecordedJoin, error) {
	llap := []int64{}
	for i := range p {
		if underLLAP(p[i].settings) {
			llap = append(llap, p[i].id)
		}
	}
	rows, err := s.pool.Query(ctx, recordedSelect, pgx.NamedArgs{"plans": p.ids(), "llap": llap})
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var (
		out                    = make([]RecordedJoin, 0, len(p))
		plan, budget           int64
		simulated              advisor.Strategy
		join, inputs, attempts pgtype.DriverBytes // good until the next row
	)
	for rows.Next() {
		if err := rows.Scan(&plan, &simulated, &budget, &join, &inputs, &attempts); err != nil {
			return nil, err
		}
		out = append(out, p.plan(plan).join())
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
