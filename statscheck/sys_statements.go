package statscheck

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// The statements read one table each: Hive runs no join without Tez. Names are those of Hive's hive-schema-4.0.0.hive.sql;
// 3.1 has no column ENGINE, which tells Hive's statistics from Impala's, so that its sys is refused.
const (
	sysSizes  = "SELECT `sequence_name`, `next_val` FROM `sys`.`sequence_table`"
	sysDBs    = "SELECT `db_id`, `name` FROM `sys`.`dbs` WHERE `name` IN (%s)"
	sysTables = "SELECT `tbl_id`, `db_id`, `tbl_name`, `tbl_type` FROM `sys`.`tbls` WHERE %s"
	sysParams = "SELECT `tbl_id`, `param_key`, `param_value` FROM `sys`.`table_params` WHERE `tbl_id` IN (%s)"
	sysKeys   = "SELECT `tbl_id`, `pkey_name`, `integer_idx` FROM `sys`.`partition_keys` WHERE `tbl_id` IN (%s)"

	sysColumnFields = "`column_name`, `column_type`, `long_low_value`, `long_high_value`, `double_low_value`, `double_high_value`, " +
		"`big_decimal_low_value`, `big_decimal_high_value`, `num_nulls`, `num_distincts`, `avg_col_len`, `max_col_len`, `num_trues`, " +
		"`num_falses`, `last_analyzed`"
	sysColumns = "SELECT `tbl_id`, " + sysColumnFields + " FROM `sys`.`tab_col_stats` WHERE `engine` = 'hive' AND `tbl_id` IN (%s)"

	sysPartitions       = "SELECT `part_id`, `tbl_id`, `part_name` FROM `sys`.`partitions` WHERE `tbl_id` IN (%s)"
	sysPartitionParams  = "SELECT `part_id`, `param_key`, `param_value` FROM `sys`.`partition_params` WHERE `part_id` BETWEEN %d AND %d"
	sysPartitionColumns = "SELECT `part_id`, " + sysColumnFields + " FROM `sys`.`part_col_stats` WHERE `engine` = 'hive' AND `part_id` BETWEEN %d AND %d"
)

// limited bounds the rows that reach us; one more than allowed shows that there are too many.
func limited(sql string) string { return fmt.Sprintf("%s LIMIT %d", sql, maxSysRows+1) }

// sysSamples are statements of the forms that ReadSys uses.
func sysSamples() []string {
	return []string{
		sysSizes, limited(fmt.Sprintf(sysDBs, "'default'")), limited(fmt.Sprintf(sysTables, "(`db_id` = 1 AND `tbl_name` IN ('t'))")),
		limited(fmt.Sprintf(sysParams, "1")), limited(fmt.Sprintf(sysKeys, "1")), limited(fmt.Sprintf(sysColumns, "1")),
		limited(fmt.Sprintf(sysPartitions, "1")), limited(fmt.Sprintf(sysPartitionParams, 1, 1)), limited(fmt.Sprintf(sysPartitionColumns, 1, 1)),
	}
}

// databaseNames is an IN list of the databases of tables, each once.
func databaseNames(tables []hiveql.TableName) string {
	var names []string
	for _, t := range tables {
		if name := stringLiteral(strings.ToLower(t.Database)); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// tablesOf is a condition that holds for the tables, by the ids of their databases. It is empty where no database has one.
func tablesOf(tables []hiveql.TableName, databases map[int64]string) string {
	var parts []string
	for _, id := range sortedIDs(databases) {
		var names []string
		for _, t := range tables {
			if strings.EqualFold(t.Database, databases[id]) {
				names = append(names, stringLiteral(strings.ToLower(t.Table)))
			}
		}
		if len(names) > 0 {
			parts = append(parts, fmt.Sprintf("(`db_id` = %d AND `tbl_name` IN (%s))", id, strings.Join(names, ", ")))
		}
	}
	return strings.Join(parts, " OR ")
}

// idList is an IN list.
func idList(ids []int64) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = strconv.FormatInt(id, 10)
	}
	return strings.Join(parts, ", ")
}
