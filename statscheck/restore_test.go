package statscheck

import (
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

func TestRestoreOfColumnsByType(t *testing.T) {
	all := advisor.ColumnStats{
		NDV: new(int64(7)), Nulls: new(int64(0)), AvgLen: new(4.5), MaxLen: new(int64(9)), Trues: new(int64(2)), Falses: new(int64(3)), Low: "1", High: "99",
	}
	ranged := "SET ('numDVs'='7', 'numNulls'='0', 'lowValue'='1', 'highValue'='99')"
	lengths := "SET ('numDVs'='7', 'numNulls'='0', 'avgColLen'='4.5', 'maxColLen'='9')"
	for hiveType, want := range map[string]string{
		"tinyint": ranged, "smallint": ranged, "int": ranged, "bigint": ranged, "float": ranged, "double": ranged, "decimal(10,2)": ranged,
		"date": ranged, "timestamp": ranged, "string": lengths, "varchar(20)": lengths, "char(3)": lengths,
		"boolean": "SET ('numNulls'='0', 'numTrues'='2', 'numFalses'='3')",
		"binary":  "SET ('numNulls'='0', 'avgColLen'='4.5', 'maxColLen'='9')",
		"odd":     "SET ('numNulls'='0')",
	} {
		got, err := RestoreStatements(hiveql.TableName{Database: "d", Table: "t"}, []advisor.TableStats{{
			Rows: new(int64(5)), RawDataSize: new(int64(50)), ColumnTypes: []advisor.ColumnType{{Name: "C", Type: hiveType}},
			ColumnsRead: []string{"c"}, Columns: map[string]advisor.ColumnStats{"c": all},
		}})
		statements := []string{
			"ALTER TABLE `d`.`t` UPDATE STATISTICS SET ('numRows'='5', 'rawDataSize'='50')",
			"ALTER TABLE `d`.`t` UPDATE STATISTICS FOR COLUMN `c` " + want,
		}
		if err != nil || !slices.Equal(got.Statements, statements) || got.Notes != nil {
			t.Errorf("%s: %v\ngot  %s\nwant %s", hiveType, err, strings.Join(got.Statements, "\n     "), strings.Join(statements, "\n     "))
		}
	}
}

func TestRestoreQuotes(t *testing.T) {
	got, err := RestoreStatements(hiveql.TableName{Database: "my`db", Table: "t"}, []advisor.TableStats{{
		ColumnTypes: []advisor.ColumnType{{Name: "a b", Type: "int"}}, ColumnsRead: []string{"a b"},
		Columns: map[string]advisor.ColumnStats{"a b": {Nulls: new(int64(1)), Low: `it's ${x} \`}},
	}})
	want := []string{
		"ALTER TABLE `my``db`.`t` UPDATE STATISTICS SET ('numRows'='-1', 'rawDataSize'='-1')",
		"ALTER TABLE `my``db`.`t` UPDATE STATISTICS FOR COLUMN `a b` SET ('numNulls'='1', 'lowValue'='it\\'s \\u0024{x} \\\\')",
	}
	if err != nil || !slices.Equal(got.Statements, want) {
		t.Errorf("%v\ngot  %s\nwant %s", err, strings.Join(got.Statements, "\n     "), strings.Join(want, "\n     "))
	}
	for name, bad := range map[string]struct {
		table hiveql.TableName
		stats advisor.TableStats
	}{
		"table":     {hiveql.TableName{Database: "d\n", Table: "t"}, advisor.TableStats{}},
		"partition": {hiveql.TableName{Database: "d", Table: "t"}, advisor.TableStats{Partition: "x"}},
		"column": {hiveql.TableName{Database: "d", Table: "t"}, advisor.TableStats{
			ColumnsRead: []string{"${x}"}, Columns: map[string]advisor.ColumnStats{"${x}": {Nulls: new(int64(1))}},
		}},
	} {
		if got, err := RestoreStatements(bad.table, []advisor.TableStats{bad.stats}); err == nil {
			t.Errorf("%s: got %q", name, got.Statements)
		}
	}
}

func TestRestoreOfPartitions(t *testing.T) {
	table := advisor.TableStats{
		PartitionsNum: new(int64(2)), Rows: new(int64(9)), PartitionColumns: []string{"ds"}, ColumnsRead: []string{"id"}, BasicAccurate: true,
		Columns: map[string]advisor.ColumnStats{"id": {NDV: new(int64(3))}}, ColumnTypes: []advisor.ColumnType{{Name: "id", Type: "int"}},
	}
	part := table
	part.Partition, part.PartitionsNum, part.Rows, part.ColumnsRead = "ds=a%2Fb", nil, new(int64(4)), []string{"id", "id", "name", "ds"}
	got, err := RestoreStatements(hiveql.TableName{Database: "d", Table: "t"}, []advisor.TableStats{table, part})
	want := []string{
		"ALTER TABLE `d`.`t` PARTITION (`ds`='a/b') UPDATE STATISTICS SET ('numRows'='4', 'rawDataSize'='-1')",
		"ALTER TABLE `d`.`t` PARTITION (`ds`='a/b') UPDATE STATISTICS FOR COLUMN `id` SET ('numDVs'='3')",
	}
	notes := []string{
		"name had no statistics before in partition ds=a%2Fb: Hive has no statement that takes them away",
		"Hive does not flag statistics set by hand as accurate; it did so before",
	}
	if err != nil || !slices.Equal(got.Statements, want) || !slices.Equal(got.Notes, notes) {
		t.Errorf("%v\ngot  %s\n     %q\nwant %s", err, strings.Join(got.Statements, "\n     "), got.Notes, strings.Join(want, "\n     "))
	}
	got, err = RestoreStatements(hiveql.TableName{Database: "d", Table: "t"}, []advisor.TableStats{table})
	if err != nil || len(got.Statements) != 0 || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "were not read before") {
		t.Errorf("without its partitions: %+v, %v", got, err)
	}
}
