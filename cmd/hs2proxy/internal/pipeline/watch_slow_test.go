package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// late answers when time is over, after a while of the test's clock.
func (p *post) late(sql string, after time.Duration) {
	p.hive.answer(sql, func(context.Context) (client.Result, error) {
		p.clock.pass(after)
		return client.Result{}, fmt.Errorf("query: %w", context.DeadlineExceeded)
	})
}

// shape answers what tells the columns of shop.p without its partitions.
func (p *post) shape() {
	p.hive.rows("DESCRIBE `shop`.`p`", []string{"a", "string", ""}, []string{"ds", "string", ""}, []string{"", "", ""},
		[]string{"# Partition Information", "", ""}, []string{"# col_name", "data_type", "comment"}, []string{"ds", "string", ""})
	p.hive.rows("SHOW TBLPROPERTIES `shop`.`p`", []string{"bucketing_version", "2"}, []string{"transactional", "false"})
}

// A table that cannot be described in time is on record as failed and rests, longer each time; its partitions are judged all the same,
// and what was found for the table itself stays.
func TestCheckOfATableThatIsTooLarge(t *testing.T) {
	p := newPost(t, statscheck.DefaultThresholds())
	p.late(describeSQL("p"), describeTimeout)
	p.shape()
	p.hive.part("1", 10, 100, "{}")
	p.hive.files("p", "1", 100)
	p.records.signals["shop.p"] = store.Signals{Writes: []statscheck.Write{{Specs: []string{"ds=1"}, At: p.clock.now()}}}
	check := func(described, failures int) {
		t.Helper()
		p.mustCheck(t, "shop.p")
		if got := p.hive.times(describeSQL("p")); got != described || len(p.records.failures) != failures {
			t.Errorf("described %d times, %d failures on record, want %d and %d", got, len(p.records.failures), described, failures)
		}
		wantHolds(t, p, "shop.p", "ds=1 R2")
		if c := p.records.checked["shop.p"]; !c.Unread || !slices.Equal(c.Partitions, []string{"ds=1"}) {
			t.Errorf("checked %+v", c)
		}
	}
	check(1, 1)
	f := p.records.failures[0]
	if f.table != "shop.p" || !strings.Contains(f.Error, "took too long, 1 times in a row") || !f.Again.Equal(p.clock.now().Add(retryDelay)) {
		t.Errorf("on record: %+v", f)
	}
	if at, ok := p.mu.due["shop.p"]; !ok || !at.Equal(f.Again) {
		t.Errorf("comes again at %s, %t, want %s", at, ok, f.Again)
	}
	if _, err := p.tables.Get(within(t), "shop.p", nil); !errors.As(err, new(*slowError)) { // nor does a plan that reads it wait
		t.Errorf("a plan gets %v", err)
	}
	check(1, 1) // a write meanwhile
	p.clock.pass(retryDelay)
	check(2, 2)
	if rest := p.records.failures[1].Again.Sub(p.clock.now()); rest != 2*retryDelay {
		t.Errorf("rests for %s", rest)
	}
	p.clock.pass(2 * retryDelay)
	p.hive.partitioned("p", 10, 1, "a")
	p.mustCheck(t, "shop.p")
	if c := p.records.checked["shop.p"]; c.Unread || p.tables.rests(subject{table: "shop.p"}) != nil {
		t.Errorf("checked %+v", c)
	}
}

// A table without partitions that is too slow fails alone, and comes again by itself.
func TestWatchOfASlowTable(t *testing.T) {
	p := newPost(t, statscheck.DefaultThresholds())
	p.late(describeSQL("t"), describeTimeout)
	p.hive.rows("DESCRIBE `shop`.`t`", []string{"a", "string", ""})
	p.hive.rows("SHOW TBLPROPERTIES `shop`.`t`", []string{"EXTERNAL", "TRUE"})
	p.hive.table(table{name: "u", rows: 5, bytes: 200, accurate: true, columns: []string{"a"}})
	p.begin(t)
	p.Recorded(readBy("shop.t", "shop.u"))
	if got := receive(t, p.records.saved); got != "shop.u" {
		t.Errorf("saved %s", got)
	}
	p.hive.table(shopTable(5))
	p.clock.pass(2 * retryDelay)
	p.poke()
	if got := receive(t, p.records.saved); got != "shop.t" {
		t.Errorf("saved %s", got)
	}
	p.records.mu.Lock()
	defer p.records.mu.Unlock()
	if len(p.records.failures) != 1 || p.records.failures[0].table != "shop.t" {
		t.Errorf("failures %+v", p.records.failures)
	}
}

// What a DROP or a RENAME leaves under the name is another table: it is asked for anew, however slow the one before was, and so are all
// tables of a database that was dropped.
func TestWatchOfDroppedTables(t *testing.T) {
	p := newPost(t, statscheck.DefaultThresholds())
	for _, o := range []store.Observation{
		{Writes: []store.TableWrite{{Table: "shop.t", Op: hiveql.WriteDrop}}},
		{Writes: []store.TableWrite{{Table: "shop.t", Op: hiveql.WriteRename}}},
		{DroppedDatabase: "shop"},
	} {
		p.late(describeSQL("t"), describeTimeout)
		if _, err := p.tables.Get(within(t), "shop.t", nil); !errors.As(err, new(*slowError)) {
			t.Fatal(err)
		}
		p.setYoung("shop.t", time.Hour)
		p.setYoung("shops.t", time.Hour)
		p.Recorded(o)
		p.hive.table(shopTable(7))
		if got := mustRead(t, p, "shop.t"); *got.Rows != 7 {
			t.Errorf("read %+v", got)
		}
		if at, ok := p.mu.due["shop.t"]; !ok || !at.Equal(p.clock.now().Add(settleDelay)) || len(p.mu.due) != 1 {
			t.Errorf("due: %v", p.mu.due)
		}
		delete(p.mu.due, "shop.t")
		p.tables.gone(subject{table: "shop.t"})
	}
}

// Partitions that there is no time for come with the next check, and are not judged by halves.
func TestCheckReadsPartitionsForAWhile(t *testing.T) {
	p := newPost(t, statscheck.DefaultThresholds())
	p.hive.partitioned("p", 30, 3, "a")
	now := p.clock.now()
	p.records.signals["shop.p"] = store.Signals{Writes: []statscheck.Write{{Specs: []string{"ds=1", "ds=2", "ds=3"}, At: now}}}
	ctx, cancel := context.WithCancel(within(t))
	for _, ds := range []string{"1", "2", "3"} {
		p.hive.part(ds, 10, 100, "{}")
		p.hive.files("p", ds, 100)
	}
	c := checking{w: p.Watch, table: "shop.p", stats: mustRead(t, p, "shop.p")}
	listing := "SHOW TABLE EXTENDED IN `shop` LIKE 'p' PARTITION (`ds`='2')"
	p.hive.answer(listing, func(context.Context) (client.Result, error) {
		cancel()
		return client.Result{}, context.Canceled
	})
	read := c.readPartitions(ctx, []string{"ds=1", "ds=2", "ds=3"})
	if len(read) != 1 || read[0].Partition != "ds=1" || c.listed["ds=1"] == nil {
		t.Errorf("read %+v, files %v", read, c.listed)
	}
	p.late(describePartitionSQL("p", "2"), 0)
	p.mustCheck(t, "shop.p")
	if c := p.records.checked["shop.p"]; !slices.Equal(c.Partitions, []string{"ds=1"}) {
		t.Errorf("judged %v", c.Partitions)
	}
	if at, ok := p.mu.due["shop.p"]; !ok || !at.Equal(p.clock.now().Add(retryDelay)) {
		t.Errorf("comes again at %s, %t", at, ok)
	}
}
