package sample

import (
	"fmt"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// Budget is the map-join budget of the sample's sessions in bytes, in proportion to its tables: it holds the hash
// table of products or returned_orders, not that of customers, invoices or orders.
const Budget = 200_000

// Query is one sample query.
type Query struct {
	// Name is unique and short; Why is one sentence on what its plan shows.
	Name string
	Why  string
	// Settings are the statements its session needs first: USE and SETs.
	Settings []string
	SQL      string
	// Want are the strategies of its joins in plan order, as verified on Hive 4.0.1. They are for tests only: what the
	// demo shows comes from the plan.
	Want []advisor.Strategy
}

// Queries are the sample queries over Setup's database. Each runs in a session of its own.
func Queries(db string) []Query {
	session := func(more ...string) []string {
		return append([]string{use(db), budget()}, more...)
	}
	return []Query{
		{
			Name:     "revenue by category",
			Why:      "products fits the budget, so it is broadcast to every task that reads orders",
			Settings: session(),
			SQL: `SELECT p.category, sum(o.amount) AS revenue
FROM orders o JOIN products p ON o.product_id = p.product_id
GROUP BY p.category`,
			Want: []advisor.Strategy{advisor.MapJoin},
		},
		{
			Name:     "revenue by segment",
			Why:      "neither orders nor customers fits the budget, so both are shuffled and sorted",
			Settings: session(),
			SQL: `SELECT c.segment, count(*) AS orders, sum(o.amount) AS revenue
FROM orders o JOIN customers c ON o.customer_id = c.customer_id
GROUP BY c.segment`,
			Want: []advisor.Strategy{advisor.MergeJoin},
		},
		{
			Name: "revenue by country",
			Why:  "with dynamically partitioned hash joins allowed, each reducer's share of customers fits the budget",
			Settings: session("SET hive.optimize.dynamic.partition.hashjoin=true",
				"SET hive.exec.reducers.bytes.per.reducer=800000"),
			SQL: `SELECT c.country, sum(o.amount) AS revenue
FROM orders o JOIN customers c ON o.customer_id = c.customer_id
GROUP BY c.country`,
			Want: []advisor.Strategy{advisor.DPHJ},
		},
		{
			Name:     "reading time by plan",
			Why:      "both tables are bucketed by account_id and one bucket of accounts fits the budget",
			Settings: session(),
			SQL: `SELECT a.plan, sum(v.seconds) AS seconds
FROM page_views v JOIN accounts a ON v.account_id = a.account_id
GROUP BY a.plan`,
			Want: []advisor.Strategy{advisor.BucketMapJoin},
		},
		{
			Name:     "open invoices",
			Why:      "not even one of two buckets fits, but both tables are sorted by the key and are merged as they lie",
			Settings: session(),
			SQL: `SELECT count(*) AS invoices, sum(i.total - p.paid) AS open_amount
FROM invoices i JOIN payments p ON i.invoice_id = p.invoice_id`,
			Want: []advisor.Strategy{advisor.SMB},
		},
		{
			Name:     "orders per customer",
			Why:      "a left outer join can stream only its left side, and orders, on the right, is too large to be hashed",
			Settings: session(),
			SQL: `SELECT c.segment, count(o.order_id) AS orders
FROM customers c LEFT OUTER JOIN orders o ON c.customer_id = o.customer_id
GROUP BY c.segment`,
			Want: []advisor.Strategy{advisor.MergeJoin},
		},
		{
			Name:     "share of returned orders",
			Why:      "the same kind of join with the small table on the right is a broadcast",
			Settings: session(),
			SQL: `SELECT count(*) AS orders, count(r.order_id) AS returned
FROM orders o LEFT OUTER JOIN returned_orders r ON o.order_id = r.order_id`,
			Want: []advisor.Strategy{advisor.MapJoin},
		},
		{
			Name:     "customers without an order",
			Why:      "NOT EXISTS becomes an anti join, which hashes its right side: orders is too large",
			Settings: session(),
			SQL: `SELECT c.segment, count(*) AS customers
FROM customers c
WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.customer_id)
GROUP BY c.segment`,
			Want: []advisor.Strategy{advisor.MergeJoin},
		},
		{
			Name:     "revenue lost to returns",
			Why:      "IN becomes a left semi join, whose right side, returned_orders, is broadcast",
			Settings: session(),
			SQL: `SELECT count(*) AS orders, sum(o.amount) AS revenue
FROM orders o
WHERE o.order_id IN (SELECT order_id FROM returned_orders)`,
			Want: []advisor.Strategy{advisor.MapJoin},
		},
		{
			Name:     "returned and paid",
			Why:      "three tables on one key are one join of three inputs, two of which are too large",
			Settings: session("SET hive.merge.nway.joins=true"),
			SQL: `SELECT r.reason, sum(o.amount) AS ordered, count(p.invoice_id) AS paid
FROM orders o
JOIN returned_orders r ON o.order_id = r.order_id
JOIN payments p ON o.order_id = p.invoice_id
GROUP BY r.reason`,
			Want: []advisor.Strategy{advisor.MergeJoin},
		},
		{
			Name:     "revenue by category and segment",
			Why:      "two joins in one query: products is broadcast, customers is shuffled",
			Settings: session(),
			SQL: `SELECT p.category, c.segment, sum(o.amount) AS revenue
FROM orders o
JOIN products p ON o.product_id = p.product_id
JOIN customers c ON o.customer_id = c.customer_id
GROUP BY p.category, c.segment`,
			Want: []advisor.Strategy{advisor.MergeJoin, advisor.MapJoin},
		},
		{
			Name: "too many keys",
			Why:  "the bytes fit the default budget, but more than 5,000 keys are not to go into one hash table",
			Settings: []string{
				use(db), "SET hive.auto.convert.join.noconditionaltask.size=10000000",
				"SET hive.auto.convert.join.hashtable.max.entries=5000",
			},
			SQL: `SELECT c.country, count(*) AS orders
FROM orders o JOIN customers c ON o.customer_id = c.customer_id
GROUP BY c.country`,
			Want: []advisor.Strategy{advisor.MergeJoin},
		},
	}
}

func budget() string {
	return fmt.Sprintf("SET hive.auto.convert.join.noconditionaltask.size=%d", Budget)
}
