package statscheck

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// icebergRows are DESCRIBE FORMATTED of an Iceberg table as Hive 4.0.1 prints it after an INSERT with hive.stats.autogather, but for
// lines of no interest here.
func icebergRows(parameters ...[]string) [][]*string {
	rows := [][]string{
		{"k                   ", "bigint              ", "                    "},
		{"ds                  ", "string              ", "                    "},
		{"                    ", "<nil>", "<nil>"},
		{"# Partition Transform Information", "<nil>", "<nil>"},
		{"# col_name            ", "transform_type      ", "<nil>"},
		{"ds                  ", "IDENTITY            ", "<nil>"},
		{"k                   ", "BUCKET[4]           ", "<nil>"},
		{"                    ", "<nil>", "<nil>"},
		{"# Detailed Table Information", "<nil>", "<nil>"},
		{"Table Type:         ", "EXTERNAL_TABLE      ", "<nil>"},
		{"Table Parameters:", "<nil>", "<nil>"},
		{"", "numFiles            ", "3                   "},
		{"", "numRows             ", "4                   "},
		{"", "rawDataSize         ", "0                   "},
		{"", "storage_handler     ", icebergHandler},
		{"", "totalSize           ", "2565                "},
	}
	return rowsOf(append(rows, parameters...)...)
}

// An Iceberg table's numRows are its snapshot's, whether BASIC_STATS is there or not; a partition transform is no partition column.
func TestParseDescribeOfIceberg(t *testing.T) {
	columns := []string{"", "COLUMN_STATS_ACCURATE", `{\"COLUMN_STATS\":{\"ds\":\"true\",\"k\":\"true\"}}`}
	snapshot := []string{"", "current-snapshot-id ", "9140108289299422962 "}
	want := advisor.TableStats{
		Table: "db.t", Kind: "EXTERNAL_TABLE", Rows: n(4), RawDataSize: n(0), TotalSize: n(2565), Files: n(3), StorageHandler: icebergHandler,
		ColumnTypes: []advisor.ColumnType{{Name: "k", Type: "bigint"}, {Name: "ds", Type: "string"}},
	}
	for name, c := range map[string]struct {
		rows     [][]*string
		accurate bool
		columns  []string
	}{
		"after an INSERT":                              {icebergRows(columns, snapshot), true, []string{"ds", "k"}},
		"after one without statistics":                 {icebergRows(snapshot), true, nil},
		"without a snapshot, by BASIC_STATS":           {icebergRows([]string{"", "COLUMN_STATS_ACCURATE", `{\"BASIC_STATS\":\"true\"}`}), true, nil},
		"without a snapshot, by nothing":               {icebergRows(columns), false, []string{"ds", "k"}},
		"another handler's, with a parameter so named": {icebergRows(snapshot, []string{"", "storage_handler", "org.example.Handler"}), false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseDescribe(c.rows, "db.t")
			if err != nil {
				t.Fatal(err)
			}
			want := want
			want.BasicAccurate, want.ColumnsAccurate, want.StorageHandler = c.accurate, c.columns, got.StorageHandler
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
			got.ReadAt = t0
			if _, holds := checkR2(Subject{Stats: got}); holds == c.accurate {
				t.Errorf("R2 holds: %t", holds)
			}
		})
	}
}

// Hive takes UPDATE STATISTICS of an Iceberg table, and goes on reading the snapshot's rows and the Puffin file's columns.
func TestRestoreOfIceberg(t *testing.T) {
	stats := advisor.TableStats{
		Table: "db.t", Rows: n(4), StorageHandler: icebergHandler, ColumnsRead: []string{"k"},
		Columns: map[string]advisor.ColumnStats{"k": {NDV: n(4), Nulls: n(0)}},
	}
	got, err := RestoreStatements(hiveql.TableName{Database: "db", Table: "t"}, []advisor.TableStats{stats})
	if err != nil || len(got.Statements) > 0 || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "beside the snapshot") {
		t.Errorf("%+v, %v", got, err)
	}
	stats.StorageHandler = ""
	if got, err = RestoreStatements(hiveql.TableName{Database: "db", Table: "t"}, []advisor.TableStats{stats}); err != nil || len(got.Statements) != 2 {
		t.Errorf("of a plain table: %+v, %v", got, err)
	}
}

// An UPDATE writes files and keeps the rows: of an ACID and of an Iceberg table that is no contradiction, as it would be of another.
func TestUpdateIsNoContradiction(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*advisor.TableStats)
		holds  bool
	}{
		"plain":   {func(*advisor.TableStats) {}, true},
		"ACID":    {func(s *advisor.TableStats) { s.Transactional = true }, false},
		"Iceberg": {func(s *advisor.TableStats) { s.StorageHandler = icebergHandler }, false},
	} {
		stats := advisor.TableStats{Table: "db.t", Rows: n(1000), TotalSize: n(5000), BasicAccurate: true, ReadAt: t0.Add(time.Minute)}
		c.change(&stats)
		s := Subject{Stats: stats, Baseline: &Baseline{Rows: n(1000), Bytes: n(3000), At: t0.Add(-time.Hour)}, Writes: Writes{Uncounted: 1, LastAt: t0}}
		if _, holds := checkR6(s, DefaultThresholds()); holds != c.holds {
			t.Errorf("%s: R6 holds: %t", name, holds)
		}
	}
}
