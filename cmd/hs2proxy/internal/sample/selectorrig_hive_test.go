package sample

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/advise"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// selectorRig is a database for the advice of the selector: tables of a few rows, of which Hive is told statistics of many. One session
// serves all cases of a test: a Tez of its own costs each session a second or two.
type selectorRig struct {
	db      string
	session *client.Session
	specs   map[string]*selectorTable
	tables  map[string]advisor.TableStats
	// made are tables that an advice has made, which the next case drops; of those analyzed Hive is told again.
	made, analyzed []string
}

// selectorTable is a table of the rig: its values are expressions over the row number i below written.
type selectorTable struct {
	name, columns, layout, values string
	external                      bool
	written                       int
	// rows and ndvs are what Hive is told, width is the average length of name; without ndvs Hive is told of no column.
	rows  int64
	ndvs  map[string]int64
	width float64
}

const (
	manyRows, dimRows = int64(100_000_000), int64(100_000)
	twoBuckets        = "CLUSTERED BY (k) SORTED BY (k) INTO 2 BUCKETS"
)

func facts(name, layout string) selectorTable {
	return selectorTable{
		name: name, columns: "k BIGINT, v BIGINT", layout: layout, values: "i * 7 % 500, i", written: 2000,
		rows: manyRows, ndvs: map[string]int64{"k": 1_000_000, "v": 1_000_000},
	}
}

func dim(name, layout string) selectorTable {
	return selectorTable{
		name: name, columns: "k BIGINT, name STRING", layout: layout, values: "i, concat('n', i)", written: 100,
		rows: dimRows, ndvs: map[string]int64{"k": dimRows}, width: 100,
	}
}

// newSelectorRig fills all tables by one statement: each INSERT of its own costs seconds.
func newSelectorRig(t *testing.T, name string, list ...selectorTable) *selectorRig {
	t.Helper()
	r := &selectorRig{db: fmt.Sprintf("h_%s_%d", name, os.Getpid()), session: open(t), specs: map[string]*selectorTable{}, tables: map[string]advisor.TableStats{}}
	t.Cleanup(func() { run(t, r.session, append([]string{"RESET", "USE default"}, Teardown(r.db)...)...) })
	run(t, r.session, append(Teardown(r.db), "CREATE DATABASE "+quote(r.db), use(r.db), "SET hive.stats.autogather=false")...)
	most := 0
	for i := range list {
		most = max(most, list[i].written)
	}
	insert := "FROM (" + generate("i", most) + ") n"
	for i := range list {
		s := &list[i]
		create := "CREATE TABLE "
		if s.external {
			create = "CREATE EXTERNAL TABLE "
		}
		run(t, r.session, create+s.name+" ("+s.columns+") "+s.layout+" STORED AS ORC")
		insert += fmt.Sprintf(" INSERT INTO TABLE %s SELECT %s WHERE i < %d", s.name, s.values, s.written)
	}
	run(t, r.session, insert)
	for i := range list {
		r.specs[list[i].name] = &list[i]
		r.tell(t, &list[i])
	}
	return r
}

// tell gives Hive the table's statistics and remembers them as the advisor reads them.
func (r *selectorRig) tell(t *testing.T, s *selectorTable) {
	t.Helper()
	run(t, r.session, pretend(s.name, s.rows, s.ndvs)...)
	kind := "MANAGED_TABLE"
	if s.external {
		kind = "EXTERNAL_TABLE"
	}
	stats := told(r.db+"."+s.name, kind, s.rows, s.ndvs)
	if s.width > 0 && s.ndvs != nil {
		run(t, r.session, fmt.Sprintf("ALTER TABLE %s UPDATE STATISTICS FOR COLUMN name SET ('numDVs'='%d','numNulls'='0','avgColLen'='%v','maxColLen'='2000')", s.name, s.rows, s.width))
		stats.Columns["name"] = advisor.ColumnStats{NDV: number(s.rows), Nulls: number(0), AvgLen: &s.width}
		stats.ColumnsRead = append(stats.ColumnsRead, "name")
	}
	if m := bucketClause.FindStringSubmatch(s.layout); m != nil {
		stats.BucketColumns, stats.BucketingVersion = []string{m[1]}, 2
		if m[2] != "" {
			stats.SortColumns = []string{m[2]}
		}
		stats.Buckets, _ = strconv.Atoi(m[3])
	}
	r.tables[r.db+"."+s.name] = stats
}

var bucketClause = regexp.MustCompile("CLUSTERED BY \\(`?(\\w+)`?\\)(?: SORTED BY \\(`?(\\w+)`?\\))? INTO (\\d+) BUCKETS")

// begin forgets the settings of the case before and gives those of this one. Dynamic filters are other advisors' matter.
func (r *selectorRig) begin(t *testing.T, settings map[string]string) map[string]string {
	t.Helper()
	all := map[string]string{"hive.tez.dynamic.semijoin.reduction": "false", reducers: "1"}
	maps.Copy(all, settings)
	run(t, anew(t, r.session, r.db), "SET hive.stats.autogather=false")
	for _, table := range r.made {
		run(t, r.session, "DROP TABLE "+table)
		delete(r.tables, r.db+"."+table)
	}
	for _, table := range r.analyzed {
		r.tell(t, r.specs[table])
	}
	r.made, r.analyzed = nil, nil
	give(t, r.session, all)
	return all
}

// judged is a query as it is planned now, with everything the advisors find.
type judged struct {
	text     string
	query    advisor.Query
	findings []advisor.Finding
}

func (r *selectorRig) judge(t *testing.T, sql string, settings map[string]string, factors map[string]float64) judged {
	t.Helper()
	text := planOf(t, r.session, "EXTENDED", sql)
	q := queryOf(t, text, settings, r.tables)
	q.SQL, q.Version = sql, "4.0.1"
	for i := range q.Verdicts {
		q.Verdicts[i].Expect(factors, q.Settings)
	}
	return judged{text: text, query: q, findings: advise.Findings(q)}
}

// statements are those of an advice.
func statements(advice string) []string {
	var list []string
	for line := range strings.Lines(advice) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " -- ")
		if line != "" && !strings.HasPrefix(line, "--") {
			list = append(list, strings.TrimSuffix(line, ";"))
		}
	}
	return list
}

// pull runs the statements of an advice. It returns the settings that are in force then, and the query that reads a table made by the advice
// in place of the one it was made from; Hive is told the same statistics of both.
func (r *selectorRig) pull(t *testing.T, advice, sql string, settings map[string]string) (string, map[string]string) {
	t.Helper()
	after := maps.Clone(settings)
	list := statements(advice)
	if len(list) == 0 {
		t.Fatalf("nothing to run in %q", advice)
	}
	made := map[string]*selectorTable{}
	for _, s := range list {
		run(t, r.session, s)
		switch words := strings.Fields(s); words[0] {
		case "SET":
			name, value, _ := strings.Cut(words[1], "=")
			after[name] = value
		case "ANALYZE":
			table := unquoted(words[2])
			delete(r.tables, table) // the plan tells of true numbers now
			r.analyzed = append(r.analyzed, strings.TrimPrefix(table, r.db+"."))
		case "CREATE":
			_, from, _ := strings.Cut(unquoted(words[4]), ".")
			spec := *r.specs[from]
			spec.name = strings.TrimPrefix(unquoted(words[2]), r.db+".")
			made[from], r.made = &spec, append(r.made, spec.name)
		case "ALTER":
			for _, spec := range made {
				if strings.HasSuffix(unquoted(words[2]), "."+spec.name) {
					spec.layout = s
				}
			}
		}
	}
	for from, spec := range made {
		r.tell(t, spec)
		sql = strings.ReplaceAll(sql, " "+from+" ", " "+spec.name+" ")
	}
	return sql, after
}

func unquoted(name string) string { return strings.ReplaceAll(name, "`", "") }

func ofKind(list []advisor.Finding, kind advisor.FindingKind) *advisor.Finding {
	at := slices.IndexFunc(list, func(f advisor.Finding) bool { return f.Kind == kind })
	if at < 0 {
		return nil
	}
	return &list[at]
}
