package faults

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// Faults between the proxy's own connections and HiveServer2: clients see no difference, and every statement is recorded.
func TestFaultsOfAnalysisOnly(t *testing.T) {
	t.Parallel()
	dsn := storetest.DSN(t)
	hive, direct := newHive(t, hs2test.Config{}), newHive(t, hs2test.Config{})
	ours := newSide(t, "ours", hive.Addr())
	a, _ := start(t, settings(split(t, ours.addr(), hive.Addr()), dsn, spoolDir(t)))
	var users []string
	talk := func(user string) {
		undisturbed(t, a.Addr().String(), direct.Addr(), user)
		users = append(users, user)
		eventually(t, "the end of the analyses of "+user, func() bool {
			c := a.Counters()
			return c.Refused.Load()+c.Failed.Load()+c.Skipped.Load() == int64(explainable*len(users))
		})
	}
	talk("before")
	for _, x := range toxics() {
		ours.poison(t, x)
		talk(x.name)
		ours.cure(t, x)
	}
	explained := a.Counters().Refused.Load() // the fake's answer is no plan, and so counts as a refusal
	eventually(t, "an EXPLAIN after the faults", func() bool {
		talk("after " + strings.Repeat("!", len(users)))
		return a.Counters().Refused.Load() > explained
	})
	shutdown(t, a)
	allRecorded(t, dsn, users)
	c := a.Counters()
	if c.RecordDropped.Load()+c.RecordFailed.Load()+c.SpoolDropped.Load()+c.Panics.Load() != 0 {
		t.Errorf("dropped %d, failed %d, %d from the spool; %d panics", c.RecordDropped.Load(), c.RecordFailed.Load(), c.SpoolDropped.Load(), c.Panics.Load())
	}
	if c.Failed.Load()+c.Skipped.Load() == 0 {
		t.Error("no analysis met a fault")
	}
}

// Faults between the proxy and Postgres: clients see no difference, and what was seen meanwhile is recorded once, in order, when
// Postgres is back.
func TestFaultsOfPostgresOnly(t *testing.T) {
	t.Parallel()
	dsn := storetest.DSN(t)
	hive, direct := newHive(t, hs2test.Config{}), newHive(t, hs2test.Config{})
	host, through := behind(t, dsn)
	postgres := newSide(t, "postgres", host)
	dir := spoolDir(t)
	a, _ := start(t, settings(hive.Addr(), through(postgres.addr()), dir))
	undisturbed(t, a.Addr().String(), direct.Addr(), "before")
	users := []string{"before"}
	for _, x := range toxics() {
		postgres.poison(t, x)
		undisturbed(t, a.Addr().String(), direct.Addr(), x.name)
		if !x.gentle() {
			eventually(t, "spooling under "+x.name, func() bool { return a.Spooled() > 0 })
		}
		postgres.cure(t, x)
		undisturbed(t, a.Addr().String(), direct.Addr(), x.name+" over")
		users = append(users, x.name, x.name+" over")
	}
	eventually(t, "the end of the spool", func() bool { return a.Spooled() == 0 })
	shutdown(t, a)
	allRecorded(t, dsn, users)
	c := a.Counters()
	if c.RecordDropped.Load()+c.RecordFailed.Load()+c.SpoolDropped.Load()+c.SpoolFaults.Load()+c.Panics.Load() != 0 {
		t.Errorf("dropped %d, failed %d, %d from the spool, %d faults of it; %d panics",
			c.RecordDropped.Load(), c.RecordFailed.Load(), c.SpoolDropped.Load(), c.SpoolFaults.Load(), c.Panics.Load())
	}
	if c.Replayed.Load() == 0 {
		t.Error("nothing was replayed")
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.segment")); err != nil || len(left) > 0 {
		t.Errorf("left in the spool: %v, %v", left, err)
	}
}
