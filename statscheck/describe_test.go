package statscheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// golden reads the rows of testdata/describe/NAME.jsonl; statements.sql there says what they are.
func golden(t testing.TB, name string) [][]*string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "describe", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return parseRows(t, data)
}

func parseRows(t testing.TB, data []byte) [][]*string {
	t.Helper()
	var rows [][]*string
	for line := range bytes.Lines(data) {
		var row []*string
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		rows = append(rows, row)
	}
	return rows
}

// goldens are the files' names, those of columns apart from those of tables.
func goldens(t testing.TB) (tables, columns []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "describe", "statements.sql"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "-- golden: "); ok {
			if strings.HasPrefix(name, "type_") || strings.HasSuffix(name, "_column") {
				columns = append(columns, name)
			} else {
				tables = append(tables, name)
			}
		}
	}
	return tables, columns
}

func n(v int64) *int64 { return &v }

func TestParseDescribe(t *testing.T) {
	plain := func(change ...func(*advisor.TableStats)) advisor.TableStats {
		s := advisor.TableStats{
			Table: "h_statscheck_golden.plain", Kind: "MANAGED_TABLE", BucketingVersion: 2,
			ColumnTypes: []advisor.ColumnType{{Name: "id", Type: "int"}, {Name: "name", Type: "string"}, {Name: "amount", Type: "decimal(10,2)"}},
		}
		for _, f := range change {
			f(&s)
		}
		return s
	}
	numbers := func(rows, raw, total, files *int64) func(*advisor.TableStats) {
		return func(s *advisor.TableStats) { s.Rows, s.RawDataSize, s.TotalSize, s.Files = rows, raw, total, files }
	}
	flags := func(basic bool, columns ...string) func(*advisor.TableStats) {
		return func(s *advisor.TableStats) { s.BasicAccurate, s.ColumnsAccurate = basic, columns }
	}
	parted := func(partition string, change ...func(*advisor.TableStats)) advisor.TableStats {
		s := plain(change...)
		s.Table, s.Partition, s.PartitionColumns = "h_statscheck_golden.parted", partition, []string{"ds", "h"}
		s.ColumnTypes = []advisor.ColumnType{{Name: "id", Type: "int"}, {Name: "name", Type: "string"}, {Name: "ds", Type: "string"}, {Name: "h", Type: "int"}}
		if partition != "" {
			s.Kind, s.BucketingVersion = "", 0
		}
		return s
	}
	partitions := func(count int64) func(*advisor.TableStats) {
		return func(s *advisor.TableStats) { s.PartitionsNum = &count }
	}
	other := func(name, kind string, types ...string) advisor.TableStats {
		s := advisor.TableStats{Table: "h_statscheck_golden." + name, Kind: kind, BucketingVersion: 2}
		for i := 0; i < len(types); i += 2 {
			s.ColumnTypes = append(s.ColumnTypes, advisor.ColumnType{Name: types[i], Type: types[i+1]})
		}
		return s
	}
	bucketed := other("bucketed", "MANAGED_TABLE", "id", "int", "k", "bigint", "name", "string")
	bucketed.Buckets, bucketed.BucketColumns, bucketed.SortColumns = 4, []string{"id", "k"}, []string{"id", "k"}
	temporary := other("mine", "MANAGED_TABLE", "id", "int")
	temporary.Temporary = true
	numbers(n(0), n(0), n(0), n(0))(&temporary)
	flags(true, "id")(&temporary)
	types := other("types", "MANAGED_TABLE", "a", "tinyint", "b", "smallint", "c", "int", "d", "bigint", "e", "float", "f", "double",
		"g", "decimal(20,3)", "h", "string", "i", "varchar(10)", "j", "char(3)", "k", "boolean", "l", "binary", "m", "timestamp", "n", "date",
		"o", "array<int>", "p", "map<string,int>", "q", "struct<x:int,y:string>", "r", "timestamp with local time zone")
	numbers(n(1), n(118), n(119), n(1))(&types)
	flags(true, strings.Split("abcdefghijklmn", "")...)(&types)

	want := map[string]advisor.TableStats{
		"nostats":           plain(),
		"nostats_files":     plain(numbers(nil, nil, n(28), n(1))),
		"basic":             plain(numbers(n(3), n(25), n(28), n(1)), flags(true)),
		"columns":           plain(numbers(n(3), n(25), n(28), n(1)), flags(true, "id", "name")),
		"stale":             plain(numbers(n(3), n(25), n(37), n(2))),
		"noscan":            plain(numbers(n(3), n(25), n(37), n(2)), flags(true)),
		"faked":             plain(numbers(n(8_000_000_000), n(900_000_000_000), n(37), n(2))),
		"faked_columns":     plain(numbers(n(8_000_000_000), n(900_000_000_000), n(37), n(2)), flags(false, "id")),
		"parted_empty":      parted("", numbers(n(0), n(0), n(0), n(0)), flags(true), partitions(0)),
		"parted_nostats":    parted("", numbers(n(0), n(0), n(12), n(2)), partitions(2)),
		"parted_some":       parted("", numbers(n(2), n(6), n(12), n(2)), partitions(2)),
		"parted":            parted("", numbers(n(3), n(9), n(12), n(2)), flags(true), partitions(2)),
		"partition_nostats": parted("ds=2024-01-01/h=1", numbers(nil, nil, n(8), n(1))),
		"partition":         parted("ds=2024-01-01/h=1", numbers(n(2), n(6), n(8), n(1)), flags(true, "id")),
		"partition_odd":     parted("ds=a b%3Dc%2Fd/h=2", numbers(nil, nil, n(4), n(1))),
		"bucketed":          bucketed,
		"external":          other("ext", "EXTERNAL_TABLE", "id", "int"),
		"view":              other("joined", "VIRTUAL_VIEW", "id", "int", "name", "string"),
		"temporary":         temporary,
		"constraints":       other("keyed", "MANAGED_TABLE", "id", "int", "k", "int"),
		"types":             types,
	}
	tables, _ := goldens(t)
	if len(tables) != len(want) {
		t.Errorf("%d golden tables, %d expectations", len(tables), len(want))
	}
	for _, name := range tables {
		t.Run(name, func(t *testing.T) {
			w, ok := want[name]
			if !ok {
				t.Fatal("nothing expected")
			}
			got, err := ParseDescribe(golden(t, name), strings.ToUpper(w.Table))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, w) {
				g, _ := json.MarshalIndent(got, "", " ")
				e, _ := json.MarshalIndent(w, "", " ")
				t.Errorf("got %s\nwant %s", g, e)
			}
		})
	}
}

func TestParseDescribeColumn(t *testing.T) {
	stats := func(ndv, nulls int64, low, high string) *advisor.ColumnStats {
		return &advisor.ColumnStats{NDV: &ndv, Nulls: &nulls, Low: low, High: high}
	}
	text := func(ndv, nulls int64, avg float64, longest int64) *advisor.ColumnStats {
		return &advisor.ColumnStats{NDV: &ndv, Nulls: &nulls, AvgLen: &avg, MaxLen: &longest}
	}
	want := map[string]struct {
		stats    *advisor.ColumnStats
		accurate bool
	}{
		"nostats_column":          {nil, false},
		"stale_column":            {stats(3, 0, "1", "3"), false},
		"faked_column":            {stats(500_000, 0, "1", "3"), true},
		"parted_some_column":      {stats(2, 0, "1", "2"), false},
		"parted_column":           {stats(2, 0, "1", "3"), true},
		"parted_partition_column": {text(2, 0, 100, 100), true},
		"partition_column":        {stats(2, 0, "1", "2"), false},
		"type_tinyint":            {stats(1, 0, "1", "1"), true},
		"type_smallint":           {stats(1, 0, "2", "2"), true},
		"type_int":                {stats(1, 0, "3", "3"), true},
		"type_bigint":             {stats(1, 0, "4", "4"), true},
		"type_float":              {stats(1, 0, "1.5", "1.5"), true},
		"type_double":             {stats(1, 0, "2.5", "2.5"), true},
		"type_decimal":            {stats(1, 0, "3.125", "3.125"), true},
		"type_string":             {text(1, 0, 5, 5), true},
		"type_varchar":            {text(1, 0, 3, 3), true},
		"type_char":               {text(1, 0, 3, 3), true},
		"type_boolean":            {&advisor.ColumnStats{Nulls: n(0), Trues: n(1), Falses: n(0)}, true},
		"type_binary":             {&advisor.ColumnStats{Nulls: n(0), AvgLen: new(3.0), MaxLen: n(3)}, true},
		"type_timestamp":          {stats(1, 0, "2024-01-02 03:04:05", "2024-01-02 03:04:05"), true},
		"type_date":               {stats(1, 0, "2024-01-02", "2024-01-02"), true},
		"type_array":              {nil, false},
		"type_map":                {nil, false},
		"type_struct":             {nil, false},
		"type_timestamptz":        {nil, false},
	}
	_, columns := goldens(t)
	if len(columns) != len(want) {
		t.Errorf("%d golden columns, %d expectations", len(columns), len(want))
	}
	for _, name := range columns {
		t.Run(name, func(t *testing.T) {
			w, ok := want[name]
			if !ok {
				t.Fatal("nothing expected")
			}
			got, accurate, there, err := parseColumn(golden(t, name))
			if err != nil {
				t.Fatal(err)
			}
			if there != (w.stats != nil) || accurate != w.accurate {
				t.Fatalf("there %v, accurate %v; want %v, %v", there, accurate, w.stats != nil, w.accurate)
			}
			if w.stats != nil && !reflect.DeepEqual(got, *w.stats) {
				t.Errorf("got %+v, want %+v", got, *w.stats)
			}
			public, ok, err := ParseDescribeColumn(golden(t, name))
			if err != nil || ok != there || !reflect.DeepEqual(public, got) {
				t.Errorf("ParseDescribeColumn: %+v, %v, %v", public, ok, err)
			}
		})
	}
}

// rowsOf makes rows of strings; "<nil>" is NULL.
func rowsOf(rows ...[]string) [][]*string {
	var out [][]*string
	for _, r := range rows {
		var row []*string
		for _, c := range r {
			if c == "<nil>" {
				row = append(row, nil)
				continue
			}
			row = append(row, &c)
		}
		out = append(out, row)
	}
	return out
}

// Hive 2 and 3 print a heading above the columns and one row of values for a column; Hive 1 an accuracy without JSON.
func TestParseDescribeOfOlderHives(t *testing.T) {
	got, err := ParseDescribe(rowsOf(
		[]string{"# col_name            ", "data_type           ", "comment             "},
		[]string{"", "<nil>", "<nil>"},
		[]string{"id                  ", "int                 ", ""},
		[]string{"ds                  ", "string              ", ""},
		[]string{"", "<nil>", "<nil>"},
		[]string{"# Partition Information", "<nil>", "<nil>"},
		[]string{"# col_name            ", "data_type           ", "comment             "},
		[]string{"", "<nil>", "<nil>"},
		[]string{"ds                  ", "string              ", ""},
		[]string{"", "<nil>", "<nil>"},
		[]string{"# Detailed Table Information", "<nil>", "<nil>"},
		[]string{"Table Type:         ", "MANAGED_TABLE       ", "<nil>"},
		[]string{"Table Parameters:", "<nil>", "<nil>"},
		[]string{"", "COLUMN_STATS_ACCURATE", "true"},
		[]string{"", "numRows", "-1"},
		[]string{"", "rawDataSize", "-1"},
		[]string{"", "totalSize", "77"},
		[]string{"", "transactional", "TRUE"},
		[]string{"", "storage_handler", "org.example.Handler"},
	), "db.t")
	if err != nil {
		t.Fatal(err)
	}
	want := advisor.TableStats{
		Table: "db.t", Kind: "MANAGED_TABLE", TotalSize: n(77), BasicAccurate: true, Transactional: true, StorageHandler: "org.example.Handler",
		PartitionColumns: []string{"ds"}, ColumnTypes: []advisor.ColumnType{{Name: "id", Type: "int"}, {Name: "ds", Type: "string"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}

	c, there, err := ParseDescribeColumn(rowsOf(
		[]string{"# col_name", "data_type", "min", "max", "num_nulls", "distinct_count", "avg_col_len", "max_col_len", "num_trues", "num_falses", "bitvector", "comment"},
		[]string{"", "<nil>", "<nil>", "<nil>", "<nil>", "<nil>", "<nil>", "<nil>", "<nil>", "<nil>", "<nil>", "<nil>"},
		[]string{"id", "int", "1", "9", "2", "5", "", "", "", "", "HL", "from deserializer"},
	))
	if err != nil || !there || *c.NDV != 5 || *c.Nulls != 2 || c.Low != "1" || c.High != "9" || c.AvgLen != nil {
		t.Errorf("got %+v, %v, %v", c, there, err)
	}
}

func TestParseDescribeRefuses(t *testing.T) {
	head := []string{"# Detailed Table Information", "<nil>", "<nil>"}
	kind := []string{"Table Type:", "MANAGED_TABLE", "<nil>"}
	params := []string{"Table Parameters:", "<nil>", "<nil>"}
	for name, rows := range map[string][][]*string{
		"nothing":             nil,
		"no details":          rowsOf([]string{"id", "int", ""}),
		"JSON output":         rowsOf([]string{`{"columns":[]}`}),
		"no table type":       rowsOf(head),
		"rows not a number":   rowsOf(head, kind, params, []string{"", "numRows", "many"}),
		"rows too large":      rowsOf(head, kind, params, []string{"", "numRows", "99999999999999999999"}),
		"broken accuracy":     rowsOf(head, kind, params, []string{"", "COLUMN_STATS_ACCURATE", `{\"BASIC`}),
		"buckets no number":   rowsOf(head, kind, []string{"# Storage Information", "", ""}, []string{"Num Buckets:", "x", ""}),
		"partition of no key": rowsOf([]string{"# Detailed Partition Information", "", ""}, []string{"Partition Value:", "[a]", ""}),
		"partition in pieces": rowsOf([]string{"# Partition Information", "", ""}, []string{"ds", "string", ""},
			[]string{"# Detailed Partition Information", "", ""}, []string{"Partition Value:", "[a, b]", ""}),
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := ParseDescribe(rows, "db.t"); !errors.Is(err, ErrDescribe) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	for name, rows := range map[string][][]*string{
		"nothing":      nil,
		"not a column": golden(t, "basic"),
		"bad number":   rowsOf([]string{"col_name", "id"}, []string{"num_nulls", "few"}),
		"bad length":   rowsOf([]string{"col_name", "id"}, []string{"avg_col_len", "long"}),
		"bad accuracy": rowsOf([]string{"col_name", "id"}, []string{"COLUMN_STATS_ACCURATE", "{"}),
	} {
		t.Run("column "+name, func(t *testing.T) {
			if got, there, err := ParseDescribeColumn(rows); !errors.Is(err, ErrDescribe) || there {
				t.Errorf("got %+v, %v, %v", got, there, err)
			}
		})
	}
}

// A number below −1 must reach rule R1; −1 is Hive's "unknown".
func TestParseDescribeKeepsCorruptNumbers(t *testing.T) {
	for value, want := range map[string]*int64{"-1": nil, "-2": n(-2), "0": n(0)} {
		got, err := ParseDescribe(rowsOf([]string{"# Detailed Table Information", "", ""}, []string{"Table Type:", "MANAGED_TABLE", ""},
			[]string{"Table Parameters:", "", ""}, []string{"", "numRows", value}), "db.t")
		if err != nil || !reflect.DeepEqual(got.Rows, want) {
			t.Errorf("numRows %s: %v, %v", value, got.Rows, err)
		}
	}
}

func FuzzParseDescribe(f *testing.F) {
	tables, columns := goldens(f)
	for _, name := range slices.Concat(tables, columns) {
		data, err := os.ReadFile(filepath.Join("testdata", "describe", name+".jsonl"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var rows [][]*string
		for line := range bytes.Lines(data) {
			var row []*string
			if json.Unmarshal(line, &row) == nil {
				rows = append(rows, row)
			}
		}
		s, err := ParseDescribe(rows, "db.t")
		if err != nil && !errors.Is(err, ErrDescribe) {
			t.Errorf("error %v is not ErrDescribe", err)
		}
		if err == nil && s.Kind == "" && s.Partition == "" {
			t.Error("neither a table nor a partition")
		}
		if _, there, err := ParseDescribeColumn(rows); err != nil && (there || !errors.Is(err, ErrDescribe)) {
			t.Errorf("column: %v, %v", there, err)
		}
	})
}
