package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/statscheck"
)

func TestTablesCaching(t *testing.T) {
	h, c := newFakeHive(), newClock()
	h.table(table{name: "t", rows: 5, bytes: 20, accurate: true, columns: []string{"a", "b", "c"}})
	tables := NewTables(h, time.Hour, c.now)
	get := func(columns ...string) advisor.TableStats {
		t.Helper()
		s, err := tables.Get(within(t), "shop.t", columns)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	want := func(described, a, b int) {
		t.Helper()
		got := [3]int{h.times(describeSQL("t")), h.times(describeColumnSQL("t", "a")), h.times(describeColumnSQL("t", "b"))}
		if got != [3]int{described, a, b} {
			t.Errorf("asked %v times for table, a, b; want %v", got, [3]int{described, a, b})
		}
	}
	if s := get("a"); *s.Rows != 5 || *s.Columns["a"].NDV != 5 || len(s.Columns) != 1 {
		t.Errorf("got %+v", s)
	}
	want(1, 1, 0)
	get("a")
	get()
	want(1, 1, 0)
	if s := get("b"); len(s.Columns) != 2 {
		t.Errorf("columns %v, want those asked before too", s.Columns)
	}
	want(2, 2, 1)
	get("a", "b")
	want(2, 2, 1)
	get("nope") // the table has no such column
	get("nope")
	want(3, 3, 2)
	c.pass(time.Hour + time.Minute) // readings bear the real time
	get("a")
	want(4, 4, 3)
	tables = NewTables(h, time.Hour, time.Now)
	get("a")
	tables.Forget("shop.t")
	tables.Forget("shop.unknown")
	get("a")
	want(6, 6, 3)
}

func TestTablesErrors(t *testing.T) {
	h := newFakeHive()
	tables := NewTables(h, time.Hour, time.Now)
	var changed []string
	tables.onChange(func(table string) { changed = append(changed, table) })
	if _, err := tables.Get(within(t), "a.b.c", nil); err == nil {
		t.Error("a name with two dots was taken")
	}
	h.gone("t")
	if _, err := tables.Get(within(t), "shop.t", nil); !errors.Is(err, statscheck.ErrTableGone) {
		t.Errorf("got %v", err)
	}
	if len(changed) != 0 {
		t.Errorf("changed %v", changed)
	}
	h.table(table{name: "t", rows: 1, bytes: 4, accurate: true, columns: []string{"a"}})
	if _, err := tables.Get(within(t), "shop.t", nil); err != nil {
		t.Errorf("it is back: %v", err)
	}
	h.gone("t")
	if _, err := tables.Read(within(t), "shop.t", nil); !errors.Is(err, statscheck.ErrTableGone) {
		t.Errorf("got %v", err)
	}
	if _, err := tables.Get(within(t), "shop.t", nil); !errors.Is(err, statscheck.ErrTableGone) {
		t.Errorf("a table that is gone came from memory: %v", err)
	}
	if !slices.Equal(changed, []string{"shop.t"}) {
		t.Errorf("changed %v", changed)
	}
	down := errors.New("connection reset")
	h.fails(describeSQL("t"), down)
	if _, err := tables.Get(within(t), "shop.t", nil); !errors.Is(err, down) {
		t.Errorf("got %v", err)
	}
}

func TestTablesReadNoMoreThanSoManyColumns(t *testing.T) {
	h := newFakeHive()
	var columns []string
	for i := range statscheck.MaxColumnsRead + 5 {
		columns = append(columns, fmt.Sprintf("c%d", i))
	}
	h.table(table{name: "wide", rows: 5, bytes: 20, accurate: true, columns: columns})
	tables := NewTables(h, time.Hour, time.Now)
	for range 3 {
		s, err := tables.Get(within(t), "shop.wide", columns)
		if err != nil || len(s.Columns) != statscheck.MaxColumnsRead {
			t.Fatalf("%d columns, %v", len(s.Columns), err)
		}
	}
	if n := h.times(describeSQL("wide")); n != 1 {
		t.Errorf("read %d times", n)
	}
}

func TestTablesTellOfChanges(t *testing.T) {
	h := newFakeHive()
	tables := NewTables(h, time.Hour, time.Now)
	changed := 0
	tables.onChange(func(string) { changed++ })
	read := func(columns ...string) {
		t.Helper()
		if _, err := tables.Read(within(t), "shop.t", columns); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, n int) {
		t.Helper()
		if changed != n {
			t.Errorf("%s: told %d times, want %d", what, changed, n)
		}
	}
	base := table{name: "t", rows: 5, bytes: 20, accurate: true, columns: []string{"a", "b"}}
	h.table(base)
	read("a")
	read("a")
	want("the same", 0)
	read("b")
	want("a column nobody had asked for", 0)
	base.rows = 6
	h.table(base)
	tables.Forget("shop.t")
	read("a")
	want("more rows, also when forgotten", 1)
	h.rows(describeColumnSQL("t", "a"), []string{"col_name", "a"}, []string{"data_type", "int"}, []string{"num_nulls", "0"}, []string{"distinct_count", "9"})
	read("a")
	want("other distinct values", 2)
	h.rows(describeColumnSQL("t", "a"), []string{"col_name", "a"}, []string{"data_type", "int"}, []string{"num_nulls", ""}, []string{"distinct_count", ""})
	read("a")
	want("no column statistics any more", 3)
	base.accurate = false
	h.table(base)
	read("a")
	want("no longer accurate", 4)
}

// A younger reading is not replaced by an older one that took longer.
func TestTablesKeepTheYoungest(t *testing.T) {
	tables := NewTables(newFakeHive(), time.Hour, time.Now)
	at := time.Now()
	tables.keep(subject{table: "shop.t"}, advisor.TableStats{Rows: new(int64(2)), ReadAt: at}, nil)
	tables.keep(subject{table: "shop.t"}, advisor.TableStats{Rows: new(int64(1)), ReadAt: at.Add(-time.Second)}, nil)
	if s, ok := tables.lookup(subject{table: "shop.t"}, nil); !ok || *s.Rows != 2 {
		t.Errorf("got %+v", s)
	}
}
