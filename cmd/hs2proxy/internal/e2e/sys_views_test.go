package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// A round of checks describes every table as long as the service user may not read sys. Once it may, the round looks into sys first: a
// table that has not changed is not described again, one that somebody has loaded files into is, and is found stale. No statement starts
// a job.
func TestSysViews(t *testing.T) {
	if os.Getenv("HS2PROXY_E2E") != "1" || os.Getenv("HS2PROXY_E2E_FULL") != "1" {
		t.Skip("set HS2PROXY_E2E=1 and HS2PROXY_E2E_FULL=1 to read the sys database of a real HiveServer2")
	}
	const db = "e2e_sys"
	hive := sysHive(t)
	admin := session(t, hive.Address())
	run := func(statements ...string) {
		t.Helper()
		for _, sql := range statements {
			if _, err := admin.Query(t.Context(), sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
	}
	run("SET ROLE ADMIN")
	run(sysScript(t)...)
	run("CREATE DATABASE " + db)
	var tables []string
	for i := range 10 {
		tables = append(tables, fmt.Sprintf("%s.t%d", db, i))
		run("CREATE TABLE " + tables[i] + " (id int, name string)")
	}
	parted := db + ".parted"
	tables = append(tables, parted)
	run("CREATE TABLE "+parted+" (id int) PARTITIONED BY (ds string)", "ALTER TABLE "+parted+" ADD PARTITION (ds='1') PARTITION (ds='2')")
	for _, table := range tables {
		run("GRANT SELECT ON TABLE " + table + " TO USER hs2proxy")
	}

	// The watch, as the proxy wires it, over sessions that count.
	records := &checkedRecords{Store: storetest.Open(t, store.Options{}), checked: make(chan string, 100)}
	clock := &handClock{at: time.Now()}
	describes, sys := countedSession(t, hive, nil), countedSession(t, hive, pipeline.SysConf())
	cache, err := pipeline.NewCache(10, time.Hour, clock.now)
	if err != nil {
		t.Fatal(err)
	}
	log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.InfoLevel)
	watch := pipeline.NewWatch("sys", pipeline.NewTables(describes, time.Minute, clock.now), cache, records,
		statscheck.DefaultThresholds(), log, &pipeline.Counters{}, clock.now)
	watch.UseSys(pipeline.NewSysViews(sys, log, clock.now))
	watch.Start()
	defer watch.Stop()
	round := func() (described, looked []string) {
		t.Helper()
		clock.pass(2 * time.Hour) // nothing is young any more, and a refusal by sys is over
		watch.Recorded(store.Observation{Analysis: &store.Analysis{Tables: tables}})
		var done []string
		for len(done) < len(tables) {
			select {
			case table := <-records.checked:
				done = append(done, table)
			case <-time.After(patience):
				t.Fatalf("only %q were checked", done)
			}
		}
		return describes.take("DESCRIBE"), sys.take("")
	}

	described, looked := round()
	if len(described) != len(tables) || len(looked) != 1 || !strings.HasPrefix(looked[0], "EXPLAIN ") {
		t.Errorf("without the right: described %q, asked sys %q", described, looked)
	}
	for _, table := range sysTables {
		run("GRANT SELECT ON TABLE sys." + table + " TO USER hs2proxy")
	}
	described, looked = round()
	reads := slices.DeleteFunc(looked, func(s string) bool { return strings.HasPrefix(s, "EXPLAIN ") })
	if len(described) != len(tables) || len(reads) != 9+1 { // one to look for the size
		t.Errorf("the first round with sys: described %q, asked sys %q", described, looked)
	}
	if described, looked = round(); len(described) != 0 || len(looked) != 9 {
		t.Errorf("nothing has changed: described %q, asked sys %q", described, looked)
	}

	// Somebody loads files, and no statistics are gathered.
	file := filepath.Join(t.TempDir(), "rows.txt")
	if err := os.WriteFile(file, []byte(strings.Repeat("1\x01a\n", 5000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o666); err != nil { // Hive loads what its user may read and write
		t.Fatal(err)
	}
	run("LOAD DATA LOCAL INPATH '" + file + "' INTO TABLE " + tables[3])
	if described, looked = round(); !slices.Equal(described, []string{"DESCRIBE FORMATTED `e2e_sys`.`t3`"}) || len(looked) != 9 {
		t.Errorf("one table was loaded: described %q, asked sys %q", described, looked)
	}
	stale, err := records.StaleTables(t.Context(), "sys")
	if err != nil || len(stale) == 0 {
		t.Fatalf("stale: %+v, %v", stale, err)
	}
	for _, s := range stale {
		if s.Table != tables[3] {
			t.Errorf("%+v", s)
		}
	}

	run("LOAD DATA LOCAL INPATH '" + file + "' INTO TABLE " + parted + " PARTITION (ds='2')")
	if described, _ = round(); !slices.Equal(described, []string{"DESCRIBE FORMATTED `e2e_sys`.`parted`"}) {
		t.Errorf("a partition was loaded: described %q", described)
	}
	b, err := os.ReadFile(hive.LogFile())
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(b), "Launching Job"); n != 0 {
		t.Errorf("%d jobs", n)
	}
}
