package statscheck

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// sysRecorded are answers of Hive 4.0.1 with its sys database over a metastore in Postgres 15, by statement: those of SysReadable, of
// ReadSys, and DESCRIBE FORMATTED of the same tables.
//
//go:embed testdata/sys-4.0.1.json
var sysRecorded []byte

func recordedSys(t *testing.T) *fakeHive {
	t.Helper()
	answers := map[string][][]*string{}
	if err := json.Unmarshal(sysRecorded, &answers); err != nil {
		t.Fatal(err)
	}
	h := newFakeHive(t)
	for sql, rows := range answers {
		h.on(sql, answer{rows: rows})
	}
	return h
}

// change replaces the answer whose statement holds the word.
func (h *fakeHive) change(word string, f func(rows [][]*string) [][]*string) {
	h.t.Helper()
	for sql, list := range h.answers {
		if strings.Contains(sql, word) && !strings.HasPrefix(sql, "EXPLAIN") {
			h.answers[sql] = []answer{{rows: f(list[0].rows)}}
			return
		}
	}
	h.t.Fatalf("no statement with %s", word)
}

func shopNames(tables ...string) []hiveql.TableName {
	var out []hiveql.TableName
	for _, t := range tables {
		out = append(out, hiveql.TableName{Database: "shop", Table: t})
	}
	return out
}

func mustReadSys(t *testing.T, h *fakeHive) map[string]SysTable {
	t.Helper()
	got, err := ReadSys(t.Context(), h, shopNames("orders", "parted", "v", "empty"))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// The recorded rows tell what the recorded DESCRIBE FORMATTED tells of the same tables, columns and partition.
func TestSysTellsWhatDescribeTells(t *testing.T) {
	h := recordedSys(t)
	sys := mustReadSys(t, h)
	for table, columns := range map[string][]string{"orders": {"id", "customer", "amount", "price", "day", "ok"}, "parted": nil, "v": nil, "empty": nil} {
		described, err := ReadTable(t.Context(), h, hiveql.TableName{Database: "shop", Table: table}, columns)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := sys["shop."+table]
		if !ok {
			t.Fatalf("shop.%s is not covered: %v", table, slices.Collect(maps.Keys(sys)))
		}
		compareFacts(t, got.Stats, described)
		if !reflect.DeepEqual(got.Stats.Columns, described.Columns) {
			t.Errorf("columns of %s: %+v, DESCRIBE says %+v", table, got.Stats.Columns, described.Columns)
		}
	}
	const name = "ds=2024-01-01/h=1"
	table, err := ReadTable(t.Context(), h, shopNames("parted")[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	described, err := ReadPartition(t.Context(), h, shopNames("parted")[0], name, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, ok := sys["shop.parted"].PartitionStats(name, table)
	if got.ReadAt = described.ReadAt; !ok || !reflect.DeepEqual(got, described) {
		t.Errorf("partition: %+v\nDESCRIBE says %+v", got, described)
	}
	if _, ok := sys["shop.parted"].PartitionStats("ds=2024-01-01/h=2", table); ok {
		t.Error("a partition that is not there")
	}
	if orders := sys["shop.orders"]; orders.DDLAt.Unix() != 1796149244 || orders.AnalyzedAt.Unix() != 1796149246 {
		t.Errorf("last DDL %s, analysed %s", orders.DDLAt, orders.AnalyzedAt)
	}
	if at := sys["shop.parted"].AnalyzedAt.Unix(); at != 1796149262 {
		t.Errorf("the partition was analysed at %d", at)
	}
}

func compareFacts(t *testing.T, got, described advisor.TableStats) {
	t.Helper()
	facts := func(s advisor.TableStats) string {
		return fmt.Sprintf("%s %s rows %s raw %s size %s files %s partitions %s basic %v columns %v transactional %v handler %q bucketing %d keys %v",
			s.Table, s.Kind, decimal(s.Rows), decimal(s.RawDataSize), decimal(s.TotalSize), decimal(s.Files), decimal(s.PartitionsNum),
			s.BasicAccurate, s.ColumnsAccurate, s.Transactional, s.StorageHandler, s.BucketingVersion, s.PartitionColumns)
	}
	if facts(got) != facts(described) {
		t.Errorf("sys:      %s\nDESCRIBE: %s", facts(got), facts(described))
	}
}

// However many tables are asked for, a reading takes nine statements, and six where no table is partitioned.
func TestReadSysStatements(t *testing.T) {
	h := recordedSys(t)
	mustReadSys(t, h)
	if len(h.asked) != 9 {
		t.Errorf("asked %q", h.asked)
	}
	h = recordedSys(t)
	h.change("`partition_keys`", func([][]*string) [][]*string { return nil })
	mustReadSys(t, h)
	if len(h.asked) != 6 {
		t.Errorf("asked %q", h.asked)
	}
}

// Each change that an ANALYZE, a write or an ALTER leaves in the metastore shows, and in no other table.
func TestSysShowsChanges(t *testing.T) {
	before := mustReadSys(t, recordedSys(t))
	again := mustReadSys(t, recordedSys(t))
	for name := range before {
		if !before[name].Same(again[name]) {
			t.Errorf("%s differs from itself", name)
		}
	}
	set := func(match func(row []*string) bool, column int, value string) func([][]*string) [][]*string {
		return func(rows [][]*string) [][]*string {
			out, done := [][]*string{}, false
			for _, row := range rows {
				row = slices.Clone(row)
				if !done && match(row) {
					row[column], done = &value, true
				}
				out = append(out, row)
			}
			if !done {
				t.Fatal("nothing to change")
			}
			return out
		}
	}
	param := func(key string) func([]*string) bool { return func(row []*string) bool { return *row[1] == key } }
	anything := func([]*string) bool { return true }
	tests := map[string]struct {
		word  string
		with  func([][]*string) [][]*string
		table string
	}{
		"rows":               {"`table_params`", set(func(r []*string) bool { return *r[1] == "numRows" && *r[2] == "3" }, 2, "4"), "shop.orders"},
		"flags":              {"`table_params`", set(func(r []*string) bool { return *r[0] == "72" && *r[1] == "COLUMN_STATS_ACCURATE" }, 2, `{"BASIC_STATS":"true"}`), "shop.orders"},
		"DDL":                {"`table_params`", set(func(r []*string) bool { return *r[1] == "transient_lastDdlTime" && *r[2] == "1796149244" }, 2, "1796149300"), "shop.orders"},
		"column statistics":  {"`tab_col_stats`", set(anything, 10, "7"), "shop.orders"},
		"last analysed":      {"`tab_col_stats`", set(anything, 15, "1796149999"), "shop.orders"},
		"partition's rows":   {"`partition_params`", set(param("numRows"), 2, "3"), "shop.parted"},
		"partition's flags":  {"`partition_params`", set(param("COLUMN_STATS_ACCURATE"), 2, `{}`), "shop.parted"},
		"partition's column": {"`part_col_stats`", set(anything, 9, "1"), "shop.parted"},
		"partition renamed":  {"`partitions`", set(anything, 2, "ds=2024-01-02/h=1"), "shop.parted"},
		"another table":      {"`tbls`", set(func(r []*string) bool { return *r[2] == "v" }, 3, "MANAGED_TABLE"), "shop.v"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := recordedSys(t)
			h.change(test.word, test.with)
			after := mustReadSys(t, h)
			for table := range before {
				same := before[table].Same(after[table])
				if same == (table == test.table) {
					t.Errorf("%s: same %v", table, same)
				}
			}
		})
	}
}

// What sys does not have, or may not be asked for, is left out.
func TestReadSysLeavesOut(t *testing.T) {
	h := recordedSys(t)
	size := func(class, to string) func([][]*string) [][]*string {
		return func(rows [][]*string) [][]*string {
			out := [][]*string{}
			for _, row := range rows {
				if strings.HasSuffix(*row[0], "."+class) {
					row = []*string{row[0], &to}
				}
				out = append(out, row)
			}
			return out
		}
	}
	h.change("`sequence_table`", size("MPartition", "20001"))
	got := mustReadSys(t, h)
	if _, ok := got["shop.parted"]; ok || len(got) != 3 {
		t.Errorf("with too many partitions: %v", slices.Collect(maps.Keys(got)))
	}
	h = recordedSys(t)
	h.change("`sequence_table`", size("MTable", "20001"))
	if _, err := ReadSys(t.Context(), h, shopNames("orders", "parted", "v", "empty")); !errors.Is(err, ErrSysLarge) || len(h.asked) != 1 {
		t.Errorf("with too many tables: %v after %q", err, h.asked)
	}
	h = recordedSys(t)
	h.change("`dbs`", func(rows [][]*string) [][]*string { return append(rows, []*string{new("9"), new("shop")}) })
	if got := mustReadSys(t, h); len(got) != 0 {
		t.Errorf("a database of that name is in two catalogs: %v", got)
	}
	h = recordedSys(t)
	h.change("`dbs`", func([][]*string) [][]*string { return nil })
	if got := mustReadSys(t, h); len(got) != 0 {
		t.Errorf("without the database: %v", got)
	}
	h = recordedSys(t)
	many := make([][]*string, maxSysRows+1)
	for i := range many {
		many[i] = []*string{new("72"), new("k"), new("v")}
	}
	h.change("`table_params`", func([][]*string) [][]*string { return many })
	if _, err := ReadSys(t.Context(), h, shopNames("orders", "parted", "v", "empty")); !errors.Is(err, ErrSysLarge) {
		t.Errorf("an answer that is cut off: %v", err)
	}
}

func TestReadSysRefusesOddRows(t *testing.T) {
	for word, row := range map[string][]*string{
		"`sequence_table`": {new("x.MTable"), nil, nil},
		"`dbs`":            {nil, new("shop")},
		"`tbls`":           {new("1"), nil, new("t"), new("VIEW")},
		"`table_params`":   {new("72"), new("numRows"), new("many")},
		"`partition_keys`": {new("72"), new("k"), new("first")},
		"`tab_col_stats`":  append([]*string{new("72"), new("c"), new("int"), new("x")}, make([]*string, 12)...),
		"`partitions`":     {new("1"), new("72"), new("p")},
	} {
		h := recordedSys(t)
		h.change(word, func(rows [][]*string) [][]*string { return append(slices.Clone(rows), row) })
		if got, err := ReadSys(t.Context(), h, shopNames("orders", "parted", "v", "empty")); err == nil {
			t.Errorf("%s: %v was taken: %v", word, row, got)
		}
	}
}

func TestSysReadable(t *testing.T) {
	h := recordedSys(t)
	size, err := SysReadable(t.Context(), h)
	if err != nil || size.Tables < 5 || size.Partitions < 1 {
		t.Errorf("%+v, %v", size, err)
	}
	explain := func(h *fakeHive) string {
		for sql := range h.answers {
			if strings.HasPrefix(sql, "EXPLAIN") && strings.Contains(sql, "`table_params`") {
				return sql
			}
		}
		return ""
	}
	tests := map[string]struct {
		answer answer
		want   error
	}{
		"no database": {answer{err: &client.Error{Code: codeNoDatabase}}, ErrNoSys},
		"no table":    {answer{err: &client.Error{Code: codeInvalidTable}}, ErrNoSys},
		"no right":    {answer{err: &client.Error{Code: 40000, Message: "Permission denied"}}, nil},
		"a job":       {answer{rows: [][]*string{{new("Stage-0")}, {new("  Fetch Operator")}, {new("    Stage-1")}}}, ErrSysJob},
		"no plan":     {answer{}, ErrSysJob},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := recordedSys(t)
			h.answers[explain(h)] = []answer{test.answer}
			if _, err := SysReadable(t.Context(), h); err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	h = recordedSys(t)
	h.change("`sequence_table`", func([][]*string) [][]*string { return nil })
	if _, err := SysReadable(t.Context(), h); !errors.Is(err, ErrSysLarge) {
		t.Errorf("where nothing tells the size: %v", err)
	}
}

// No name gets out of its literal.
func TestSysStatementsQuote(t *testing.T) {
	h := newFakeHive(t)
	sequence := [][]*string{{new("org.apache.hadoop.hive.metastore.model.MTable"), new("5")}}
	h.on(limited(sysSizes), answer{rows: sequence})
	h.on("SELECT `db_id`, `name` FROM `sys`.`dbs` WHERE `name` IN ('sh\\'op') LIMIT 150001", answer{rows: [][]*string{{new("3"), new("sh'op")}}})
	const want = "SELECT `tbl_id`, `db_id`, `tbl_name`, `tbl_type` FROM `sys`.`tbls` WHERE (`db_id` = 3 AND `tbl_name` IN ('o\\') or 1=1 --', 'p')) LIMIT 150001"
	h.on(want, answer{})
	_, err := ReadSys(t.Context(), h, []hiveql.TableName{{Database: "Sh'op", Table: "o') OR 1=1 --"}, {Database: "sh'op", Table: "P"}})
	if err != nil || !slices.Contains(h.asked, want) {
		t.Errorf("%v after %q", err, h.asked)
	}
}

func TestReadSysStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ReadSys(ctx, recordedSys(t), shopNames("orders")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestSysDays(t *testing.T) {
	for n, want := range map[int64]string{0: "1970-01-01", 19723: "2024-01-01", -1: "1969-12-31"} {
		if got := day(&n); got != want {
			t.Errorf("day %d is %s, want %s", n, got, want)
		}
	}
	if _, err := unixTime("soon"); err == nil {
		t.Error("no number of seconds")
	}
	if at, err := unixTime("1796149244"); err != nil || !at.Equal(time.Unix(1796149244, 0)) {
		t.Errorf("%s, %v", at, err)
	}
}
