package antijoin

import (
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/advisor/queryast"
)

// catalog knows the columns of tables and the queries behind the names of WITH.
type catalog struct {
	columns map[string]map[string]bool // by "database.table"
	ctes    map[string]*queryast.Query
}

func newCatalog(q *advisor.Query, ast *queryast.Query) *catalog {
	c := &catalog{columns: map[string]map[string]bool{}, ctes: map[string]*queryast.Query{}}
	add := func(table, column string) {
		if c.columns[table] == nil {
			c.columns[table] = map[string]bool{}
		}
		if column = strings.ToLower(strings.TrimSpace(column)); column != "" {
			c.columns[table][column] = true
		}
	}
	for v := range vertices(q.Plan) {
		for _, s := range append(append([]explain.Source(nil), v.Sources...), v.Unread...) {
			for name := range strings.SplitSeq(s.Properties["columns"], ",") {
				add(s.Table, name)
			}
			for name := range strings.SplitSeq(s.Properties["partition_columns"], "/") {
				add(s.Table, name)
			}
			if len(c.columns[s.Table]) == 0 {
				delete(c.columns, s.Table)
			}
		}
	}
	for name, t := range q.Tables {
		for _, col := range t.ColumnTypes {
			add(name, col.Name)
		}
		for _, col := range t.PartitionColumns {
			add(name, col)
		}
	}
	for _, w := range ast.With {
		c.ctes[w.Name] = w.Query
	}
	return c
}

// tables are the base tables below a source, as the plan names them; nil where one of them is not in the plan.
func (c *catalog) tables(s *queryast.Source, planned []string) []string {
	switch {
	case s.Query != nil:
		return c.tablesOf(s.Query, planned)
	case s.Table == nil:
		return nil
	}
	if q, ok := c.ctes[s.Table.Name]; ok && s.Table.Database == "" {
		return c.tablesOf(q, planned)
	}
	var found []string
	for _, name := range planned {
		database, table, _ := strings.Cut(name, ".")
		if table == s.Table.Name && (s.Table.Database == "" || s.Table.Database == database) {
			found = append(found, name)
		}
	}
	if len(found) != 1 { // the same name in two databases: which is meant is not known
		return nil
	}
	return found
}

func (c *catalog) tablesOf(q *queryast.Query, planned []string) []string {
	var list []string
	for _, sel := range outerSelects(q) {
		if sel.From == nil {
			return nil
		}
		for i := range sel.From.Sources {
			s := &sel.From.Sources[i]
			if s.Table != nil && s.Table.Database == "" && c.ctes[s.Table.Name] == q {
				return nil // a name inside its own definition
			}
			t := c.tables(s, planned)
			if t == nil {
				return nil
			}
			list = append(list, t...)
		}
	}
	return list
}

// outerSelects are the selects whose rows are the query's, without those in their FROM or predicates.
func outerSelects(q *queryast.Query) []*queryast.Select {
	var list []*queryast.Select
	var body func(queryast.Body)
	body = func(b queryast.Body) {
		switch b := b.(type) {
		case *queryast.Select:
			list = append(list, b)
		case *queryast.SetOperation:
			body(b.Left)
			body(b.Right)
		}
	}
	for _, b := range q.Branches {
		body(b.Body)
	}
	return list
}

// scope resolves the names of one select.
type scope struct {
	from    *queryast.From
	columns []map[string]bool // by source; nil: not known
}

func (c *catalog) scope(from *queryast.From, planned []string) *scope {
	s := &scope{from: from, columns: make([]map[string]bool, len(from.Sources))}
	for i := range from.Sources {
		src := &from.Sources[i]
		if src.Table == nil {
			continue
		}
		if t := c.tables(src, planned); len(t) == 1 && c.ctes[src.Table.Name] == nil {
			s.columns[i] = c.columns[t[0]]
		}
	}
	return s
}

// source is the place of the source a column belongs to, −1 where that is not certain.
func (s *scope) source(c *queryast.ColumnRef) int {
	if len(c.Parts) > 2 {
		if at := s.from.Source(c.Parts[0] + "." + c.Parts[1]); at >= 0 {
			return at
		}
	}
	if q := c.Qualifier(); q != "" {
		if at := s.from.Source(q); at >= 0 {
			return at
		}
	}
	if len(c.Parts) == 1 && len(s.from.Sources) == 1 {
		return 0
	}
	found := -1
	for i, columns := range s.columns {
		if columns == nil {
			return -1
		}
		if columns[c.Parts[0]] {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// name is the column of its source.
func (s *scope) name(c *queryast.ColumnRef) string {
	if len(c.Parts) > 2 && s.from.Source(c.Parts[0]+"."+c.Parts[1]) >= 0 {
		return c.Parts[2]
	}
	if len(c.Parts) > 1 && s.from.Source(c.Parts[0]) >= 0 {
		return c.Parts[1]
	}
	return c.Parts[0]
}

// reads tells which sources an expression reads; ok is false where a column or a subquery leaves that open.
func (s *scope) reads(e queryast.Expr) (sources map[int]bool, ok bool) {
	sources, ok = map[int]bool{}, len(queryast.Subqueries(e)) == 0
	for _, c := range queryast.Columns(e) {
		at := s.source(&c)
		ok = ok && at >= 0
		sources[at] = true
	}
	return sources, ok
}

// only tells that an expression reads columns of one source and nothing else.
func (s *scope) only(e queryast.Expr, source int) bool {
	sources, ok := s.reads(e)
	return ok && len(sources) == 1 && sources[source]
}
