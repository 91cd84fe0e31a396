package e2e

import (
	"fmt"
	"slices"
	"strings"
)

// kind is what a client does with a step.
type kind string

const (
	// run executes a statement and records its update count.
	run kind = "run"
	// query records columns and rows.
	query kind = "query"
	// digest records columns, the number of rows and a SHA-256 of all of them.
	digest kind = "digest"
	// fails executes a statement that Hive refuses and records the error.
	fails kind = "fails"
	// cancel starts a statement, cancels it once its operation log says that it runs and records how it ended.
	cancel kind = "cancel"
	// threads runs queries separated by ";;" at the same time, each in a session of its own, three times over.
	threads kind = "threads"
	// shared runs queries separated by ";;" at the same time in one session over one connection.
	shared kind = "shared"
	// metadata asks the driver for what it can tell of a database without a statement: schemas, tables, columns, types.
	metadata kind = "metadata"
)

// step is one thing that a client does. No field holds a tab or a line end: they travel as one line.
type step struct {
	kind kind
	name string
	sql  string
}

// client names the client a list of steps is for.
type client string

const (
	pyHive     client = "pyhive"
	impyla     client = "impyla"
	hiveDriver client = "hive-driver"
	goHive     client = "gohive"
	jdbc       client = "jdbc"
	beeline    client = "beeline"
)

// kinds are the kinds of steps that not every client knows.
var kinds = map[client][]kind{
	impyla:     {metadata},
	hiveDriver: {shared, metadata},
	jdbc:       {shared, metadata},
}

// Names of steps whose results not every client reads, and those of each that does not.
const (
	intervals = "intervals"
	union     = "a union"
)

var unread = map[client][]string{
	impyla: {intervals, union}, // its table of types ends before the intervals
	jdbc:   {union},
}

// allTypes are the columns of the table of all types, each with an ordinary and an extreme value.
var allTypes = []struct{ name, hiveType, ordinary, extreme string }{
	{"c_boolean", "BOOLEAN", "true", "false"},
	{"c_tinyint", "TINYINT", "7Y", "cast(-128 AS TINYINT)"},
	{"c_smallint", "SMALLINT", "300S", "cast(-32768 AS SMALLINT)"},
	{"c_int", "INT", "70000", "cast(-2147483648 AS INT)"},
	{"c_bigint", "BIGINT", "5000000000L", "9223372036854775807L"},
	{"c_float", "FLOAT", "cast(1.5 AS FLOAT)", "cast('-Infinity' AS FLOAT)"},
	{"c_double", "DOUBLE", "0.1D", "cast('NaN' AS DOUBLE)"},
	{"c_decimal", "DECIMAL(38,10)", "12.50", "-9999999999999999999999999999.9999999999"},
	{"c_string", "STRING", "'plain'", "concat('Größe \\t\\n \"quoted\" ', 'naïve 日本語 😀 عربى')"},
	{"c_varchar", "VARCHAR(12)", "cast('varchar' AS VARCHAR(12))", "cast('ÄÖÜäöüß😀' AS VARCHAR(12))"},
	{"c_char", "CHAR(6)", "cast('ab' AS CHAR(6))", "cast('' AS CHAR(6))"},
	{"c_date", "DATE", "DATE '2024-02-29'", "DATE '0001-01-01'"},
	{"c_timestamp", "TIMESTAMP", "TIMESTAMP '2024-02-29 12:34:56.789'", "TIMESTAMP '9999-12-31 23:59:59.999999999'"},
	{"c_binary", "BINARY", "unhex('00ff10')", "cast('' AS BINARY)"},
	{"c_array", "ARRAY<INT>", "array(1, 2, 3)", "array(cast(null AS INT))"},
	{"c_map", "MAP<STRING,BIGINT>", "map('k', 1L)", "map('ü', cast(null AS BIGINT))"},
	{"c_struct", "STRUCT<a:INT,b:STRING>", "named_struct('a', 1, 'b', 'x')", "named_struct('a', cast(null AS INT), 'b', '\"')"},
}

// typeSteps fill and read a table of all types, with a row of NULLs; and read the types that no table can hold.
func typeSteps() []step {
	var columns, ordinary, extreme, nulls []string
	for _, t := range allTypes {
		columns = append(columns, t.name+" "+t.hiveType)
		ordinary = append(ordinary, t.ordinary)
		extreme = append(extreme, t.extreme)
		nulls = append(nulls, "cast(null AS "+t.hiveType+")")
	}
	// Hive casts no NULL to a complex type: an element that is not there is one.
	for i, t := range allTypes {
		switch t.name {
		case "c_array":
			nulls[i] = "array(array(1))[5]"
		case "c_map":
			nulls[i] = "array(map('k', 1L))[5]"
		case "c_struct":
			nulls[i] = "array(named_struct('a', 1, 'b', 'x'))[5]"
		}
	}
	return []step{
		{run, "create a table of all types", "CREATE TABLE all_types (id INT, " + strings.Join(columns, ", ") + ") STORED AS ORC"},
		{run, "insert ordinary values", "INSERT INTO all_types SELECT 1, " + strings.Join(ordinary, ", ")},
		{run, "insert extreme values", "INSERT INTO all_types SELECT 2, " + strings.Join(extreme, ", ")},
		{run, "insert nulls", "INSERT INTO all_types SELECT 3, " + strings.Join(nulls, ", ")},
		{query, "read all types", "SELECT * FROM all_types ORDER BY id"},
		{query, intervals, "SELECT INTERVAL '1-2' YEAR TO MONTH AS ym, INTERVAL '3 04:05:06.789' DAY TO SECOND AS ds"},
		{query, "void and zoned timestamp", "SELECT null AS nothing, cast('2024-02-29 12:00:00 UTC' AS TIMESTAMP WITH LOCAL TIME ZONE) = cast('2024-02-29 13:00:00 Europe/Berlin' AS TIMESTAMP WITH LOCAL TIME ZONE) AS same"},
	}
}

// slow sleeps a millisecond for each of so many rows. It is no longer than a test needs because a task on a local
// HiveServer2 runs to its end although its query was cancelled, and the next query waits for it.
func slow(rows int) string {
	return fmt.Sprintf("SELECT max(s) FROM (SELECT reflect('java.lang.Thread', 'sleep', cast(id * 0 + 1 AS BIGINT)) AS s FROM big WHERE id < %d) t", rows)
}

// script are the steps for a client, in a database that they drop, make and drop again.
func (t Target) script(c client) []step {
	body := fullSteps(t.Database)
	if t.Brief {
		body = briefSteps(t.Database)
	}
	steps := append(firstSteps(t.Database), body...)
	if slices.Contains(kinds[c], shared) {
		steps = append(steps, step{shared, "two statements of one session at once", "SELECT * FROM orders ;; SELECT count(*) FROM customers"})
	}
	if slices.Contains(kinds[c], metadata) {
		steps = append(steps, step{metadata, "metadata", t.Database})
	}
	if !t.Brief {
		steps = append(steps, step{query, union, "SELECT create_union(0, 1, 'x') AS u"})
	}
	steps = slices.DeleteFunc(steps, func(s step) bool { return slices.Contains(unread[c], s.name) })
	return append(steps,
		step{run, "leave", "USE default"},
		step{run, "drop the database", "DROP DATABASE " + t.Database + " CASCADE"},
	)
}

// firstSteps make a database with two tables.
func firstSteps(db string) []step {
	return []step{
		{run, "drop what was left", "DROP DATABASE IF EXISTS " + db + " CASCADE"},
		{run, "create a database", "CREATE DATABASE " + db},
		{run, "use it", "USE " + db},
		{query, "where am I", "SELECT current_database(), logged_in_user()"},
		{run, "a setting", "SET hive.auto.convert.join.noconditionaltask.size=12345678"},
		{query, "read the setting", "SET hive.auto.convert.join.noconditionaltask.size"},
		{run, "create customers", "CREATE TABLE customers (customer_id BIGINT, segment STRING) STORED AS ORC"},
		{run, "create orders", "CREATE TABLE orders (order_id BIGINT, customer_id BIGINT, amount DECIMAL(10,2)) STORED AS ORC"},
		{run, "insert customers", "INSERT INTO customers VALUES (1, 'retail'), (2, 'größe'), (3, null), (null, 'nobody')"},
		{run, "insert orders", "INSERT INTO orders VALUES (10, 1, 10.50), (11, 2, 20), (12, 1, null), (13, 99, 1.00), (14, null, 2.00)"},
		{query, "inner join", "SELECT o.order_id, c.segment, o.amount FROM orders o JOIN customers c ON o.customer_id = c.customer_id ORDER BY o.order_id"},
		{query, "no rows", "SELECT * FROM orders WHERE 1 = 0"},
	}
}

// briefSteps are one of each kind: many values of all types without a table, rows in several batches, errors of the
// compiler and of a task, a cancel, two sessions.
func briefSteps(db string) []step {
	var ordinary, extreme []string
	for _, t := range allTypes {
		ordinary = append(ordinary, t.ordinary+" AS "+t.name)
		extreme = append(extreme, t.extreme+" AS "+t.name)
	}
	return []step{
		{query, "ordinary values", "SELECT " + strings.Join(ordinary, ", ")},
		{query, "extreme values", "SELECT " + strings.Join(extreme, ", ")},
		{run, "create a big table", "CREATE TABLE big STORED AS ORC AS SELECT i AS id, concat('row-', i) AS label FROM (SELECT posexplode(split(repeat(',', 11999), ',')) AS (i, x)) t"},
		{digest, "fetch many rows", "SELECT id, label, id / 7 AS part FROM big"},
		{fails, "unknown column", "SELECT no_such_column FROM orders"},
		{fails, "syntax error", "SELEKT 1"},
		{fails, "refused at run time", "SELECT max(id) FROM big WHERE assert_true(id < 5) IS NULL"},
		{cancel, "cancel", slow(2500)},
		{query, "usable after the cancel", "SELECT count(*) FROM customers"},
		{threads, "two sessions at once", "SELECT 'a', 1 ;; SELECT segment FROM " + db + ".customers"},
	}
}

// fullSteps are all that every client can do.
func fullSteps(db string) []step {
	steps := []step{
		{query, "left outer join", "SELECT o.order_id, c.segment FROM orders o LEFT OUTER JOIN customers c ON o.customer_id = c.customer_id ORDER BY o.order_id"},
		{query, "full outer join", "SELECT o.order_id, c.customer_id, c.segment FROM orders o FULL OUTER JOIN customers c ON o.customer_id = c.customer_id ORDER BY o.order_id, c.customer_id, c.segment"},
		{query, "join in a CTE, with comments", "WITH spent AS (SELECT customer_id, sum(amount) AS total FROM orders GROUP BY customer_id) /* a; b */ SELECT c.customer_id, s.total, 'it''s; -- no comment' AS note FROM customers c JOIN spent s ON c.customer_id = s.customer_id ORDER BY c.customer_id"},
		{query, "show tables", "SHOW TABLES"},
		{query, "describe", "DESCRIBE orders"},
		{run, "insert from a join", "INSERT INTO orders SELECT o.order_id + 100, c.customer_id, o.amount FROM orders o JOIN customers c ON o.customer_id = c.customer_id"},
		{run, "create as select", "CREATE TABLE joined STORED AS ORC AS SELECT o.order_id, c.segment FROM orders o JOIN customers c ON o.customer_id = c.customer_id"},
		{query, "count both", "SELECT (SELECT count(*) FROM orders) AS orders, (SELECT count(*) FROM joined) AS joined"},
		{run, "analyze", "ANALYZE TABLE orders COMPUTE STATISTICS FOR COLUMNS customer_id"},
		{query, "explain", "EXPLAIN CBO SELECT count(*) FROM orders o JOIN customers c ON o.customer_id = c.customer_id"},
	}
	steps = append(steps, typeSteps()...)
	return append(steps,
		step{run, "create a big table", "CREATE TABLE big STORED AS ORC AS SELECT i AS id, concat('row-', i) AS label FROM (SELECT posexplode(split(repeat(',', 99999), ',')) AS (i, x)) t"},
		step{digest, "fetch many rows", "SELECT id, label, id / 7 AS part FROM big ORDER BY id"},
		step{digest, "32 MB in four rows", "SELECT customer_id, repeat('0123456789', 800000) AS wide FROM customers ORDER BY customer_id"},
		step{digest, "many columns", "SELECT " + manyColumns(300) + " FROM customers ORDER BY c0"},
		step{digest, "a long statement", "SELECT count(*) FROM big WHERE label <> '" + strings.Repeat("long ", 40_000) + "'"},
		step{fails, "unknown column", "SELECT no_such_column FROM orders"},
		step{fails, "unknown table", "SELECT * FROM no_such_table"},
		step{fails, "syntax error", "SELEKT 1"},
		step{fails, "unknown function", "SELECT no_such_function(order_id) FROM orders"},
		step{fails, "refused at run time", "SELECT max(id) FROM big WHERE assert_true(id < 5) IS NULL"},
		step{query, "usable after errors", "SELECT count(*) FROM customers"},
		step{cancel, "cancel", slow(10_000)},
		step{query, "usable after the cancel", "SELECT count(*) FROM customers"},
		step{threads, "two sessions at once", fmt.Sprintf("SELECT count(*), 'a' FROM %s.orders ;; SELECT o.order_id, c.segment FROM %s.orders o JOIN %s.customers c ON o.customer_id = c.customer_id ORDER BY o.order_id, c.segment", db, db, db)},
	)
}

// manyColumns are n expressions named c0, c1, ….
func manyColumns(n int) string {
	columns := make([]string, n)
	for i := range columns {
		columns[i] = fmt.Sprintf("customer_id + %d AS c%d", i, i)
	}
	return strings.Join(columns, ", ")
}

// encode renders steps as the clients read them from standard input: kind, name and SQL between tabs, a step a line.
func encode(steps []step) (string, error) {
	var b strings.Builder
	for _, s := range steps {
		for _, field := range []string{s.name, s.sql} {
			if strings.ContainsAny(field, "\t\n\r") {
				return "", fmt.Errorf("step %q holds a tab or a line end", s.name)
			}
		}
		b.WriteString(string(s.kind) + "\t" + s.name + "\t" + s.sql + "\n")
	}
	return b.String(), nil
}
