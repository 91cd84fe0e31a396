package store

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/statscheck"
)

// tablesTouch makes the rows that are not there, locks those that were written, and tells how plans use them. It touches a row of the
// others only when something is new or a minute has passed: statements over one table must not queue up behind each other.
const tablesTouch = `
INSERT INTO hs2proxy.tables AS t (upstream_id, name, first_seen, used_at, join_columns, other_columns, plan_basic, plan_column, plan_rows)
SELECT x.upstream, x.name, x.seen, x.used, x.joined::text[], x.other::text[], x.basic, x.col, x.rows
FROM unnest(@upstreams::bigint[], @names::text[], @seen::timestamptz[], @used::timestamptz[], @written::boolean[], @joined::text[], @other::text[],
            @basic::text[], @column::text[], @rows::bigint[])
     AS x(upstream, name, seen, used, written, joined, other, basic, col, rows)
LEFT JOIN LATERAL (SELECT y.* FROM hs2proxy.tables y WHERE y.upstream_id = x.upstream AND y.name = x.name LIMIT 1) k ON true
WHERE k.id IS NULL OR x.written OR x.used IS NOT NULL AND (
      k.used_at IS NULL OR x.used > k.used_at + interval '1 minute'
   OR NOT k.join_columns @> x.joined::text[] OR NOT k.other_columns @> x.other::text[]
   OR x.used >= k.used_at AND (x.basic <> '' AND x.basic <> k.plan_basic OR x.col <> '' AND x.col <> k.plan_column
                            OR x.rows IS DISTINCT FROM k.plan_rows AND x.rows IS NOT NULL))
ORDER BY x.upstream, x.name COLLATE "C"
ON CONFLICT (upstream_id, name) DO UPDATE SET
    used_at = greatest(t.used_at, excluded.used_at),
    join_columns = ARRAY(SELECT DISTINCT c FROM unnest(t.join_columns || excluded.join_columns) c ORDER BY c),
    other_columns = ARRAY(SELECT DISTINCT c FROM unnest(t.other_columns || excluded.other_columns) c ORDER BY c),
    plan_basic = CASE WHEN excluded.plan_basic <> '' AND excluded.used_at >= coalesce(t.used_at, excluded.used_at) THEN excluded.plan_basic ELSE t.plan_basic END,
    plan_column = CASE WHEN excluded.plan_column <> '' AND excluded.used_at >= coalesce(t.used_at, excluded.used_at) THEN excluded.plan_column ELSE t.plan_column END,
    plan_rows = CASE WHEN excluded.used_at >= coalesce(t.used_at, excluded.used_at) THEN coalesce(excluded.plan_rows, t.plan_rows) ELSE t.plan_rows END
WHERE excluded.used_at IS NOT NULL AND (
      t.used_at IS NULL OR excluded.used_at > t.used_at + interval '1 minute'
   OR NOT t.join_columns @> excluded.join_columns OR NOT t.other_columns @> excluded.other_columns
   OR excluded.used_at >= t.used_at AND (excluded.plan_basic <> '' AND excluded.plan_basic <> t.plan_basic
                                      OR excluded.plan_column <> '' AND excluded.plan_column <> t.plan_column
                                      OR excluded.plan_rows IS DISTINCT FROM t.plan_rows AND excluded.plan_rows IS NOT NULL))`

const planTablesInsert = `
INSERT INTO hs2proxy.plan_tables (plan_id, table_id)
SELECT x.plan, t.id
FROM unnest(@plans::bigint[], @upstreams::bigint[], @names::text[]) AS x(plan, upstream, name)
CROSS JOIN LATERAL (SELECT y.id FROM hs2proxy.tables y WHERE y.upstream_id = x.upstream AND y.name = x.name LIMIT 1) t
ON CONFLICT DO NOTHING`

const planReadsUpdate = `
UPDATE hs2proxy.plan_tables p SET partitions = x.partitions::text[], partitions_read = x.total, build = x.build
FROM unnest(@plans::bigint[], @upstreams::bigint[], @names::text[], @partitions::text[], @totals::integer[], @builds::boolean[])
     AS x(plan, upstream, name, partitions, total, build)
CROSS JOIN LATERAL (SELECT y.id FROM hs2proxy.tables y WHERE y.upstream_id = x.upstream AND y.name = x.name LIMIT 1) t
WHERE p.plan_id = x.plan AND p.table_id = t.id AND (p.partitions, p.partitions_read, p.build) IS DISTINCT FROM (x.partitions::text[], x.total, x.build)`

type tableKey struct {
	upstream int64
	name     string
}

func (k tableKey) compare(o tableKey) int {
	return cmp.Or(cmp.Compare(k.upstream, o.upstream), cmp.Compare(k.name, o.name))
}

// planTable is a table that a plan reads.
type planTable struct {
	plan int64
	tableKey
}

// tableTouch is what a wave tells of a table.
type tableTouch struct {
	key     tableKey
	seen    time.Time
	used    *time.Time
	written bool
	usage   statscheck.Usage
}

// tableFold gathers what a wave tells of tables.
type tableFold struct {
	touched map[tableKey]*tableTouch
	planned map[planTable]struct{}
	read    map[planTable]statscheck.PlanRead
}

func newTableFold() *tableFold {
	return &tableFold{touched: map[tableKey]*tableTouch{}, planned: map[planTable]struct{}{}, read: map[planTable]statscheck.PlanRead{}}
}

// named: the table is needed, seen at a time.
func (f *tableFold) named(upstream int64, name string, at time.Time) *tableTouch {
	key := tableKey{upstream, name}
	t := f.touched[key]
	if t == nil {
		t = &tableTouch{key: key, seen: at}
		f.touched[key] = t
	}
	if at.Before(t.seen) {
		t.seen = at
	}
	return t
}

// uses notes which tables a plan reads and how.
func (f *tableFold) uses(upstream, plan int64, a Analysis) {
	for name, u := range usageOf(a) {
		t := f.named(upstream, name, a.ExplainedAt)
		newer := t.used == nil || !a.ExplainedAt.Before(*t.used)
		if newer {
			at := a.ExplainedAt
			t.used = &at
			t.usage.PlanBasic, t.usage.PlanColumn = cmp.Or(u.PlanBasic, t.usage.PlanBasic), cmp.Or(u.PlanColumn, t.usage.PlanColumn)
			if u.PlanRows != nil {
				t.usage.PlanRows = u.PlanRows
			}
		}
		t.usage.JoinColumns, t.usage.OtherColumns = union(t.usage.JoinColumns, texts(u.JoinColumns)), union(t.usage.OtherColumns, texts(u.OtherColumns))
		p := planTable{plan, t.key}
		f.planned[p] = struct{}{}
		if read, ok := a.Reads[name]; ok {
			f.read[p] = read
		}
	}
}

func (f *tableFold) queue(batch *pgx.Batch) {
	if len(f.touched) == 0 {
		return
	}
	rows := slices.SortedFunc(maps.Values(f.touched), func(a, b *tableTouch) int { return a.key.compare(b.key) })
	batch.Queue(tablesTouch, pgx.NamedArgs{
		"upstreams": column(rows, func(t *tableTouch) int64 { return t.key.upstream }),
		"names":     column(rows, func(t *tableTouch) string { return t.key.name }),
		"seen":      column(rows, func(t *tableTouch) time.Time { return t.seen }),
		"used":      column(rows, func(t *tableTouch) *time.Time { return t.used }),
		"written":   column(rows, func(t *tableTouch) bool { return t.written }),
		"joined":    column(rows, func(t *tableTouch) string { return arrayLiteral(t.usage.JoinColumns) }),
		"other":     column(rows, func(t *tableTouch) string { return arrayLiteral(t.usage.OtherColumns) }),
		"basic":     column(rows, func(t *tableTouch) string { return t.usage.PlanBasic }),
		"column":    column(rows, func(t *tableTouch) string { return t.usage.PlanColumn }),
		"rows":      column(rows, func(t *tableTouch) *int64 { return t.usage.PlanRows }),
	})
	if len(f.planned) == 0 {
		return
	}
	planned := slices.SortedFunc(maps.Keys(f.planned), planTable.order)
	batch.Queue(planTablesInsert, keysOf(planned))
	read := slices.SortedFunc(maps.Keys(f.read), planTable.order)
	if len(read) == 0 {
		return
	}
	args := keysOf(read)
	args["partitions"] = column(read, func(p planTable) string { return arrayLiteral(keptPartitions(f.read[p])) })
	args["totals"] = column(read, func(p planTable) int { return max(f.read[p].Total, len(keptPartitions(f.read[p]))) })
	args["builds"] = column(read, func(p planTable) bool { return f.read[p].Build })
	batch.Queue(planReadsUpdate, args)
}

func (p planTable) order(o planTable) int {
	return cmp.Or(cmp.Compare(p.plan, o.plan), p.compare(o.tableKey))
}

func keysOf(list []planTable) pgx.NamedArgs {
	return pgx.NamedArgs{
		"plans":     column(list, func(p planTable) int64 { return p.plan }),
		"upstreams": column(list, func(p planTable) int64 { return p.upstream }),
		"names":     column(list, func(p planTable) string { return p.name }),
	}
}

func keptPartitions(read statscheck.PlanRead) []string {
	return texts(read.Partitions[:min(len(read.Partitions), maxPlanPartitions)])
}

var arrayEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// arrayLiteral is a list as Postgres writes a text[], for lists of lists: unnest would take them for a matrix.
func arrayLiteral(list []string) string {
	if len(list) == 0 {
		return "{}"
	}
	var b strings.Builder
	for i, s := range list {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteByte('"')
		_, _ = arrayEscapes.WriteString(&b, s)
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}
