package statscheck

import (
	"errors"
	"reflect"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// The rows are those of Hive 4.0.1, whose DESCRIBE lists partition columns twice.
func TestReadShape(t *testing.T) {
	table := hiveql.TableName{Database: "db", Table: "t"}
	const describe, properties = "DESCRIBE `db`.`t`", "SHOW TBLPROPERTIES `db`.`t`"
	columns := rowsOf([]string{"id", "int", ""}, []string{"ds", "int", ""}, []string{"", "", ""}, []string{"# Partition Information", "", ""},
		[]string{"# col_name            ", "data_type           ", "comment             "}, []string{"ds", "int", ""})
	want := advisor.TableStats{
		Table: "db.t", Kind: "MANAGED_TABLE", PartitionColumns: []string{"ds"}, ColumnTypes: []advisor.ColumnType{{Name: "id", Type: "int"}, {Name: "ds", Type: "int"}},
	}
	external := want
	external.Kind, external.StorageHandler = "EXTERNAL_TABLE", "h"
	acid := want
	acid.Transactional = true
	for name, c := range map[string]struct {
		properties [][]*string
		want       advisor.TableStats
	}{
		"managed":  {rowsOf([]string{"bucketing_version", "2"}, []string{"numRows", "none"}), want},
		"external": {rowsOf([]string{"EXTERNAL", "TRUE"}, []string{"storage_handler", "h"}), external},
		"ACID":     {rowsOf([]string{"transactional", "true"}), acid},
	} {
		t.Run(name, func(t *testing.T) {
			hive := newFakeHive(t).on(describe, answer{rows: columns}).on(properties, answer{rows: c.properties})
			if got, err := ReadShape(t.Context(), hive, table); err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	hive := newFakeHive(t).on(describe, answer{err: refused(10001, "Table not found")})
	if _, err := ReadShape(t.Context(), hive, table); !errors.Is(err, ErrTableGone) {
		t.Errorf("no such table: %v", err)
	}
}
