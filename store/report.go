package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/hs2proxy/hs2proxy/migrations"
)

// MaxReportRows bounds what Report returns; Table.More says that there was more.
const MaxReportRows = 10_000

// ReportInfo names a report and the question it answers.
type ReportInfo struct {
	// Name is the view's: "report_joins".
	Name     string
	Question string
}

const reportsSelect = `
SELECT c.relname, split_part(coalesce(obj_description(c.oid, 'pg_class'), ''), E'\n', 1)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = @schema AND c.relkind = 'v' AND c.relname LIKE 'report\_%'
ORDER BY c.relname`

// Reports lists the reports this database has.
func (s *Store) Reports(ctx context.Context) (out []ReportInfo, err error) {
	err = s.do(ctx, "list the reports", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, reportsSelect, pgx.NamedArgs{"schema": migrations.Schema})
		if err != nil {
			return err
		}
		if out, err = pgx.CollectRows(rows, pgx.RowToStructByPos[ReportInfo]); err != nil {
			return err
		}
		if len(out) == 0 {
			return fmt.Errorf("%w: the schema hs2proxy has no reports: migrate it", ErrUnavailable)
		}
		return nil
	})
	return out, err
}

// Table is a report's rows. Cells are nil, bool, int64, float64, string, time.Time (UTC), time.Duration, []string or
// json.RawMessage.
type Table struct {
	Name     string
	Question string
	Columns  []string
	Rows     [][]any
	// More: the view has more than MaxReportRows rows, of which the first are here.
	More bool
}

// Report reads a report, whole, in the view's order. The name may go without its "report_"; ErrUnknownReport for any
// other relation.
func (s *Store) Report(ctx context.Context, name string) (Table, error) {
	known, err := s.Reports(ctx)
	if err != nil {
		return Table{}, err
	}
	if !strings.HasPrefix(name, "report_") {
		name = "report_" + name
	}
	for _, info := range known {
		if info.Name != name {
			continue
		}
		t := Table{Name: info.Name, Question: info.Question}
		err := s.do(ctx, "read "+info.Name, func(ctx context.Context) error { return s.readReport(ctx, &t) })
		return t, err
	}
	names := make([]string, len(known))
	for i, info := range known {
		names[i] = strings.TrimPrefix(info.Name, "report_")
	}
	return Table{}, fmt.Errorf("%w: %q; there are %s", ErrUnknownReport, strings.TrimPrefix(name, "report_"), strings.Join(names, ", "))
}

// readReport takes the columns the view has: it defines them, and what they mean.
func (s *Store) readReport(ctx context.Context, t *Table) error {
	view := pgx.Identifier{migrations.Schema, t.Name}.Sanitize()
	rows, err := s.pool.Query(ctx, "SELECT v.* FROM "+view+" v LIMIT @most", pgx.NamedArgs{"most": MaxReportRows + 1})
	if err != nil {
		return err
	}
	defer rows.Close()
	fields := rows.FieldDescriptions()
	for _, f := range fields {
		t.Columns = append(t.Columns, f.Name)
	}
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return err
		}
		raw := rows.RawValues()
		for i := range values {
			if values[i], err = cell(values[i], raw[i], fields[i]); err != nil {
				return fmt.Errorf("column %s: %w", fields[i].Name, err)
			}
		}
		t.Rows = append(t.Rows, values)
	}
	if len(t.Rows) > MaxReportRows {
		t.Rows, t.More = t.Rows[:MaxReportRows], true
	}
	return rows.Err()
}

// cell turns what pgx decodes by default into one of Table's types.
func cell(v any, raw []byte, f pgconn.FieldDescription) (any, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case bool, int64, float64, string:
		if f.DataTypeOID == pgtype.JSONBOID || f.DataTypeOID == pgtype.JSONOID {
			break
		}
		return v, nil
	case int16:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case float32:
		return float64(v), nil
	case time.Time:
		return v.UTC(), nil
	case [16]byte:
		return pgtype.UUID{Bytes: v, Valid: true}.String(), nil
	case pgtype.Interval:
		return time.Duration(v.Microseconds)*time.Microsecond + time.Duration(v.Days+30*v.Months)*24*time.Hour, nil
	case pgtype.Numeric:
		n, err := v.Float64Value()
		return n.Float64, err
	case []any:
		if f.DataTypeOID == pgtype.TextArrayOID {
			out := make([]string, len(v))
			for i, e := range v {
				if e != nil {
					out[i] = fmt.Sprint(e)
				}
			}
			return out, nil
		}
	}
	if f.DataTypeOID == pgtype.JSONBOID || f.DataTypeOID == pgtype.JSONOID {
		if f.DataTypeOID == pgtype.JSONBOID && f.Format == pgtype.BinaryFormatCode && len(raw) > 0 {
			raw = raw[1:] // the format's version
		}
		return append(json.RawMessage(nil), raw...), nil // numbers keep all their digits
	}
	return fmt.Sprint(v), nil
}
