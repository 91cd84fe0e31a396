// Command wirebench measures what a proxy in front of a HiveServer2 costs: a fake HiveServer2 in a process of its own, reached
// directly, through HAProxy and through hs2proxy, in turns, on this machine's loopback. `make bench` runs it; docs/benchmarks.md
// says what the table means.
//
//	wirebench -rounds 9 -duration 2s -scenarios ping,query -json result.json
//
// It starts fresh proxies for each scenario and ends every process that it started.
package main
