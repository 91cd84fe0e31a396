package statscheck

import (
	"reflect"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

func TestStatisticChanges(t *testing.T) {
	before := []advisor.TableStats{
		{Table: "d.t", Rows: new(int64(10)), TotalSize: new(int64(400)), ColumnsRead: []string{"id", "flag"}},
		{Table: "d.t", Partition: "ds=1", Rows: new(int64(4)), BasicAccurate: true},
		{Table: "d.t", Partition: "ds=gone", Rows: new(int64(1))},
	}
	after := []advisor.TableStats{
		{
			Table: "d.t", Rows: new(int64(20)), TotalSize: new(int64(400)), BasicAccurate: true, ColumnsRead: []string{"id", "flag"}, ColumnsAccurate: []string{"id"},
			Columns: map[string]advisor.ColumnStats{
				"id":   {NDV: new(int64(20)), Nulls: new(int64(0)), Low: "1", High: "20", AvgLen: new(8.25)},
				"flag": {Nulls: new(int64(2)), Trues: new(int64(3)), Falses: new(int64(15))},
			},
		},
		{Table: "d.t", Partition: "ds=1", Rows: new(int64(5)), BasicAccurate: true},
	}
	want := []StatisticChange{
		{OfTable, "", "", "numRows", "10", "20"},
		{OfTable, "", "", "totalSize", "400", "400"},
		{OfTable, "", "", "BASIC_STATS", "false", "true"},
		{OfColumn, "", "flag", "num_nulls", "", "2"},
		{OfColumn, "", "flag", "num_trues", "", "3"},
		{OfColumn, "", "flag", "num_falses", "", "15"},
		{OfColumn, "", "flag", "COLUMN_STATS", "false", "false"},
		{OfColumn, "", "id", "distinct_count", "", "20"},
		{OfColumn, "", "id", "num_nulls", "", "0"},
		{OfColumn, "", "id", "min", "", "1"},
		{OfColumn, "", "id", "max", "", "20"},
		{OfColumn, "", "id", "avg_col_len", "", "8.25"},
		{OfColumn, "", "id", "COLUMN_STATS", "false", "true"},
		{OfPartition, "ds=1", "", "numRows", "4", "5"},
		{OfPartition, "ds=1", "", "BASIC_STATS", "true", "true"},
		{OfPartition, "ds=gone", "", "numRows", "1", ""},
		{OfPartition, "ds=gone", "", "BASIC_STATS", "false", ""},
	}
	if got := StatisticChanges(before, after); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got := StatisticChanges(nil, nil); got != nil {
		t.Errorf("from nothing: %v", got)
	}
}
