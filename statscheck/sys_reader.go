package statscheck

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// sysReader is one reading of sys: the statements in their order, each for all tables that the ones before have left.
type sysReader struct {
	hive   Hive
	readAt time.Time
	sizes  SysSize
	tables map[int64]*sysObject
	parts  map[int64]*sysObject
}

// sysObject is a table or partition while its rows come in.
type sysObject struct {
	facts  describer
	keys   []sysKey
	other  []string // what goes into the digest
	result SysTable
	// parts are a table's partitions; dropped: it is partitioned, and the partitions are not to be read.
	parts   []*sysObject
	dropped bool
}

type sysKey struct {
	name  string
	order int64
}

// rows runs one statement. Fields are text, "" for NULL.
func (r *sysReader) rows(ctx context.Context, sql string, width int, take func(sysRow) error) error {
	res, err := r.hive.Query(ctx, limited(sql))
	if err != nil {
		return noSysOr(err)
	}
	if len(res.Rows) > maxSysRows {
		return fmt.Errorf("%w: more than %d rows of %s", ErrSysLarge, maxSysRows, sql)
	}
	for i, row := range res.Rows {
		if len(row) != width {
			return fmt.Errorf("row %d has %d columns instead of %d: %s", i, len(row), width, sql)
		}
		if err := take(sysRow{row}); err != nil {
			return fmt.Errorf("row %d of %s: %w", i, sql, err)
		}
	}
	return nil
}

// size reads the numbers given out. A class that is missing has given out none: DataNucleus adds its row with the first object.
func (r *sysReader) size(ctx context.Context) (SysSize, error) {
	of := map[string]*int64{
		"MTable": &r.sizes.Tables, "MTableColumnStatistics": &r.sizes.Columns,
		"MPartition": &r.sizes.Partitions, "MPartitionColumnStatistics": &r.sizes.PartitionColumns,
	}
	found := 0
	err := r.rows(ctx, sysSizes, 2, func(row sysRow) error {
		n, err := row.number(1)
		if to, ok := of[strings.TrimPrefix(row.text(0), "org.apache.hadoop.hive.metastore.model.")]; ok && err == nil && n != nil {
			*to = *n
			found++
		}
		return err
	})
	if err == nil && (found == 0 || r.sizes.Tables == 0) {
		err = fmt.Errorf("%w: SEQUENCE_TABLE does not tell how many tables there are", ErrSysLarge)
	}
	return r.sizes, err
}

func (r *sysReader) read(ctx context.Context, tables []hiveql.TableName) error {
	size, err := r.size(ctx)
	if err != nil {
		return err
	}
	if !size.tablesReadable() {
		return fmt.Errorf("%w: up to %d tables and %d column statistics", ErrSysLarge, size.Tables, size.Columns)
	}
	if err := r.readTables(ctx, tables); err != nil || len(r.tables) == 0 {
		return err
	}
	ids := idList(sortedIDs(r.tables))
	if err := r.rows(ctx, fmt.Sprintf(sysParams, ids), 3, parameterOf(r.tables)); err != nil {
		return err
	}
	if err := r.rows(ctx, fmt.Sprintf(sysKeys, ids), 3, func(row sysRow) error {
		t, err := row.object(r.tables)
		if err != nil || t == nil {
			return err
		}
		order, err := row.number(2)
		if err != nil || order == nil {
			return fmt.Errorf("integer_idx %q: %w", row.text(2), err)
		}
		t.keys = append(t.keys, sysKey{strings.ToLower(row.text(1)), *order})
		return nil
	}); err != nil {
		return err
	}
	if err := r.rows(ctx, fmt.Sprintf(sysColumns, ids), sysColumnWidth, columnRows(r.tables)); err != nil {
		return err
	}
	return r.readPartitions(ctx)
}

func (r *sysReader) readTables(ctx context.Context, tables []hiveql.TableName) error {
	databases := map[int64]string{}
	var twice []string
	if err := r.rows(ctx, fmt.Sprintf(sysDBs, databaseNames(tables)), 2, func(row sysRow) error {
		id, err := row.id()
		if err != nil {
			return err
		}
		for _, name := range databases {
			if name == row.text(1) {
				twice = append(twice, name) // in two catalogs, which sys does not tell apart
			}
		}
		databases[id] = row.text(1)
		return nil
	}); err != nil {
		return err
	}
	maps.DeleteFunc(databases, func(_ int64, name string) bool { return slices.Contains(twice, name) })
	where := tablesOf(tables, databases)
	if where == "" {
		return nil
	}
	r.tables = map[int64]*sysObject{}
	return r.rows(ctx, fmt.Sprintf(sysTables, where), 4, func(row sysRow) error {
		id, err := row.id()
		if err != nil {
			return err
		}
		db, err := row.number(1)
		if err != nil || db == nil {
			return fmt.Errorf("db_id %q: %w", row.text(1), err)
		}
		t := &sysObject{other: []string{"id " + row.text(0), "kind " + row.text(3)}}
		t.facts.stats = advisor.TableStats{Table: databases[*db] + "." + row.text(2), Kind: row.text(3), ReadAt: r.readAt}
		r.tables[id] = t
		return nil
	})
}

// readPartitions reads all partitions of the tables that have keys, or leaves these tables out.
func (r *sysReader) readPartitions(ctx context.Context) error {
	keyed := map[int64]*sysObject{}
	for id, t := range r.tables {
		slices.SortFunc(t.keys, func(a, b sysKey) int { return cmp.Compare(a.order, b.order) })
		for _, k := range t.keys {
			t.facts.stats.PartitionColumns = append(t.facts.stats.PartitionColumns, k.name)
		}
		if len(t.keys) > 0 {
			t.dropped = !r.sizes.partitionsReadable()
			keyed[id] = t
		}
	}
	if len(keyed) == 0 || !r.sizes.partitionsReadable() {
		return nil
	}
	r.parts = map[int64]*sysObject{}
	if err := r.rows(ctx, fmt.Sprintf(sysPartitions, idList(sortedIDs(keyed))), 3, func(row sysRow) error {
		id, err := row.id()
		if err != nil {
			return err
		}
		table, err := row.number(1)
		if err != nil || table == nil || keyed[*table] == nil {
			return fmt.Errorf("tbl_id %q: %w", row.text(1), err)
		}
		t := keyed[*table]
		p := &sysObject{other: []string{"id " + row.text(0), "name " + row.text(2)}} // RENAME keeps the id
		p.facts.stats = advisor.TableStats{
			Table: t.facts.stats.Table, Partition: row.text(2), PartitionColumns: t.facts.stats.PartitionColumns, ReadAt: r.readAt,
		}
		r.parts[id], t.parts = p, append(t.parts, p)
		return nil
	}); err != nil || len(r.parts) == 0 {
		return err
	}
	ids := sortedIDs(r.parts)
	first, last := ids[0], ids[len(ids)-1]
	if err := r.rows(ctx, fmt.Sprintf(sysPartitionParams, first, last), 3, parameterOf(r.parts)); err != nil {
		return err
	}
	return r.rows(ctx, fmt.Sprintf(sysPartitionColumns, first, last), sysColumnWidth, columnRows(r.parts))
}

func sortedIDs[T any](m map[int64]T) []int64 { return slices.Sorted(maps.Keys(m)) }

// result is what the rows say of each table.
func (r *sysReader) result() map[string]SysTable {
	out := make(map[string]SysTable, len(r.tables))
	for _, t := range r.tables {
		if t.dropped {
			continue
		}
		out[t.facts.stats.Table] = t.finish()
	}
	return out
}
