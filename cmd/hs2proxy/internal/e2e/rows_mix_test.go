package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// What a statement of the mix does to a table, as far as its rows can be known.
type change string

const (
	into    change = "INTO"    // its rows are the growth of the table
	replace change = "REPLACE" // its rows are those that the table, or the partitions written, hold afterwards
	unknown change = "UNKNOWN" // Hive does not tell its rows
)

// target is a table that a statement writes; partitions those of it that are replaced, nil for all.
type target struct {
	table      string
	change     change
	partitions []string
}

// mixed is a statement of the mix, of one of two sessions. Without targets it writes nothing.
type mixed struct {
	session int
	sql     string
	fails   bool
	targets []target
}

// mixDatabases: the first is that of session 0 from its beginning, the second becomes that of session 1 by USE.
var mixDatabases = [2]string{"h_mix", "h_mix_two"}

// Every database has one table of each kind: ORC, a text file, partitioned, and one whose name is a keyword. mixSource is read only.
var mixTables = []string{"plain", "words", "parts", "order"}

const (
	mixSource     = "h_mix.numbers"
	mixSourceRows = 20
)

// mix draws statements.
type mix struct {
	*rand.Rand
	files   string // a folder with a file of five lines
	created int
	made    []string // tables that were created and not dropped
}

// name is one of the ways to write a table's name: alone only where the session's database is the table's.
func (m *mix) name(session, database int, table string) string {
	quoted := "`" + table + "`"
	ways := []string{mixDatabases[database] + "." + quoted, "`" + mixDatabases[database] + "`." + quoted, strings.ToUpper(mixDatabases[database]) + "." + quoted}
	if session == database {
		ways = append(ways, quoted, quoted)
		if table != "order" {
			ways = append(ways, table, strings.ToUpper(table))
		}
	}
	return ways[m.IntN(len(ways))]
}

// rows is a query for n rows of two columns, a number and a text.
func (m *mix) rows(n int) string {
	return fmt.Sprintf("SELECT k, concat('n', k) FROM %s WHERE k < %d", mixSource, n)
}

func (m *mix) values(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("(%d, 'insert into plain values (%d)')", i, i)
	}
	return strings.Join(list, ", ")
}

// steps are the statements, every kind as often as any other.
func (m *mix) steps(rounds int) []mixed {
	var out []mixed
	for range rounds {
		for _, kind := range m.Perm(len(mixKinds)) {
			out = append(out, mixKinds[kind](m, m.IntN(2), m.IntN(2)))
		}
	}
	return out
}

// unpartitioned draws a table with two columns.
func (m *mix) unpartitioned() string { return []string{"plain", "words", "order"}[m.IntN(3)] }

func (m *mix) one(session, database int, table string, c change, format string, args ...any) mixed {
	return mixed{session: session, sql: fmt.Sprintf(format, args...), targets: []target{{table: mixDatabases[database] + "." + table, change: c}}}
}

var mixKinds = []func(m *mix, session, database int) mixed{
	func(m *mix, s, d int) mixed {
		table := m.unpartitioned()
		return m.one(s, d, table, into, "INSERT INTO %s VALUES %s", m.name(s, d, table), m.values(1+m.IntN(5)))
	},
	func(m *mix, s, d int) mixed {
		table := m.unpartitioned()
		return m.one(s, d, table, into, "insert into table %s %s", m.name(s, d, table), m.rows(m.IntN(8))) // perhaps none
	},
	func(m *mix, s, d int) mixed {
		table := m.unpartitioned()
		return m.one(s, d, table, into, "/* INSERT OVERWRITE TABLE x */ INSERT INTO %s (s, k) -- all\n SELECT concat('n', k), k FROM %s", m.name(s, d, table), mixSource)
	},
	func(m *mix, s, d int) mixed {
		table := m.unpartitioned()
		return m.one(s, d, table, replace, "INSERT OVERWRITE TABLE %s %s", m.name(s, d, table), m.rows(1+m.IntN(15)))
	},
	func(m *mix, s, d int) mixed {
		table := m.unpartitioned()
		return m.one(s, d, table, into, "INSERT INTO %s %s UNION ALL %s", m.name(s, d, table), m.rows(3), m.rows(4))
	},
	func(m *mix, s, d int) mixed {
		table := m.unpartitioned()
		return m.one(s, d, table, into, "WITH w AS (%s) INSERT INTO TABLE %s SELECT * FROM w", m.rows(5), m.name(s, d, table))
	},
	func(m *mix, s, d int) mixed { // several inserts into one table, which Hive takes for different partitions
		return m.one(s, d, "parts", into, "FROM %s INSERT INTO TABLE %s PARTITION (p='p0') SELECT k, 'a' WHERE k < 3 INSERT INTO TABLE %s PARTITION (p='p3') SELECT k, 'b' WHERE k > 15",
			mixSource, m.name(s, d, "parts"), m.name(s, d, "parts"))
	},
	func(m *mix, s, d int) mixed { // and into two, whose rows are one number
		out := m.one(s, d, "plain", unknown, "FROM %s INSERT INTO TABLE %s SELECT k, 'a' WHERE k < 3 INSERT OVERWRITE TABLE %s SELECT k, 'b' WHERE k > 15",
			mixSource, m.name(s, d, "plain"), m.name(s, d, "words"))
		out.targets = append(out.targets, target{table: mixDatabases[d] + ".words", change: unknown})
		return out
	},
	func(m *mix, s, d int) mixed {
		m.created++
		table := fmt.Sprintf("made_%d", m.created)
		m.made = append(m.made, mixDatabases[d]+"."+table)
		return m.one(s, d, table, replace, "CREATE TABLE %s STORED AS ORC AS %s", m.name(s, d, table), m.rows(1+m.IntN(10)))
	},
	func(m *mix, s, d int) mixed {
		if len(m.made) == 0 {
			return mixed{session: s, sql: "SHOW TABLES"}
		}
		table := m.made[0]
		m.made = m.made[1:]
		return mixed{session: s, sql: "DROP TABLE " + table, targets: []target{{table: table, change: unknown}}}
	},
	func(m *mix, s, d int) mixed {
		table := m.unpartitioned()
		return m.one(s, d, table, unknown, "TRUNCATE TABLE %s", m.name(s, d, table))
	},
	func(m *mix, s, d int) mixed {
		overwrite := []string{"", "OVERWRITE "}[m.IntN(2)]
		return m.one(s, d, "words", unknown, "LOAD DATA LOCAL INPATH '%s' %sINTO TABLE %s", m.files, overwrite, m.name(s, d, "words"))
	},
	func(m *mix, s, d int) mixed {
		return m.one(s, d, "parts", unknown, "ALTER TABLE %s ADD IF NOT EXISTS PARTITION (p='p%d')", m.name(s, d, "parts"), m.IntN(4))
	},
	func(m *mix, s, d int) mixed {
		return m.one(s, d, "parts", unknown, "ALTER TABLE %s DROP IF EXISTS PARTITION (p='p%d')", m.name(s, d, "parts"), m.IntN(4))
	},
	func(m *mix, s, d int) mixed {
		return m.one(s, d, "parts", into, "INSERT INTO %s PARTITION (p='p%d') VALUES %s", m.name(s, d, "parts"), m.IntN(4), m.values(1+m.IntN(4)))
	},
	func(m *mix, s, d int) mixed {
		p := fmt.Sprintf("p%d", m.IntN(4))
		out := m.one(s, d, "parts", replace, "INSERT OVERWRITE TABLE %s PARTITION (p='%s') %s", m.name(s, d, "parts"), p, m.rows(1+m.IntN(9)))
		out.targets[0].partitions = []string{p}
		return out
	},
	func(m *mix, s, d int) mixed {
		return m.one(s, d, "parts", into, "INSERT INTO %s PARTITION (p) SELECT k, 'd', concat('p', k %% 4) FROM %s WHERE k < %d", m.name(s, d, "parts"), mixSource, 1+m.IntN(15))
	},
	func(m *mix, s, d int) mixed {
		out := m.one(s, d, "parts", replace, "INSERT OVERWRITE TABLE %s PARTITION (p) SELECT k, 'd', concat('p', k %% 2) FROM %s", m.name(s, d, "parts"), mixSource)
		out.targets[0].partitions = []string{"p0", "p1"}
		return out
	},
	func(m *mix, s, d int) mixed { // refused when it is compiled
		return mixed{session: s, fails: true, sql: fmt.Sprintf("INSERT INTO %s SELECT no_such, 'x' FROM %s", m.name(s, d, "plain"), mixSource)}
	},
	func(m *mix, s, d int) mixed { // fails when it runs
		return mixed{session: s, fails: true, sql: fmt.Sprintf("INSERT INTO %s SELECT k, cast(assert_true(k < 10) AS string) FROM %s", m.name(s, d, "plain"), mixSource)}
	},
	func(m *mix, s, d int) mixed {
		return mixed{session: s, sql: fmt.Sprintf("EXPLAIN INSERT INTO %s %s", m.name(s, d, "plain"), m.rows(5))}
	},
}
