package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/advisor"
)

const joinUpsert = `
INSERT INTO hs2proxy.joins (plan_id, ordinal, operator_id, vertex, join_types, tables, planned, simulated, expected, agrees, big_table, big_table_name,
    budget_bytes, small_bytes, input_rows, input_bytes, bytes_moved, output_rows, output_bytes, margin_factor, margin_next, reason, uncertain, inputs, attempts, detail,
    witnessed, witnessed_budget, witnessed_sizes, simulated_sizes, witnessed_entries, simulated_entries, witnessed_nodes, simulated_nodes)
VALUES (@plan, @ordinal, @operator, @vertex, @types, @tables, @planned, @simulated, @expected, @agrees, @big_table, @big_table_name,
    @budget, @small, @input_rows, @input_bytes, @moved, @output_rows, @output_bytes, @factor, @next, @reason, @uncertain, @inputs, @attempts, @detail,
    @witnessed, @witnessed_budget, @witnessed_sizes, @simulated_sizes, @witnessed_entries, @simulated_entries, @witnessed_nodes, @simulated_nodes)
ON CONFLICT (plan_id, ordinal) DO UPDATE SET
    operator_id = excluded.operator_id, vertex = excluded.vertex, join_types = excluded.join_types, tables = excluded.tables,
    planned = excluded.planned, simulated = excluded.simulated, expected = excluded.expected, agrees = excluded.agrees,
    big_table = excluded.big_table, big_table_name = excluded.big_table_name, budget_bytes = excluded.budget_bytes, small_bytes = excluded.small_bytes,
    input_rows = excluded.input_rows, input_bytes = excluded.input_bytes, bytes_moved = excluded.bytes_moved, output_rows = excluded.output_rows,
    output_bytes = excluded.output_bytes, margin_factor = excluded.margin_factor, margin_next = excluded.margin_next, reason = excluded.reason,
    uncertain = excluded.uncertain, inputs = excluded.inputs, attempts = excluded.attempts, detail = excluded.detail,
    witnessed = excluded.witnessed, witnessed_budget = excluded.witnessed_budget, witnessed_sizes = excluded.witnessed_sizes,
    simulated_sizes = excluded.simulated_sizes, witnessed_entries = excluded.witnessed_entries, simulated_entries = excluded.simulated_entries,
    witnessed_nodes = excluded.witnessed_nodes, simulated_nodes = excluded.simulated_nodes`

// joinRow is a verdict and its figures.
type joinRow struct {
	verdict                  advisor.JoinVerdict
	inputs, attempts, detail json.RawMessage
}

// newJoinRow prepares a verdict. Its place in the list is its ordinal, which the plan's own may not repeat.
func newJoinRow(ordinal int, v advisor.JoinVerdict, keepLiterals bool, redact *Redactor) (joinRow, error) {
	v.Join.Ordinal = ordinal
	v = storable(v, keepLiterals, redact)
	row := joinRow{verdict: v}
	var err error
	if row.inputs, err = asJSON(emptyNotNil(v.Join.Inputs)); err != nil {
		return row, err
	}
	if row.attempts, err = asJSON(emptyNotNil(v.Decision.Attempts)); err != nil {
		return row, err
	}
	rest := v
	rest.Join.Inputs, rest.Decision.Attempts = nil, nil
	row.detail, err = asJSON(rest)
	return row, err
}

// readJoin is the reverse of newJoinRow.
func readJoin(inputs, attempts, detail json.RawMessage) (advisor.JoinVerdict, error) {
	var v advisor.JoinVerdict
	if err := json.Unmarshal(detail, &v); err != nil {
		return v, fmt.Errorf("read a join: %w", err)
	}
	if err := json.Unmarshal(inputs, &v.Join.Inputs); err != nil {
		return v, fmt.Errorf("read a join's inputs: %w", err)
	}
	if err := json.Unmarshal(attempts, &v.Decision.Attempts); err != nil {
		return v, fmt.Errorf("read a join's attempts: %w", err)
	}
	return v, nil
}

func emptyNotNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (r *recording) saveJoins(ctx context.Context, plan int64, joins []joinRow) error {
	batch := &pgx.Batch{}
	for _, j := range joins {
		batch.Queue(joinUpsert, j.args(plan))
	}
	batch.Queue(fidelityCount, pgx.NamedArgs{"plan": plan})
	return r.tx.SendBatch(ctx, batch).Close()
}

func (j joinRow) args(plan int64) pgx.NamedArgs {
	v := j.verdict
	rows, size := total(v.Join.Inputs, func(in advisor.Input) int64 { return in.Rows }), total(v.Join.Inputs, dataSize)
	args := pgx.NamedArgs{
		"plan": plan, "ordinal": v.Join.Ordinal, "operator": text(v.Join.OperatorID), "vertex": text(v.Join.Vertex),
		"types": joinTypes(v.Join), "tables": inputTables(v.Join.Inputs), "planned": strategy(v.Join.Strategy), "simulated": strategy(v.Verdict.Simulated),
		"expected": orNil(string(v.Verdict.Expected)), "agrees": v.Verdict.Agrees, "big_table": max(-1, v.Join.BigTable), "big_table_name": bigTableName(v.Join),
		"budget": v.Decision.Budget, "small": smallBytes(v), "input_rows": rows, "input_bytes": size, "moved": bytesMoved(v.Join),
		"output_rows": known(v.Join.OutputRows), "output_bytes": known(v.Join.OutputBytes), "factor": nil, "next": nil,
		"reason": text(v.Decision.Reason), "uncertain": texts(v.Decision.Uncertain), "inputs": j.inputs, "attempts": j.attempts, "detail": j.detail,
	}
	if m := v.Decision.Margin; m != nil {
		args["factor"], args["next"] = m.Factor, strategy(m.Next)
	}
	maps.Copy(args, witnessArgs(v))
	return args
}

func strategy(s advisor.Strategy) string {
	if s == "" {
		return string(advisor.Unknown)
	}
	return string(s)
}

func joinTypes(j advisor.Join) []string {
	out := make([]string, len(j.Conditions))
	for i, c := range j.Conditions {
		out[i] = string(c.Type)
	}
	return out
}

// inputTables are the tables below each input, one element per input.
func inputTables(inputs []advisor.Input) []string {
	out := make([]string, len(inputs))
	for i, in := range inputs {
		out[i] = text(strings.Join(in.Tables, ", "))
		if out[i] == "" {
			out[i] = text(in.Alias)
		}
	}
	return out
}

// bigTableName is nil when no input is streamed.
func bigTableName(j advisor.Join) *string {
	for _, in := range j.Inputs {
		if in.Position == j.BigTable {
			return &inputTables([]advisor.Input{in})[0]
		}
	}
	return nil
}

func dataSize(in advisor.Input) int64 { return in.DataSize }

// known is nil for Hive's −1.
func known(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

// total adds up to the greatest int64; nil when a part is unknown.
func total(inputs []advisor.Input, of func(advisor.Input) int64) *int64 {
	var sum int64
	for _, in := range inputs {
		n := of(in)
		if n < 0 {
			return nil
		}
		sum = addUp(sum, n)
	}
	return &sum
}

func addUp(a, b int64) int64 {
	if b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}

// smallBytes is what the hash tables take: of all inputs but the streamed one, or but the largest when none is streamed.
func smallBytes(v advisor.JoinVerdict) *int64 {
	sizes := v.Decision.OnlineDataSizes
	if len(sizes) < 2 || len(sizes) != len(v.Join.Inputs) {
		return nil
	}
	big := v.Join.BigTable
	if big < 0 || big >= len(sizes) {
		big = slices.Index(sizes, slices.Max(sizes))
	}
	var sum int64
	for i, n := range sizes {
		if i != big {
			sum = addUp(sum, max(0, n))
		}
	}
	return &sum
}

// bytesMoved is a lower bound of what crosses the network: a shuffled join moves every input, a broadcast the small
// sides (once per task; one copy is counted), a sort-merge-bucket join nothing.
func bytesMoved(j advisor.Join) *int64 {
	switch j.Strategy {
	case advisor.SMB:
		var none int64
		return &none
	case advisor.MapJoin, advisor.BucketMapJoin:
		small := make([]advisor.Input, 0, len(j.Inputs))
		for _, in := range j.Inputs {
			if in.Position != j.BigTable {
				small = append(small, in)
			}
		}
		return total(small, dataSize)
	default:
		return total(j.Inputs, dataSize)
	}
}
