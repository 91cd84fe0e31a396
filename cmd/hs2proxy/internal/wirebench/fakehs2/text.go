package fakehs2

import (
	"embed"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/beltran/gohive/hiveserver"
)

// The files hold what a HiveServer2 4.0.1 printed of the tables orders and customers and of their join, paths and names of the
// machine replaced; a field NULL stands for NULL.
//
//go:embed testdata
var files embed.FS

// text is a result of string columns, serialised once.
type text struct {
	columns []string
	rows    [][]string
	once    sync.Once
	reply   []byte
}

func file(name string) string {
	b, err := files.ReadFile("testdata/" + name)
	if err != nil {
		panic(err) // embedded above
	}
	return strings.TrimRight(string(b), "\n")
}

// lines is a file as a result of one column, only the lines that hold has.
func lines(column, name string, has func(string) bool) *text {
	t := &text{columns: []string{column}}
	for line := range strings.SplitSeq(file(name), "\n") {
		if has(line) {
			t.rows = append(t.rows, []string{line})
		}
	}
	return t
}

func all(string) bool { return true }

// table is a file of tab-separated fields.
func table(columns []string, name string) *text {
	t := &text{columns: columns}
	for line := range strings.SplitSeq(file(name), "\n") {
		t.rows = append(t.rows, strings.Split(line, "\t"))
	}
	return t
}

var (
	plan        = sync.OnceValue(func() *text { return lines("Explain", "plan.txt", all) })
	planLog     = sync.OnceValue(func() *text { return lines("operation_log", "log.txt", all) })
	everything  = sync.OnceValue(func() *text { return lines("set", "settings.txt", all) })
	version     = sync.OnceValue(func() *text { return &text{columns: []string{"_c0"}, rows: [][]string{{"4.0.1 r3af4517"}}} })
	none        = sync.OnceValue(func() *text { return &text{columns: []string{"operation_log"}} })
	ofOrders    = sync.OnceValue(func() *text { return table(describeColumns, "orders.tsv") })
	ofCustomers = sync.OnceValue(func() *text { return table(describeColumns, "customers.tsv") })
)

var describeColumns = []string{"col_name", "data_type", "comment"}

// settings answers SET: of everything (-v), or of one name.
func settings(rest string) *text {
	rest = strings.TrimSpace(rest)
	if rest == "-v" {
		return everything()
	}
	t := lines("set", "settings.txt", func(line string) bool { return strings.HasPrefix(line, rest+"=") })
	if len(t.rows) == 0 {
		t.rows = [][]string{{rest + " is undefined"}}
	}
	return t
}

var described = regexp.MustCompile("(?i)^FORMATTED `?wirebench`?\\.`?(orders|customers)`?(?: `?(\\w+)`?)?$")

// describe answers DESCRIBE FORMATTED of the two tables and of their columns, all of which look alike.
func describe(rest string) (*text, bool) {
	m := described.FindStringSubmatch(strings.TrimSpace(rest))
	switch {
	case m == nil:
		return nil, false
	case m[2] != "":
		t := table([]string{"column_property", "value"}, "column.tsv")
		t.rows[0] = []string{"col_name", m[2]}
		return t, true
	case strings.EqualFold(m[1], "orders"):
		return ofOrders(), true
	}
	return ofCustomers(), true
}

// bytes is the reply to the FetchResults that brings all of it, behind four bytes for the frame's length.
func (t *text) bytes() []byte {
	t.once.Do(func() {
		set := &hiveserver.TRowSet{Rows: []*hiveserver.TRow{}, Columns: []*hiveserver.TColumn{}}
		for i := range t.columns {
			values, nulls := make([]string, len(t.rows)), make([]byte, (len(t.rows)+7)/8)
			for j, row := range t.rows {
				if values[j] = row[i]; values[j] == "NULL" {
					values[j] = ""
					nulls[j/8] |= 1 << (j % 8)
				}
			}
			set.Columns = append(set.Columns, &hiveserver.TColumn{StringVal: &hiveserver.TStringColumn{Values: values, Nulls: nulls}})
		}
		t.reply = fetchReply(set)
	})
	return slices.Clone(t.reply)
}

// end is the reply that brings no row any more.
func (t *text) end() []byte { return (&text{columns: t.columns}).bytes() }
