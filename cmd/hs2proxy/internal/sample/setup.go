package sample

import (
	"fmt"
	"strings"
)

// Database is the demo's database name.
const Database = "hs2proxy_demo"

// table is one table of the shop with the expressions that fill it; i counts its rows from 0.
type table struct {
	name    string
	columns string
	layout  string
	rows    int
	values  string
}

var shop = []table{
	{
		name:    "customers",
		columns: "customer_id BIGINT, name STRING, segment STRING, country STRING",
		rows:    8000,
		values:  "i + 1, concat('customer ', i + 1), array('retail', 'business', 'public')[i % 3], array('DE', 'FR', 'NL', 'PL', 'SE')[i % 5]",
	},
	{
		name:    "products",
		columns: "product_id INT, title STRING, category STRING, price DECIMAL(8,2)",
		rows:    200,
		values:  "i + 1, concat('product ', i + 1), array('books', 'garden', 'kitchen', 'toys')[i % 4], cast((i % 90 + 5) / 2 AS DECIMAL(8,2))",
	},
	{ // customers 7001 to 8000 never ordered anything
		name:    "orders",
		columns: "order_id BIGINT, customer_id BIGINT, product_id INT, order_date DATE, amount DECIMAL(10,2)",
		rows:    20000,
		values:  "i + 1, i * 37 % 7000 + 1, i * 31 % 200 + 1, date_add('2026-01-01', i % 180), cast(i % 997 / 4 AS DECIMAL(10,2))",
	},
	{
		name:    "returned_orders",
		columns: "order_id BIGINT, reason STRING",
		rows:    600,
		values:  "i * 33 + 1, array('broken', 'late', 'wrong item')[i % 3]",
	},
	{
		name:    "accounts",
		columns: "account_id BIGINT, plan STRING",
		layout:  "CLUSTERED BY (account_id) INTO 4 BUCKETS",
		rows:    8000,
		values:  "i + 1, array('free', 'team', 'company')[i % 3]",
	},
	{
		name:    "page_views",
		columns: "account_id BIGINT, page STRING, seconds INT",
		layout:  "CLUSTERED BY (account_id) INTO 4 BUCKETS",
		rows:    20000,
		values:  "i * 13 % 8000 + 1, concat('/page/', i % 40), i % 300",
	},
	{
		name:    "invoices",
		columns: "invoice_id BIGINT, customer_id BIGINT, total DECIMAL(10,2)",
		layout:  "CLUSTERED BY (invoice_id) SORTED BY (invoice_id) INTO 2 BUCKETS",
		rows:    20000,
		values:  "i + 1, i % 7000 + 1, cast(i % 700 AS DECIMAL(10,2))",
	},
	{
		name:    "payments",
		columns: "invoice_id BIGINT, paid DECIMAL(10,2), paid_on DATE",
		layout:  "CLUSTERED BY (invoice_id) SORTED BY (invoice_id) INTO 2 BUCKETS",
		rows:    18000,
		values:  "i + 1, cast(i % 700 AS DECIMAL(10,2)), date_add('2026-02-01', i % 100)",
	},
	{
		name:    "campaign_targets",
		columns: "customer_id BIGINT, channel STRING, score INT",
		rows:    6000,
		values:  targetValues,
	},
	{
		name:    "web_sessions",
		columns: "customer_id BIGINT, landing_page STRING, pages INT",
		rows:    500,
		values:  sessionValues,
	},
}

const (
	targetValues  = "i + 1, array('mail', 'phone')[i % 2], i % 100"
	sessionValues = "i * 7 % 8000 + 1, array('/home', '/sale')[i % 2], i % 20"
)

// gather makes a session's INSERTs gather statistics, whatever the server's default is.
var gather = []string{"SET hive.stats.autogather=true", "SET hive.stats.column.autogather=true"}

// Setup are the statements, in order and for one session, that drop and make the database. They take about 15 s in
// Tez local mode.
func Setup(db string) []string {
	statements := append(Teardown(db), "CREATE DATABASE "+quote(db)+" COMMENT 'Sample data of hs2proxy demo'", use(db))
	statements = append(statements, gather...)
	for _, t := range shop {
		create := fmt.Sprintf("CREATE TABLE %s (%s)", t.name, t.columns)
		if t.layout != "" {
			create += " " + t.layout
		}
		statements = append(statements, create+" STORED AS ORC", "INSERT INTO TABLE "+t.name+" "+generate(t.values, t.rows))
	}
	return statements
}

// Teardown drops the database.
func Teardown(db string) []string {
	return []string{"DROP DATABASE IF EXISTS " + quote(db) + " CASCADE"}
}

// generate is a SELECT of so many rows, of expressions over the row number i from 0.
func generate(values string, rows int) string {
	return fmt.Sprintf("SELECT %s FROM (SELECT posexplode(split(repeat(',', %d), ',')) AS (i, nothing)) numbers", values, rows-1)
}

func use(db string) string { return "USE " + quote(db) }

func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
