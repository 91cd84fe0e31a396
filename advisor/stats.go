package advisor

import "time"

// TableStats is what Hive's metastore says of one table or partition, read by DESCRIBE FORMATTED.
// A nil number is absent or −1 in Hive; it is never taken for zero.
type TableStats struct {
	// Table is "database.table", lower case; Partition is "" for the table itself, else "ds=2024-01-01/h=3" as SHOW PARTITIONS prints it.
	Table     string `json:"table"`
	Partition string `json:"partition,omitempty"`
	// Kind is Hive's table type: MANAGED_TABLE, EXTERNAL_TABLE, VIRTUAL_VIEW, MATERIALIZED_VIEW.
	Kind          string `json:"kind"`
	Rows          *int64 `json:"rows"`
	RawDataSize   *int64 `json:"raw_data_size"`
	TotalSize     *int64 `json:"total_size"`
	Files         *int64 `json:"files"`
	PartitionsNum *int64 `json:"partitions_num,omitempty"`
	// BasicAccurate: COLUMN_STATS_ACCURATE holds BASIC_STATS=true, or the numbers are those of an Iceberg table's snapshot. ColumnsAccurate: the columns it lists.
	BasicAccurate   bool     `json:"basic_accurate"`
	ColumnsAccurate []string `json:"columns_accurate,omitempty"`
	Transactional   bool     `json:"transactional"`
	// Temporary: a session's own table (its files lie in "_tmp_space.db"); no other session sees it or can analyze it.
	Temporary bool `json:"temporary,omitempty"`
	// StorageHandler is the handler's class for non-native tables (Iceberg, HBase, …); empty for native ones.
	StorageHandler string `json:"storage_handler,omitempty"`
	// RowsInFooters: the files are ORC or Parquet, whose footers hold their rows; ANALYZE … NOSCAN adds them up.
	RowsInFooters    bool         `json:"rows_in_footers,omitempty"`
	BucketColumns    []string     `json:"bucket_columns,omitempty"`
	SortColumns      []string     `json:"sort_columns,omitempty"`
	Buckets          int          `json:"buckets"`
	BucketingVersion int          `json:"bucketing_version"`
	PartitionColumns []string     `json:"partition_columns,omitempty"`
	ColumnTypes      []ColumnType `json:"column_types,omitempty"`
	// Columns holds the column statistics that were read, by lower-case column name; absent means not read or not there (see ColumnsRead).
	Columns map[string]ColumnStats `json:"columns,omitempty"`
	// ColumnsRead are the columns that were asked for.
	ColumnsRead []string  `json:"columns_read,omitempty"`
	ReadAt      time.Time `json:"read_at"`
}

// emptyFiles is more bytes than the files of a table without rows have.
const emptyFiles = int64(10_000)

// Uncounted: the table has files and, by the metastore, no rows: nobody has counted them. Hive plans it as one row or so.
func (t *TableStats) Uncounted() bool {
	return t.Rows != nil && *t.Rows == 0 && t.TotalSize != nil && *t.TotalSize > emptyFiles
}

// ColumnType is a column's name and Hive type.
type ColumnType struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// ColumnStats is one column's statistics as DESCRIBE FORMATTED table column prints them.
type ColumnStats struct {
	NDV    *int64   `json:"ndv"`
	Nulls  *int64   `json:"nulls"`
	AvgLen *float64 `json:"avg_len,omitempty"`
	MaxLen *int64   `json:"max_len,omitempty"`
	Trues  *int64   `json:"trues,omitempty"`
	Falses *int64   `json:"falses,omitempty"`
	Low    string   `json:"low,omitempty"`
	High   string   `json:"high,omitempty"`
}
