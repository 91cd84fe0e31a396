package statscheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// rowsBy answers statements by rows.
type rowsBy map[string][][]*string

func (r rowsBy) Query(_ context.Context, sql string) (client.Result, error) {
	rows, ok := r[sql]
	if !ok {
		return client.Result{}, fmt.Errorf("unexpected statement %q", sql)
	}
	return client.Result{Rows: rows}, nil
}

// refusing answers every statement with an error.
type refusing func() error

func (r refusing) Query(context.Context, string) (client.Result, error) { return client.Result{}, r() }

// showTable is the form of TextShowTableStatusFormatter: a block of lines for each table that matches the pattern.
func showTable(name, files, size, updated string) [][]string {
	return [][]string{
		{"tableName:" + name},
		{"owner:hive"},
		{"location:hdfs://shop/warehouse/shop.db/" + name},
		{"inputformat:org.apache.hadoop.mapred.TextInputFormat"},
		{"outputformat:org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"},
		{"columns:struct columns { i32 a, string b}"},
		{"partitioned:false"},
		{"partitionColumns:"},
		{"totalNumberFiles:" + files},
		{"totalFileSize:" + size},
		{"maxFileSize:9"},
		{"minFileSize:1"},
		{"lastAccessTime:0"},
		{"lastUpdateTime:" + updated},
		{""},
	}
}

func TestParseShowTable(t *testing.T) {
	two := slices.Concat(showTable("myxtable", "9", "99", "1"), showTable("my_table", "2", "1234", "1700000000000"))
	got, err := ParseShowTable(rowsOf(two...), "My_Table")
	if want := (Files{Count: 2, Bytes: 1234, UpdatedAt: time.UnixMilli(1_700_000_000_000)}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	for name, rows := range map[string][][]string{
		"no such table":   showTable("other", "1", "2", "3"),
		"not readable":    showTable("t", "unknown", "unknown", "unknown"),
		"no files at all": showTable("t", "1", "2", "3")[:8],
		"nothing":         nil,
	} {
		if got, err := ParseShowTable(rowsOf(rows...), "t"); !errors.Is(err, ErrFilesUnknown) || got != (Files{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestReadFiles(t *testing.T) {
	hive := rowsBy{
		"SHOW TABLE EXTENDED IN `shop` LIKE 't\\'x'":                                    rowsOf(showTable("t'x", "1", "10", "1700000000000")...),
		"SHOW TABLE EXTENDED IN `shop` LIKE 't' PARTITION (`ds`='2024-01-01', `h`='3')": rowsOf(showTable("t", "1", "20", "1700000000000")...),
	}
	f, err := ReadFiles(t.Context(), hive, hiveql.TableName{Database: "shop", Table: "t'x"}, "")
	if err != nil || f.Bytes != 10 || f.ReadAt.IsZero() {
		t.Errorf("got %+v, %v", f, err)
	}
	f, err = ReadFiles(t.Context(), hive, hiveql.TableName{Database: "shop", Table: "t"}, "ds=2024-01-01/h=3")
	if err != nil || f.Bytes != 20 {
		t.Errorf("got %+v, %v", f, err)
	}
	if _, err := ReadFiles(t.Context(), hive, hiveql.TableName{Table: "t"}, ""); err == nil {
		t.Error("a table without its database was read")
	}
	if _, err := ReadFiles(t.Context(), hive, hiveql.TableName{Database: "shop", Table: "t"}, "nonsense"); err == nil {
		t.Error("a partition without a value was read")
	}
}

func TestShowPartitions(t *testing.T) {
	hive := rowsBy{
		"SHOW PARTITIONS `shop`.`t`":                      rowsOf([]string{"ds=a/h=1"}, []string{"ds=a/h=2"}, []string{"ds=b/h=1"}),
		"SHOW PARTITIONS `shop`.`t` PARTITION (`ds`='a')": rowsOf([]string{"ds=a/h=1"}, []string{"ds=a/h=2"}),
	}
	name := hiveql.TableName{Database: "shop", Table: "t"}
	for _, c := range []struct {
		spec string
		most int
		want []string
	}{
		{"", 10, []string{"ds=a/h=1", "ds=a/h=2", "ds=b/h=1"}},
		{"", 2, []string{"ds=a/h=2", "ds=b/h=1"}},
		{"ds=a", 1, []string{"ds=a/h=2"}},
	} {
		if got, err := ShowPartitions(t.Context(), hive, name, c.spec, c.most); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q, %d: %v, %v", c.spec, c.most, got, err)
		}
	}
	gone := refusing(func() error { return refused(codeInvalidTable, "Table not found") })
	if _, err := ShowPartitions(t.Context(), gone, name, "", 1); !errors.Is(err, ErrTableGone) {
		t.Errorf("got %v", err)
	}
}
