// Package faults holds tests of whole proxies under faults: Toxiproxy, in the test's own process, delays, throttles, resets, closes
// late or swallows what passes between clients, HiveServer2, Postgres and the proxy. While only the analysis or Postgres is affected,
// clients must see the same bytes as without a fault, and every statement must be recorded once in the end.
package faults
