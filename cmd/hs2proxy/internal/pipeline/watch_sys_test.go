package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// fakeSys is the sys database of a metastore with the database shop, whose rows have the form of Hive 4.0.1's.
type fakeSys struct {
	mu     sync.Mutex
	rows   map[string]int64 // numRows by table
	parted map[string]map[string]int64
	err    error
	plan   string
	tables int64 // SEQUENCE_TABLE's word for it
	asked  []string
	during func() // runs inside a reading
}

func newFakeSys(tables ...string) *fakeSys {
	s := &fakeSys{rows: map[string]int64{}, parted: map[string]map[string]int64{}, plan: "    Fetch Operator", tables: 100}
	for _, t := range tables {
		s.rows[t] = 5
	}
	return s
}

func (s *fakeSys) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// readings is how often a reading began, looks how often it was asked whether one may.
func (s *fakeSys) readings() (readings, looks int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sql := range s.asked {
		switch {
		case strings.HasPrefix(sql, "EXPLAIN SELECT `sequence_name`"):
			looks++
		case strings.Contains(sql, "`sys`.`tbls`") && !strings.HasPrefix(sql, "EXPLAIN "):
			readings++
		}
	}
	return readings, looks
}

func (s *fakeSys) Query(ctx context.Context, sql string) (client.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, sql)
	if s.err != nil {
		return client.Result{}, s.err
	}
	if err := ctx.Err(); err != nil {
		return client.Result{}, err
	}
	if strings.HasPrefix(sql, "EXPLAIN ") {
		return client.Result{Rows: texts([][]string{{"Stage-0"}, {s.plan}})}, nil
	}
	var out [][]string
	id := func(name string) string { return "10" + strings.TrimPrefix(name, "t") }
	switch {
	case strings.Contains(sql, "`sequence_table`"):
		out = [][]string{{"org.apache.hadoop.hive.metastore.model.MTable", strconv.FormatInt(s.tables, 10)}}
	case strings.Contains(sql, "`dbs`"):
		out = [][]string{{"3", "shop"}}
	case strings.Contains(sql, "`tbls`"):
		for _, name := range s.names() {
			if strings.Contains(sql, "'"+name+"'") {
				out = append(out, []string{id(name), "3", name, "MANAGED_TABLE"})
			}
		}
		if s.during != nil {
			s.during()
		}
	case strings.Contains(sql, "`table_params`"):
		for _, name := range s.names() {
			out = append(out, []string{id(name), "numRows", strconv.FormatInt(s.rows[name], 10)})
		}
	case strings.Contains(sql, "`partition_keys`"):
		for name := range s.parted {
			out = append(out, []string{id(name), "ds", "0"})
		}
	case strings.Contains(sql, "`partitions`"):
		for name, parts := range s.parted {
			for p := range parts {
				out = append(out, []string{p, id(name), "ds=" + p})
			}
		}
	case strings.Contains(sql, "`partition_params`"):
		for _, parts := range s.parted {
			for p, rows := range parts {
				out = append(out, []string{p, "numRows", strconv.FormatInt(rows, 10)}, []string{p, "totalSize", strconv.FormatInt(40*rows, 10)},
					[]string{p, "COLUMN_STATS_ACCURATE", `{"BASIC_STATS":"true"}`})
			}
		}
	}
	return client.Result{Rows: texts(out)}, nil
}

func (s *fakeSys) names() (out []string) {
	for name := range s.rows {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// sysPost is a watch over a dozen tables that looks into sys.
type sysPost struct {
	*post
	sys   *fakeSys
	names []string
}

func newSysPost(t *testing.T) *sysPost {
	t.Helper()
	p := &sysPost{post: newPost(t, statscheck.DefaultThresholds())}
	var short []string
	for i := range 12 {
		short = append(short, fmt.Sprintf("t%d", i))
		p.names = append(p.names, "shop."+short[i])
		p.hive.table(table{name: short[i], rows: 5, bytes: 200, accurate: true, columns: []string{"a"}})
	}
	p.sys = newFakeSys(short...)
	p.UseSys(NewSysViews(p.sys, quiet(), p.clock.now))
	return p
}

// round has every table checked, and returns those that were described.
func (p *sysPost) round(t *testing.T) (described []string) {
	t.Helper()
	p.clock.pass(2 * time.Hour)
	p.hive.mu.Lock()
	p.hive.asked = nil
	p.hive.mu.Unlock()
	p.Recorded(readBy(p.names...))
	for range p.names {
		table, _ := p.next()
		p.check(within(t), table)
	}
	if table, _ := p.next(); table != "" || len(p.records.checked) != len(p.names) {
		t.Fatalf("%q is due still, %d tables were checked", table, len(p.records.checked))
	}
	for _, name := range p.names {
		if p.hive.times(describeSQL(strings.TrimPrefix(name, "shop."))) > 0 {
			described = append(described, name)
		}
	}
	return described
}

func (p *sysPost) wantReadings(t *testing.T, readings, looks int) {
	t.Helper()
	if r, l := p.sys.readings(); r != readings || l != looks {
		t.Errorf("%d readings after %d looks, want %d after %d", r, l, readings, looks)
	}
}

func TestSysSparesDescribes(t *testing.T) {
	p := newSysPost(t)
	if got := p.round(t); len(got) != 12 {
		t.Errorf("described at first: %v", got)
	}
	before := p.records.stats[len(p.records.stats)-1]
	if got := p.round(t); len(got) != 0 {
		t.Errorf("nothing has changed, and described: %v", got)
	}
	p.wantReadings(t, 2, 1)
	if after := p.records.stats[len(p.records.stats)-1]; !after.ReadAt.After(before.ReadAt) || *after.Rows != *before.Rows {
		t.Errorf("read %+v, then %+v", before, after)
	}
	p.sys.set(func() { p.sys.rows["t3"] = 9 })
	p.hive.table(table{name: "t3", rows: 9, bytes: 360, accurate: true, columns: []string{"a"}})
	if got := p.round(t); !slices.Equal(got, []string{"shop.t3"}) {
		t.Errorf("t3 has changed, and described: %v", got)
	}
	// A table that sys does not show is described each time.
	p.sys.set(func() { delete(p.sys.rows, "t11") })
	for range 2 {
		if got := p.round(t); !slices.Equal(got, []string{"shop.t11"}) {
			t.Errorf("t11 is not in sys, and described: %v", got)
		}
	}
}

// What is asked of a table for the first time is not known of it, however unchanged it is.
func TestSysKnowsNoNewColumn(t *testing.T) {
	p := newSysPost(t)
	p.round(t)
	p.records.usage["shop.t5"] = statscheck.Usage{JoinColumns: []string{"a"}}
	if got := p.round(t); !slices.Equal(got, []string{"shop.t5"}) {
		t.Errorf("described %v", got)
	}
	if got := p.round(t); len(got) != 0 {
		t.Errorf("described %v", got)
	}
}

// An ANALYZE that was seen ends what is believed.
func TestSysAfterAnAnalyze(t *testing.T) {
	p := newSysPost(t)
	p.round(t)
	p.tables.Forget("shop.t1")
	if got := p.round(t); !slices.Equal(got, []string{"shop.t1"}) {
		t.Errorf("described %v", got)
	}
}

// A write that comes while the facts wait for the table's check has the table described, though the facts are as before.
func TestSysFactsOlderThanAWrite(t *testing.T) {
	p := newSysPost(t)
	p.round(t)
	p.clock.pass(2 * time.Hour)
	p.Recorded(readBy(p.names...))
	table, _ := p.next()
	p.check(within(t), table)
	var last string
	for _, name := range p.names {
		if name != table {
			last = name
		}
	}
	p.Recorded(wrote(last))
	before := p.hive.times(describeSQL(strings.TrimPrefix(last, "shop.")))
	for range len(p.names) - 1 {
		table, _ := p.next()
		p.check(within(t), table)
	}
	if n := p.hive.times(describeSQL(strings.TrimPrefix(last, "shop."))); n != before+1 {
		t.Errorf("described %d times more", n-before)
	}
}

// A check after a refresh describes the table, whatever a round has just read of it.
func TestSysIsNotForRefreshes(t *testing.T) {
	p := newSysPost(t)
	p.round(t)
	p.Recorded(readBy(p.names...))
	p.clock.pass(2 * time.Hour)
	p.Recorded(readBy(p.names...))
	p.ahead(within(t), "shop.t2")
	p.wantReadings(t, 2, 1)
	before := p.hive.times(describeSQL("t2"))
	p.mustCheck(t, "shop.t2")
	if n := p.hive.times(describeSQL("t2")); n != before+1 {
		t.Errorf("described %d times more", n-before)
	}
}

// Facts that have waited too long are not believed.
func TestSysFactsGrowOld(t *testing.T) {
	p := newSysPost(t)
	p.round(t)
	p.clock.pass(2 * time.Hour)
	p.ahead(within(t), "shop.t0") // alone, it does not pay
	p.Recorded(readBy(p.names...))
	p.ahead(within(t), "shop.t0")
	p.clock.pass(sysBelief)
	if _, ok := p.Watch.sys.take("shop.t0"); ok {
		t.Error("old facts are handed out")
	}
	p.wantReadings(t, 2, 1)
}

func TestSysIsNotWorthAFewTables(t *testing.T) {
	p := newSysPost(t)
	p.names = p.names[:3]
	for range 2 {
		if got := p.round(t); len(got) != 3 {
			t.Errorf("described %v", got)
		}
	}
	p.wantReadings(t, 0, 0)
}

// A reading that takes longer than the DESCRIBEs it spares is not made again.
func TestSysIsNotWorthItsTime(t *testing.T) {
	p := newSysPost(t)
	p.sys.set(func() { p.sys.during = func() { p.clock.pass(30 * time.Second) } })
	for i := range 12 {
		name := fmt.Sprintf("t%d", i)
		f := p.hive.on[describeSQL(name)]
		p.hive.answer(describeSQL(name), func(ctx context.Context) (client.Result, error) {
			p.clock.pass(time.Second)
			return f(ctx)
		})
	}
	p.round(t) // the first reading's time does not count
	p.round(t)
	p.wantReadings(t, 2, 1)
	if got := p.round(t); len(got) != 12 {
		t.Errorf("described %v", got)
	}
	p.wantReadings(t, 2, 1)
}

// Whatever keeps sys from being read, each table is described, and sys is tried again after a while.
func TestSysFallsBack(t *testing.T) {
	tests := map[string]func(s *fakeSys){
		"no right": func(s *fakeSys) { s.err = &client.Error{Code: 40000, Message: "Permission denied"} },
		"no sys":   func(s *fakeSys) { s.err = &client.Error{Code: 10001, Message: "Table not found sequence_table"} },
		"lost":     func(s *fakeSys) { s.err = errors.New("connection reset") },
		"a job":    func(s *fakeSys) { s.plan = "    Stage-1" },
		"large":    func(s *fakeSys) { s.tables = 1 << 20 },
	}
	for name, breaks := range tests {
		t.Run(name, func(t *testing.T) {
			p := newSysPost(t)
			p.sys.set(func() { breaks(p.sys) })
			if got := p.round(t); len(got) != 12 {
				t.Errorf("described %v", got)
			}
			if r, looks := p.sys.readings(); r != 0 || looks != 1 {
				t.Errorf("%d readings, %d looks: every table of the round tried", r, looks)
			}
			p.sys.set(func() { p.sys.err, p.sys.plan, p.sys.tables = nil, "    Fetch Operator", 100 })
			p.round(t)
			if got := p.round(t); len(got) != 0 {
				t.Errorf("sys can be read by now, and described: %v", got)
			}
		})
	}
}

// The right is taken away between two readings.
func TestSysIsLost(t *testing.T) {
	p := newSysPost(t)
	p.round(t)
	p.sys.set(func() { p.sys.err = &client.Error{Code: 40000} })
	if got := p.round(t); len(got) != 12 {
		t.Errorf("described %v", got)
	}
}

// Partitions are judged by what sys says of them, without a statement for each.
func TestSysTellsOfPartitions(t *testing.T) {
	p := newSysPost(t)
	p.hive.rows(describeSQL("t0"), append([][]string{
		{"a", "int", ""},
		{"", "", ""},
		{"# Partition Information", "", ""},
		{"# col_name", "data_type", "comment"},
		{"ds", "string", ""},
		{"", "", ""},
		{"# Detailed Table Information", "", ""},
		{"Table Type:", "MANAGED_TABLE", ""},
	}, []string{"Table Parameters:", "", ""}, []string{"", "numRows", "5000"}, []string{"", "totalSize", "200000"},
		[]string{"", "COLUMN_STATS_ACCURATE", `{"BASIC_STATS":"true"}`})...)
	parts := map[string]int64{}
	specs := []string{}
	for i := range 10 {
		parts[strconv.Itoa(i)] = 0
		specs = append(specs, "ds="+strconv.Itoa(i))
	}
	p.sys.set(func() { p.sys.parted["t0"] = parts })
	p.sys.set(func() { parts["4"] = -5 })
	p.records.signals["shop.t0"] = store.Signals{Writes: []statscheck.Write{{Specs: specs, At: p.clock.now().Add(time.Hour)}}}
	p.round(t)
	done := p.records.checked["shop.t0"]
	if len(done.Partitions) != 10 {
		t.Fatalf("%d partitions were judged", len(done.Partitions))
	}
	var corrupt []string
	for _, s := range done.Holds {
		if s.Rule == statscheck.R1Corrupt {
			corrupt = append(corrupt, s.Partition)
		}
	}
	if !slices.Equal(corrupt, []string{"ds=4"}) {
		t.Errorf("corrupt: %v of %+v", corrupt, done.Holds)
	}
	for _, sql := range p.hive.asked {
		if strings.HasPrefix(sql, "DESCRIBE") && strings.Contains(sql, "PARTITION") {
			t.Errorf("asked %s", sql)
		}
	}
}

func TestSysOff(t *testing.T) {
	p := newSysPost(t)
	p.UseSys(nil)
	for range 2 {
		if got := p.round(t); len(got) != 12 {
			t.Errorf("described %v", got)
		}
	}
	p.wantReadings(t, 0, 0)
}
