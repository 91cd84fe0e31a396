package statscheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// ErrDescribe: the rows are not what DESCRIBE FORMATTED prints.
var ErrDescribe = errors.New("not the output of DESCRIBE FORMATTED")

// Headings of DESCRIBE FORMATTED (org.apache.hadoop.hive.ql.ddl.table.info.desc.formatter.TextDescTableFormatter).
const (
	headPartitionColumns = "# Partition Information"
	headTable            = "# Detailed Table Information"
	headPartition        = "# Detailed Partition Information"
	headStorage          = "# Storage Information"
	headView             = "# View Information"
	headMaterialized     = "# Materialized View Information"
	headColumns          = "# col_name"
)

// paramAccurate is StatsSetupConst.COLUMN_STATS_ACCURATE.
const paramAccurate = "COLUMN_STATS_ACCURATE"

// ParseDescribe reads the three columns of DESCRIBE FORMATTED for a table, view or partition. table is the "database.table" it was
// asked for. For a partition, Partition is taken from "Partition Value" and the partition columns, and Kind is empty: Hive
// prints no table type there. Numbers that Hive lacks or gives as −1 are nil. Errors are ErrDescribe.
func ParseDescribe(rows [][]*string, table string) (advisor.TableStats, error) {
	p := describer{stats: advisor.TableStats{Table: strings.ToLower(table)}, section: headColumns}
	for i, row := range rows {
		if err := p.row(cells(row)); err != nil {
			return advisor.TableStats{}, fmt.Errorf("%w: row %d: %w", ErrDescribe, i, err)
		}
	}
	switch {
	case !p.detailed:
		return advisor.TableStats{}, fmt.Errorf("%w: %d rows without %q", ErrDescribe, len(rows), headTable)
	case !p.partition && p.stats.Kind == "":
		return advisor.TableStats{}, fmt.Errorf("%w: no Table Type", ErrDescribe)
	case p.partition && p.stats.Partition == "":
		return advisor.TableStats{}, fmt.Errorf("%w: Partition Value %v does not fit the partition columns %v",
			ErrDescribe, p.values, p.stats.PartitionColumns)
	}
	return p.result(), nil
}

// cells are a row's three values without padding; NULL is empty.
func cells(row []*string) [3]string {
	var c [3]string
	for i := range min(len(row), len(c)) {
		if row[i] != nil {
			c[i] = strings.TrimSpace(*row[i])
		}
	}
	return c
}

type describer struct {
	stats   advisor.TableStats
	section string
	// params: within "Table Parameters:" or "Partition Parameters:", whose rows have an empty first cell.
	params bool
	// snapshot: an Iceberg table has one, with its rows in the summary.
	snapshot  bool
	detailed  bool
	partition bool
	values    string
}

// result takes an Iceberg table's basic statistics for accurate. Every commit, whoever makes it, writes numRows, numFiles and totalSize anew
// from the snapshot's summary, and the planner reads the summary itself (HiveIcebergStorageHandler.getBasicStatistics). Hive's writes
// leave BASIC_STATS out all the same: only ANALYZE and TRUNCATE set it.
func (p *describer) result() advisor.TableStats {
	if p.snapshot && p.stats.StorageHandler == icebergHandler && p.stats.Rows != nil {
		p.stats.BasicAccurate = true
	}
	return p.stats
}

func (p *describer) row(c [3]string) error {
	switch {
	case c[0] == "" && c[1] == "":
		p.params = false
		return nil
	case strings.HasPrefix(c[0], headColumns):
		return nil // the columns' own heading
	case strings.HasPrefix(c[0], "# "):
		p.section, p.params = c[0], false
		p.detailed = p.detailed || c[0] == headTable || c[0] == headPartition
		p.partition = p.partition || c[0] == headPartition
		return nil
	}
	switch p.section {
	case headColumns:
		p.stats.ColumnTypes = append(p.stats.ColumnTypes, advisor.ColumnType{Name: strings.ToLower(c[0]), Type: c[1]})
		return nil
	case headPartitionColumns:
		p.partitionColumn(strings.ToLower(c[0]), c[1])
		return nil
	case headTable, headPartition:
		return p.detail(c)
	case headStorage:
		return p.storage(c)
	}
	return nil
}

// partitionColumn: Hive lists partition columns once, below their own heading; older versions list them among the columns too.
func (p *describer) partitionColumn(name, hiveType string) {
	p.stats.PartitionColumns = append(p.stats.PartitionColumns, name)
	if !slices.ContainsFunc(p.stats.ColumnTypes, func(c advisor.ColumnType) bool { return c.Name == name }) {
		p.stats.ColumnTypes = append(p.stats.ColumnTypes, advisor.ColumnType{Name: name, Type: hiveType})
	}
}

func (p *describer) detail(c [3]string) error {
	if p.params && c[0] == "" {
		return p.parameter(c[1], c[2])
	}
	p.params = false
	switch c[0] {
	case "Table Parameters:", "Partition Parameters:":
		p.params = true
	case "Table Type:":
		p.stats.Kind = c[1]
	case "Location:":
		// SessionState keeps a session's temporary tables below this folder of its scratch directory.
		p.stats.Temporary = strings.Contains(c[1], "/_tmp_space.db/")
	case "Partition Value:":
		p.values = c[1]
		p.stats.Partition = partitionName(p.stats.PartitionColumns, c[1])
	}
	return nil
}

// parameter is one row of the table's or partition's parameters; the names are StatsSetupConst's and hive_metastoreConstants'.
func (p *describer) parameter(key, value string) error {
	var err error
	switch key {
	case "numRows":
		p.stats.Rows, err = known(value)
	case "rawDataSize":
		p.stats.RawDataSize, err = known(value)
	case "totalSize":
		p.stats.TotalSize, err = known(value)
	case "numFiles":
		p.stats.Files, err = known(value)
	case "numPartitions":
		p.stats.PartitionsNum, err = known(value)
	case "bucketing_version":
		p.stats.BucketingVersion, err = strconv.Atoi(value)
	case "transactional":
		p.stats.Transactional = strings.EqualFold(value, "true")
	case "current-snapshot-id":
		p.snapshot = true
	case "storage_handler":
		p.stats.StorageHandler = value
	case paramAccurate:
		p.stats.BasicAccurate, p.stats.ColumnsAccurate, err = parseAccurate(value)
	}
	if err != nil {
		return fmt.Errorf("parameter %s: %w", key, err)
	}
	return nil
}

// formatsWithFooters are the input formats whose files tell their rows (BasicStatsNoJobTask reads StatsProvidingRecordReader).
var formatsWithFooters = []string{
	"org.apache.hadoop.hive.ql.io.orc.OrcInputFormat", "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
}

func (p *describer) storage(c [3]string) error {
	switch c[0] {
	case "InputFormat:":
		p.stats.RowsInFooters = slices.Contains(formatsWithFooters, c[1])
	case "Num Buckets:":
		n, err := strconv.Atoi(c[1])
		if err != nil {
			return fmt.Errorf("number of buckets: %w", err)
		}
		p.stats.Buckets = max(n, 0) // −1 stands for none
	case "Bucket Columns:":
		p.stats.BucketColumns = list(c[1])
	case "Sort Columns:":
		p.stats.SortColumns = sortColumns(c[1])
	}
	return nil
}

// known is a number of Hive's, nil for −1. Numbers below −1 are kept: R1 wants to see them.
func known(s string) (*int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return nil, err
	}
	if n == -1 {
		return nil, nil // absent is an answer
	}
	return &n, nil
}

// parseAccurate reads COLUMN_STATS_ACCURATE, a JSON object whose quotes DESCRIBE escapes. Hive 1 wrote just "true" or "false".
func parseAccurate(s string) (basic bool, columns []string, err error) {
	switch strings.ToLower(s) {
	case "":
		return false, nil, nil
	case "true", "false":
		return strings.EqualFold(s, "true"), nil, nil
	}
	var v struct {
		Basic   string            `json:"BASIC_STATS"`
		Columns map[string]string `json:"COLUMN_STATS"`
	}
	if json.Unmarshal([]byte(s), &v) != nil {
		if err := json.Unmarshal([]byte(strings.ReplaceAll(s, `\"`, `"`)), &v); err != nil {
			return false, nil, fmt.Errorf("%q: %w", s, err)
		}
	}
	for c, ok := range v.Columns {
		if ok == "true" {
			columns = append(columns, strings.ToLower(c))
		}
	}
	slices.Sort(columns)
	return v.Basic == "true", columns, nil
}

// list reads Java's "[a, b]".
func list(s string) []string {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	if s == "" {
		return nil
	}
	return strings.Split(s, ", ")
}

// sortColumns reads "[Order(col:id, order:1), …]" into column names in order, without their directions: Hive's OpTraits have none.
func sortColumns(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, "Order(col:") {
		if name, _, ok := strings.Cut(part, ", order:"); ok {
			out = append(out, name)
		}
	}
	return out
}
