package hiveql

// Kind is the kind of a HiveQL statement.
type Kind string

// Kinds. MULTI_INSERT is FROM … INSERT … INSERT; EXPLAIN covers its every form; OTHER is whatever is not listed.
const (
	KindSelect      Kind = "SELECT"
	KindInsert      Kind = "INSERT"
	KindMultiInsert Kind = "MULTI_INSERT"
	KindCTAS        Kind = "CTAS"
	KindMerge       Kind = "MERGE"
	KindUpdate      Kind = "UPDATE"
	KindDelete      Kind = "DELETE"
	KindExplain     Kind = "EXPLAIN"
	KindSet         Kind = "SET"
	KindUse         Kind = "USE"
	KindAnalyze     Kind = "ANALYZE"
	KindLoad        Kind = "LOAD"
	KindTruncate    Kind = "TRUNCATE"
	KindMSCK        Kind = "MSCK"
	KindCreate      Kind = "CREATE"
	KindAlter       Kind = "ALTER"
	KindDrop        Kind = "DROP"
	KindImport      Kind = "IMPORT"
	KindShow        Kind = "SHOW"
	KindDescribe    Kind = "DESCRIBE"
	KindOther       Kind = "OTHER"
)

// WriteOp is how a statement changes a table.
type WriteOp string

// Write operations. ALTER_PARTITION covers ADD, DROP, EXCHANGE and the like; ALTER_COLUMNS covers ADD, REPLACE and CHANGE COLUMN;
// COMPACT changes files and no rows.
const (
	WriteInsertInto      WriteOp = "INSERT_INTO"
	WriteInsertOverwrite WriteOp = "INSERT_OVERWRITE"
	WriteCreate          WriteOp = "CREATE" // CTAS
	WriteMerge           WriteOp = "MERGE"
	WriteUpdate          WriteOp = "UPDATE"
	WriteDelete          WriteOp = "DELETE"
	WriteLoad            WriteOp = "LOAD"
	WriteTruncate        WriteOp = "TRUNCATE"
	WriteMSCK            WriteOp = "MSCK"
	WriteAlterPartition  WriteOp = "ALTER_PARTITION"
	WriteAlterColumns    WriteOp = "ALTER_COLUMNS"
	WriteImport          WriteOp = "IMPORT"
	WriteDrop            WriteOp = "DROP"
	WriteCompact         WriteOp = "COMPACT"
	WriteRename          WriteOp = "RENAME" // the new name; the old one is dropped
)

// Write is one table a statement changes.
type Write struct {
	Op WriteOp
	// Table as named in the text; Database empty when it was not written.
	Table TableName
	// Partition holds the static part of a PARTITION clause, lower-case column → value as text without quotes; nil without the clause.
	Partition map[string]string
	// Dynamic are the clause's other columns, lower case and in order: dynamic partitions of an INSERT, comparisons other than = of
	// DROP PARTITION and MSCK, values that depend on a variable.
	Dynamic []string
	// Overwrite: LOAD … OVERWRITE. The INSERTs that overwrite have an Op of their own.
	Overwrite bool
}

// Analyze is an ANALYZE TABLE … COMPUTE STATISTICS, or an ALTER TABLE … UPDATE STATISTICS.
type Analyze struct {
	Table TableName
	// Partition and Dynamic are those of the PARTITION clause, as in Write; both nil for the whole table.
	Partition map[string]string
	Dynamic   []string
	// ForColumns: FOR COLUMNS; Columns are those named, lower case, nil for all of them.
	ForColumns bool
	Columns    []string
	// NoScan: NOSCAN, which counts no rows of text files.
	NoScan bool
	// ByHand: UPDATE STATISTICS, which sets numbers and counts nothing.
	ByHand bool
}

// TableName is a table's name as the metastore keeps it: lower case, no backticks.
type TableName struct {
	Database string
	Table    string
}

// String is "database.table", or "table" without a database.
func (t TableName) String() string {
	if t.Database == "" {
		return t.Table
	}
	return t.Database + "." + t.Table
}

// In returns t with database d where it names none.
func (t TableName) In(d string) TableName {
	if t.Database == "" {
		t.Database = d
	}
	return t
}

// Assignment is a SET statement's key and value.
type Assignment struct{ Key, Value string }

// Reset is a RESET statement: All for RESET alone, else the Keys it names.
type Reset struct {
	All  bool
	Keys []string
}

// Info is what the text of one statement tells without a server.
type Info struct {
	Kind Kind
	// Explainable: EXPLAIN takes the statement, and it reads at least two inputs or may (views hide joins, so every query that reads a table counts).
	Explainable bool
	// Normalized is the text with literals replaced by ?, comments and surplus white space removed; secrets in SET are gone too.
	Normalized string
	// Fingerprint is a hash of Normalized that is independent of letter case outside strings and of literals; 16 hexadecimal digits.
	Fingerprint string
	// Writes are the tables changed, in order.
	Writes []Write
	// OtherTargets is the number of INSERTs whose target is a directory, or a table whose name depends on a variable.
	OtherTargets int
	// DroppedDatabase is the database that the statement drops, lower case; with CASCADE all its tables go with it.
	DroppedDatabase string
	// Analyze is the table whose statistics the statement sets; nil for every other statement.
	Analyze *Analyze
	// Query is the text of the query inside CTAS (what can be explained after the table exists); empty otherwise.
	Query string
	// Set is the assignment of SET key=value, the value as HiveServer2 takes it (a trailing semicolon belongs to it) and the
	// key without "hiveconf:"; nil for "SET", "SET -v", "SET key" and every other statement. The value may be a secret: see Secret.
	Set *Assignment
	// Reset is what RESET gives back its configured value; nil for every other statement.
	Reset *Reset
	// Use is the database of USE in lower case; empty when its name holds a ${variable}.
	Use string
}
