package pipeline

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// partitionsPlan is EXPLAIN EXTENDED of Hive 4.0.1 for a join of shop.u with two of the three partitions of shop.p.
//
//go:embed testdata/partitions.txt
var partitionsPlan string

var partitionsOfP = []string{"2024-01-01", "2024-01-02"}

func describePartitionSQL(table, ds string) string {
	return describeSQL(table) + " PARTITION (`ds`='" + ds + "')"
}

// partition answers the DESCRIBEs of one partition by ds of a table with columns of type string.
func (h *fakeHive) partition(table, ds string, rows, nulls int64, columns ...string) {
	out := [][]string{}
	for _, c := range columns {
		out = append(out, []string{c, "string", ""})
	}
	out = append(out, []string{"", "", ""}, []string{"# Partition Information", "", ""}, []string{"# col_name", "data_type", "comment"}, []string{"ds", "string", ""},
		[]string{"", "", ""}, []string{"# Detailed Partition Information", "", ""}, []string{"Partition Value:", "[" + ds + "]", ""},
		[]string{"Partition Parameters:", "", ""}, []string{"", "numRows", strconv.FormatInt(rows, 10)}, []string{"", "totalSize", strconv.FormatInt(rows, 10)})
	h.rows(describePartitionSQL(table, ds), out...)
	for _, c := range columns {
		h.rows(describePartitionSQL(table, ds)+" `"+c+"`", []string{"col_name", c}, []string{"data_type", "string"},
			[]string{"num_nulls", strconv.FormatInt(nulls, 10)}, []string{"distinct_count", strconv.FormatInt(rows, 10)}, []string{"avg_col_len", "20.0"})
	}
}

// partitioned answers the DESCRIBEs of the whole table: its columns have as many nulls as it has rows.
func (h *fakeHive) partitioned(name string, rows int64, partitions int, columns ...string) {
	out := [][]string{}
	for _, c := range columns {
		out = append(out, []string{c, "string", ""})
	}
	out = append(out, []string{"", "", ""}, []string{"# Partition Information", "", ""}, []string{"ds", "string", ""},
		[]string{"", "", ""}, []string{"# Detailed Table Information", "", ""}, []string{"Table Type:", "MANAGED_TABLE", ""}, []string{"Table Parameters:", "", ""},
		[]string{"", "numRows", strconv.FormatInt(rows, 10)}, []string{"", "numPartitions", strconv.Itoa(partitions)})
	h.rows(describeSQL(name), out...)
	for _, c := range columns {
		h.rows(describeColumnSQL(name, c), []string{"col_name", c}, []string{"data_type", "string"},
			[]string{"num_nulls", strconv.FormatInt(rows, 10)}, []string{"distinct_count", strconv.FormatInt(rows, 10)}, []string{"avg_col_len", "20.0"})
	}
}

func partitionsAnalyzer(t *testing.T) (*Analyzer, *fakeHive, Query) {
	t.Helper()
	server, hive := startHive(t), newFakeHive()
	hive.partitioned("p", 7000, 3, "a", "s")
	hive.partition("p", "2024-01-01", 1000, 10, "a", "s")
	hive.partition("p", "2024-01-02", 2000, 300, "a", "s")
	hive.table(table{name: "u", rows: 500, bytes: 50000, accurate: true, columns: []string{"a", "b"}})
	server.plan(strings.Split(strings.TrimRight(partitionsPlan, "\n"), "\n")...)
	return &Analyzer{
		Upstream: "main", Explainer: server.explainer(t, nil), Server: NewServer(hive, time.Hour, time.Now),
		Tables: NewTables(hive, time.Hour, time.Now), Log: quiet(),
	}, hive, shopQuery(server)
}

// analyzed returns the nulls of p.s that the verdict took, −1 for unknown, and what it names uncertain of p's partitions.
func analyzed(t *testing.T, a *Analyzer, q Query) (nulls int64, uncertain bool) {
	t.Helper()
	got, err := a.Analyze(within(t), q)
	if err != nil || len(got.Joins) != 1 {
		t.Fatalf("got %+v, %v", got, err)
	}
	j := got.Joins[0]
	nulls = -1
	for _, c := range j.Join.Inputs[0].Columns {
		if c.Table == "shop.p" && c.Column == "s" && c.Nulls != nil {
			nulls = *c.Nulls
		}
	}
	return nulls, slices.ContainsFunc(j.Decision.Uncertain, func(s string) bool { return strings.Contains(s, "statistics of the partitions read") })
}

func TestAnalyzeReadsThePartitions(t *testing.T) {
	a, hive, q := partitionsAnalyzer(t)
	a.Known = known{"shop.p": 7000, "shop.p/ds=2024-01-01": 5}
	for range 2 {
		if nulls, uncertain := analyzed(t, a, q); nulls != 310 || uncertain {
			t.Errorf("%d nulls, uncertain %v; want those of the two partitions", nulls, uncertain)
		}
	}
	asked := func() (out []int) {
		for _, ds := range partitionsOfP {
			for _, column := range []string{"", " `a`", " `s`"} {
				out = append(out, hive.times(describePartitionSQL("p", ds)+column))
			}
		}
		return out
	}
	if got := asked(); !slices.Equal(got, []int{1, 1, 1, 1, 1, 1}) {
		t.Errorf("asked %v times", got)
	}
	if n := hive.times(describePartitionSQL("p", "2024-01-03")); n != 0 {
		t.Error("a partition was described that the plan does not read")
	}
	a.Tables.Forget("shop.p")
	hive.partition("p", "2024-01-02", 2000, 400, "a", "s")
	if nulls, _ := analyzed(t, a, q); nulls != 410 {
		t.Errorf("%d nulls after a refresh", nulls)
	}
	if got := asked(); !slices.Equal(got, []int{2, 2, 2, 2, 2, 2}) {
		t.Errorf("asked %v times", got)
	}
}

// Without one of the partitions, or without the column in one of them, the table's own numbers stand, and the verdict says so.
func TestAnalyzeWithoutAPartition(t *testing.T) {
	for name, spoil := range map[string]func(h *fakeHive){
		"dropped since": func(h *fakeHive) {
			h.fails(describePartitionSQL("p", "2024-01-02"), &client.Error{Code: 10006, Message: "Partition not found"})
		},
		"not reached":    func(h *fakeHive) { h.fails(describePartitionSQL("p", "2024-01-02"), errors.New("connection reset")) },
		"not to be read": func(h *fakeHive) { h.fails(describePartitionSQL("p", "2024-01-02")+" `s`", &client.Error{Code: 40000}) },
	} {
		t.Run(name, func(t *testing.T) {
			a, hive, q := partitionsAnalyzer(t)
			spoil(hive)
			if nulls, uncertain := analyzed(t, a, q); nulls < 3000 || !uncertain {
				t.Errorf("%d nulls, uncertain %v; want those of the table", nulls, uncertain)
			}
		})
	}
}

func TestPartitionsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		partitions, columns int
		read                bool
	}{
		"as many partitions as may be": {maxPartitions, 5, true},
		"one more":                     {maxPartitions + 1, 1, false},
		"as many statements as may be": {8, maxPartitionStatements/8 - 1, true},
		"too many statements":          {8, maxPartitionStatements / 8, false},
	} {
		t.Run(name, func(t *testing.T) {
			hive := newFakeHive()
			a := &Analyzer{Tables: NewTables(hive, time.Hour, time.Now), Log: quiet()}
			need := advisor.TableNeed{Table: "shop.p"}
			for i := range c.columns {
				need.Columns = append(need.Columns, fmt.Sprintf("c%d", i))
			}
			for i := range c.partitions {
				ds := fmt.Sprintf("2024-01-%02d", i+1)
				need.Partitions = append(need.Partitions, "ds="+ds)
				hive.partition("p", ds, 10, 1, need.Columns...)
			}
			stats := map[string]advisor.TableStats{"shop.p": {Table: "shop.p"}}
			a.partitions(within(t), []advisor.TableNeed{need}, stats)
			if read := len(stats) == 1+c.partitions; read != c.read || !read && len(hive.asked) > 0 {
				t.Errorf("%d partitions given by %d statements", len(stats)-1, len(hive.asked))
			}
			if len(hive.asked) > maxPartitionStatements {
				t.Errorf("%d statements", len(hive.asked))
			}
		})
	}
	t.Run("together", func(t *testing.T) {
		hive := newFakeHive()
		a := &Analyzer{Tables: NewTables(hive, time.Hour, time.Now), Log: quiet()}
		stats, needs := map[string]advisor.TableStats{}, []advisor.TableNeed{{Table: "shop.gone", Partitions: []string{"ds=x"}}}
		for _, name := range []string{"p", "q", "r"} {
			need := advisor.TableNeed{Table: "shop." + name, Columns: []string{"a"}}
			for i := range maxPartitions/2 - 1 {
				ds := fmt.Sprintf("2024-01-%02d", i+1)
				need.Partitions = append(need.Partitions, "ds="+ds)
				hive.partition(name, ds, 10, 1, "a")
			}
			stats[need.Table] = advisor.TableStats{Table: need.Table}
			needs = append(needs, need)
		}
		a.partitions(within(t), needs, stats)
		_, q := stats["shop.q/ds=2024-01-01"]
		_, r := stats["shop.r/ds=2024-01-01"]
		if !q || r || len(stats) != 3+2*(maxPartitions/2-1) {
			t.Errorf("%d statistics, of q %v, of r %v", len(stats), q, r)
		}
	})
}

func TestTablesKeepPartitions(t *testing.T) {
	h := newFakeHive()
	h.partition("p", "1", 10, 1, "a", "b")
	h.partitioned("p", 10, 1, "a", "b")
	tables := NewTables(h, time.Hour, time.Now)
	changed := []string{}
	tables.onChange(func(table string) { changed = append(changed, table) })
	get := func(columns ...string) advisor.TableStats {
		t.Helper()
		s, err := tables.Partition(within(t), "shop.p", "ds=1", columns)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	want := func(what string, times, changes int) {
		t.Helper()
		if n := h.times(describePartitionSQL("p", "1")); n != times || len(changed) != changes {
			t.Errorf("%s: described %d times, changes of %v", what, n, changed)
		}
	}
	if n := tables.statements("shop.p", "ds=1", []string{"a"}); n != 2 {
		t.Errorf("%d statements for a partition and one column", n)
	}
	if s := get("a"); s.Partition != "ds=1" || *s.Rows != 10 || *s.Columns["a"].Nulls != 1 || !slices.Equal(s.ColumnsRead, []string{"a"}) {
		t.Errorf("got %+v", s)
	}
	if n := tables.statements("shop.p", "ds=1", []string{"a"}); n != 0 {
		t.Errorf("%d statements for what is known", n)
	}
	if n := tables.statements("shop.p", "ds=1", []string{"b"}); n != 3 {
		t.Errorf("%d statements where the columns asked for before come along", n)
	}
	get("a")
	want("known", 1, 0)
	if _, err := tables.Get(within(t), "shop.p", nil); err != nil {
		t.Fatal(err)
	}
	h.partitioned("p", 30, 1, "a", "b")
	if _, err := tables.Read(within(t), "shop.p", nil); err != nil {
		t.Fatal(err)
	}
	want("the table has other rows", 1, 1)
	h.partition("p", "1", 30, 1, "a", "b")
	get("a")
	want("so the partition is read again", 2, 2)
	if !slices.Equal(changed, []string{"shop.p", "shop.p"}) {
		t.Errorf("changed %v", changed)
	}
	h.fails(describePartitionSQL("p", "1"), &client.Error{Code: 10006, Message: "Partition not found"})
	tables.Forget("shop.p")
	if _, err := tables.Partition(within(t), "shop.p", "ds=1", nil); !errors.Is(err, statscheck.ErrTableGone) {
		t.Errorf("got %v", err)
	}
	want("dropped", 3, 3)
	h.partition("p", "1", 30, 1, "a", "b")
	get("a")
	h.gone("p")
	if _, err := tables.Read(within(t), "shop.p", nil); !errors.Is(err, statscheck.ErrTableGone) {
		t.Errorf("got %v", err)
	}
	get("a")
	want("the table was dropped, with it what was believed of its partition", 5, 4)
}
