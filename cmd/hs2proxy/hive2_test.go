package main

import (
	"fmt"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// hive2Edges are joins at which Hive 2's rules leave those of Hive 3 and 4, and one of each strategy. The small tables hold 2,000,000 bytes.
var hive2Edges = []edge{
	{"map join", fmt.Sprintf(innerSQL, ""), nil, advisor.MapJoin},
	{"a hash table as large as its data", fmt.Sprintf(innerSQL, ""), map[string]string{budgetOf: "2000000"}, advisor.MapJoin},
	{"a byte too large", fmt.Sprintf(leftSQL, ""), map[string]string{budgetOf: "1999999"}, advisor.MergeJoin},
	{"hash join of partitions", fmt.Sprintf(innerSQL, ""), map[string]string{budgetOf: "1500000", dphjOf: "true", reducerBytesOf: "10000000"}, advisor.DPHJ},
	{"bucket map join", fmt.Sprintf(innerSQL, "_bucketed"), map[string]string{budgetOf: "1500000", bucketMapJoinOf: "true"}, advisor.BucketMapJoin},
	{"bucket map joins are off", fmt.Sprintf(innerSQL, "_bucketed"), map[string]string{budgetOf: "1500000"}, advisor.MergeJoin},
	{"sorted buckets", fmt.Sprintf(innerSQL, "_sorted"), map[string]string{budgetOf: "1000", "hive.auto.convert.sortmerge.join": "true"}, advisor.SMB},
	{"full outer", "SELECT a.v, b.v FROM big a FULL OUTER JOIN small b ON a.k = b.k", map[string]string{dphjOf: "true"}, advisor.MergeJoin},
	{"not exists", "SELECT a.v FROM big a WHERE NOT EXISTS (SELECT 1 FROM small b WHERE a.k = b.k)", nil, advisor.MapJoin},
	{"a cross product", "SELECT a.v, b.v FROM big a CROSS JOIN small b", map[string]string{"hive.strict.checks.cartesian.product": "false"}, advisor.MapJoin},
	{"no network is compared", fmt.Sprintf(innerSQL, "_bucketed"), llapOf(252, bucketMapJoinOf, "true"), advisor.BucketMapJoin},
	{"reducers for buckets", groupedBigSQL, map[string]string{bucketMapJoinOf: "true", reducerBytesOf: "10000000"}, advisor.BucketMapJoin},
	{"one reducer", groupedBigSQL, map[string]string{bucketMapJoinOf: "true", reducerBytesOf: "1000000000"}, advisor.MapJoin},
	{"buckets of a column that is no key", "SELECT a.v, b.v FROM big_other a JOIN small b ON a.k = b.k", map[string]string{bucketMapJoinOf: "true"}, advisor.MapJoin},
	{"too many distinct keys", fmt.Sprintf(innerSQL, ""), map[string]string{entriesOf: "9999", "hive.stats.fetch.column.stats": "true"}, advisor.MergeJoin},
}

// TestHive2Edges: each is planned as the rules of Hive 2 foretell, on the server that HS2PROXY_TEST_HIVE2 names.
func TestHive2Edges(t *testing.T) {
	h := startRealHive(t, "HS2PROXY_TEST_HIVE2", "a HiveServer2 of Hive 2.3 on Tez")
	h.run(h.open(h.address), "USE "+h.database,
		"CREATE TABLE big_other (k BIGINT, v STRING) CLUSTERED BY (v) INTO 4 BUCKETS STORED AS ORC",
		"ALTER TABLE big_other UPDATE STATISTICS SET ('numRows'='5000000','rawDataSize'='500000000')")
	h.plansAsSimulated(hive2Edges)
}
