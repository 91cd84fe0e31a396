// Command capture writes the golden plans: it makes small tables on a HiveServer2 (HS2PROXY_TEST_HS2, host:port), lets it
// explain one query per join strategy and join type, and some of other shapes, in every text form, and writes a file for
// each. Nothing of a query runs, and no table but Iceberg's holds rows: statistics are set. What differs from run to run, or tells of
// the machine, is masked; lines on file formats, of which EXTENDED has many, are left out, and so is vectorization's form
// but for inner joins.
//
//	go run ./cmd/hs2proxy/internal/localhive/withhive go run ./cmd/hs2proxy/internal/plans/capture DIR [NAME…]
//
// Plans of ACID tables take a server with transactions (withhive -transactions), plans of Iceberg tables one with its handler
// (-jars DIR); where the server has not, they stay as they are.
//
// With names (or patterns such as dphj_*), only those plans are captured anew. A strategy that Hive does not choose for a
// join type gives no file; it is named on standard error. `make golden` runs it over advisor/explain/testdata/golden-hive.
package main
