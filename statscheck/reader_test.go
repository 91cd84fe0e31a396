package statscheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

var plain = hiveql.TableName{Database: "h_statscheck_golden", Table: "plain"}

const describePlain = "DESCRIBE FORMATTED `h_statscheck_golden`.`plain`"

func TestReadTable(t *testing.T) {
	hive := newFakeHive(t).
		on(describePlain, answer{rows: golden(t, "columns")}).
		on(describePlain+" `id`", answer{rows: golden(t, "faked_column")}).
		on(describePlain+" `amount`", answer{rows: golden(t, "nostats_column")})
	before := time.Now()
	got, err := ReadTable(t.Context(), hive, plain, []string{"ID", "amount", "id", "no_such"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"id", "amount"}; !slices.Equal(got.ColumnsRead, want) {
		t.Errorf("columns read %v, want %v", got.ColumnsRead, want)
	}
	if _, there := got.Columns["amount"]; there || *got.Columns["id"].NDV != 500_000 {
		t.Errorf("columns %+v", got.Columns)
	}
	if want := []string{"id", "name"}; !slices.Equal(got.ColumnsAccurate, want) {
		t.Errorf("accurate %v, want %v", got.ColumnsAccurate, want)
	}
	if got.ReadAt.Before(before) || got.ReadAt.After(time.Now()) || *got.Rows != 3 {
		t.Errorf("read %d rows at %v", *got.Rows, got.ReadAt)
	}
}

// DESCRIBE of a partitioned table never lists accurate columns: each column's own output does.
func TestReadPartitionedTable(t *testing.T) {
	const describe = "DESCRIBE FORMATTED `h_statscheck_golden`.`parted`"
	table := hiveql.TableName{Database: "h_statscheck_golden", Table: "parted"}
	for golden1, want := range map[string][]string{"parted_column": {"id"}, "parted_some_column": nil} {
		hive := newFakeHive(t).on(describe, answer{rows: golden(t, "parted")}).on(describe+" `id`", answer{rows: golden(t, golden1)})
		got, err := ReadTable(t.Context(), hive, table, []string{"id"})
		if err != nil || !slices.Equal(got.ColumnsAccurate, want) {
			t.Errorf("%s: accurate %v, %v; want %v", golden1, got.ColumnsAccurate, err, want)
		}
	}
	hive := newFakeHive(t).on(describe+" PARTITION (`ds`='a b=c/d', `h`='2')", answer{rows: golden(t, "partition_odd")})
	got, err := ReadPartition(t.Context(), hive, table, "ds=a b%3Dc%2Fd/h=2", nil)
	if err != nil || got.Partition != "ds=a b%3Dc%2Fd/h=2" || got.Rows != nil || *got.TotalSize != 4 {
		t.Errorf("partition: %+v, %v", got, err)
	}
}

func TestReadPartitionColumns(t *testing.T) {
	const describe = "DESCRIBE FORMATTED `h_statscheck_golden`.`parted` PARTITION (`ds`='2024-01-01', `h`='1')"
	table := hiveql.TableName{Database: "h_statscheck_golden", Table: "parted"}
	hive := newFakeHive(t).on(describe, answer{rows: golden(t, "partition")}).on(describe+" `id`", answer{rows: golden(t, "partition_column")}).
		on(describe+" `name`", answer{err: refused(40000, "Permission denied")})
	got, err := ReadPartition(t.Context(), hive, table, "ds=2024-01-01/h=1", []string{"ds", "ID", "name", "no_such"})
	if err != nil || !slices.Equal(got.ColumnsRead, []string{"id"}) || *got.Columns["id"].NDV != 2 || !slices.Equal(got.ColumnsAccurate, []string{"id"}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if n := len(hive.statements()); n != 3 {
		t.Errorf("sent %q", hive.statements())
	}
	hive = newFakeHive(t).on(describe, answer{rows: golden(t, "partition")}).on(describe+" `id`", answer{err: refused(10006, "Partition not found")})
	if _, err := ReadPartition(t.Context(), hive, table, "ds=2024-01-01/h=1", []string{"id"}); !errors.Is(err, ErrTableGone) {
		t.Errorf("dropped in between: %v", err)
	}
}

func TestReadTableIsBounded(t *testing.T) {
	rows := rowsOf()
	var columns []string
	hive := newFakeHive(t)
	for i := range MaxColumnsRead + 10 {
		name := fmt.Sprintf("c%03d", i)
		columns = append(columns, name)
		rows = append(rows, rowsOf([]string{name, "int", ""})...)
		hive.on(describePlain+" `"+name+"`", answer{rows: golden(t, "type_int")})
	}
	hive.on(describePlain, answer{rows: append(rows, golden(t, "basic")...)})
	got, err := ReadTable(t.Context(), hive, plain, columns)
	if err != nil || len(got.ColumnsRead) != MaxColumnsRead || len(hive.statements()) != MaxColumnsRead+1 {
		t.Errorf("%d columns read by %d statements, %v", len(got.ColumnsRead), len(hive.statements()), err)
	}
}

// A column that was dropped since, or that we may not see, must not cost us the table's statistics.
func TestReadTableWithoutRefusedColumn(t *testing.T) {
	hive := newFakeHive(t).on(describePlain, answer{rows: golden(t, "columns")}).
		on(describePlain+" `id`", answer{err: refused(40000, "cannot find field id")}).
		on(describePlain+" `name`", answer{rows: golden(t, "type_string")})
	got, err := ReadTable(t.Context(), hive, plain, []string{"id", "name"})
	if err != nil || !slices.Equal(got.ColumnsRead, []string{"name"}) || *got.Rows != 3 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestReadViewReadsNoColumns(t *testing.T) {
	hive := newFakeHive(t).on(describePlain, answer{rows: golden(t, "view")})
	if got, err := ReadTable(t.Context(), hive, plain, []string{"id"}); err != nil || len(got.ColumnsRead) > 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestReadTableFails(t *testing.T) {
	broken := errors.New("connection reset")
	for name, c := range map[string]struct {
		table answer
		id    answer
		gone  bool
		says  string
	}{
		"no table":           {table: answer{err: refused(10001, "Table not found plain")}, gone: true, says: "Table not found plain"},
		"no database":        {table: answer{err: refused(10072, "Database does not exist")}, gone: true, says: "Database does not exist"},
		"no partition":       {table: answer{err: refused(10006, "Partition not found")}, gone: true, says: "Partition not found"},
		"wrapped":            {table: answer{err: fmt.Errorf("query: %w", refused(10001, "Table not found"))}, gone: true, says: "query"},
		"no permission":      {table: answer{err: refused(40000, "Permission denied")}, says: "Permission denied"},
		"transport":          {table: answer{err: broken}, says: "connection reset"},
		"the word is not it": {table: answer{err: refused(40000, "Table not found somewhere")}, says: "Table not found"},
		"nonsense":           {table: answer{rows: rowsOf([]string{"x"})}, says: ErrDescribe.Error()},
		"gone in between":    {table: answer{rows: golden(t, "basic")}, id: answer{err: refused(10001, "Table not found")}, gone: true, says: "column id"},
		"column transport":   {table: answer{rows: golden(t, "basic")}, id: answer{err: broken}, says: "connection reset"},
		"column nonsense":    {table: answer{rows: golden(t, "basic")}, id: answer{rows: golden(t, "basic")}, says: "column id"},
	} {
		t.Run(name, func(t *testing.T) {
			hive := newFakeHive(t).on(describePlain, c.table).on(describePlain+" `id`", c.id)
			_, err := ReadTable(t.Context(), hive, plain, []string{"id"})
			if err == nil || errors.Is(err, ErrTableGone) != c.gone || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v; want ErrTableGone %v and %q", err, c.gone, c.says)
			}
		})
	}
}

func TestReadTableQuotes(t *testing.T) {
	odd := hiveql.TableName{Database: "d", Table: "t`x"}
	hive := newFakeHive(t).on("DESCRIBE FORMATTED `d`.`t``x`", answer{rows: golden(t, "basic")})
	if _, err := ReadTable(t.Context(), hive, odd, nil); err != nil {
		t.Error(err)
	}
	hive = newFakeHive(t)
	if _, err := ReadTable(t.Context(), hive, hiveql.TableName{Database: "d", Table: "${x}"}, nil); err == nil || len(hive.statements()) > 0 {
		t.Errorf("%v; sent %q", err, hive.statements())
	}
	if _, err := ReadPartition(t.Context(), hive, plain, "ds", nil); err == nil || len(hive.statements()) > 0 {
		t.Errorf("%v; sent %q", err, hive.statements())
	}
}

func TestReadTableCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	hive := newFakeHive(t).on(describePlain, answer{rows: golden(t, "basic")})
	if _, err := ReadTable(ctx, hive, plain, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
