package e2e

import (
	"os"
	"testing"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive"
)

// rig is a HiveServer2 and the program that operators run. What is tried on it one after the other has databases of its own, in Hive
// and in Postgres.
type rig struct {
	address, httpAddress string
	// log is HiveServer2's log file.
	log     string
	program string
}

// engineConf is what the rig's HiveServer2 is told beyond localhive's own.
func engineConf() map[string]string {
	return map[string]string{
		// Each session has a Tez of its own: what runs on after its proxy was killed does not keep the one that follows it from running.
		"hive.server2.tez.initialize.default.sessions": "false",
		// EXPLAIN ANALYZE executes its query while it compiles, and others are to compile meanwhile.
		"hive.driver.parallel.compilation": "true",
		// Without direct SQL a fresh Derby metastore has the table of partitions' column statistics made.
		"metastore.try.direct.sql": "false",
	}
}

// The refresh engine as operators run it, processes of hs2proxy serve before a real HiveServer2: what schedules do, what is asked for,
// what is refused, what is counted, and what becomes of a refresh whose proxy is killed or whose window ends.
func TestRefreshEngine(t *testing.T) {
	hive := startHive(t, localhive.Options{HTTP: true, Conf: engineConf()})
	runEngine(t, rig{address: hive.Address(), httpAddress: hive.HTTPAddress(), log: hive.LogFile(), program: buildServe(t)})
}

func runEngine(t *testing.T, r rig) {
	full := os.Getenv("HS2PROXY_E2E_FULL") == "1"
	for _, part := range []struct {
		name string
		full bool
		run  func(*testing.T, rig)
	}{
		{"schedule", false, schedulesFireOnce},
		{"kinds", false, kindsOfTables},
		{"operators", false, operatorsAsk},
		{"explain analyze", false, explainAnalyzes},
		{"explain analyze ends", true, explainAnalyzeEnds},
		{"counters", false, countersPass},
		{"partitions", true, manyPartitions},
		{"restore", false, restores},
		{"killed, binary", false, func(t *testing.T, r rig) { killed(t, r, "binary") }},
		{"killed, http", false, func(t *testing.T, r rig) { killed(t, r, "http") }},
		{"window", false, windowEnds},
	} {
		t.Run(part.name, func(t *testing.T) {
			if part.full && !full {
				t.Skip("set HS2PROXY_E2E_FULL=1 too: this takes minutes")
			}
			part.run(t, r)
		})
	}
}
