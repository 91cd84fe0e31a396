package outerjoin

import (
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/queryast"
)

// mask is a set of sources of one FROM, by place.
type mask uint64

const mostSources = 64

func (m mask) has(i int) bool        { return i >= 0 && m&(1<<uint(i)) != 0 }
func (m mask) meets(other mask) bool { return m&other != 0 }
func (m mask) within(other mask) bool {
	return m != 0 && m&^other == 0
}

// side is what an outer join does: it may pad the rows of some sources with nulls, and keeps all rows of the others.
// A FULL join has two of them.
type side struct {
	join              int
	padded, preserved mask
}

// scope is one SELECT with outer joins.
type scope struct {
	query *queryast.Query // the one whose select this is, or one around it: its text is the whole statement's
	sel   *queryast.Select
	from  *queryast.From
	sides []side
	// columns of a source by its place; nil where they are not known.
	columns [][]string
	// using are the columns of USING clauses: without a qualifier they are no source's alone.
	using map[string]bool
	// shared: other selects of a multi-insert read the same FROM.
	shared bool
}

// newScope returns nil where there is no outer join.
func newScope(q *queryast.Query, s *queryast.Select, v *view) *scope {
	if s.From == nil || len(s.From.Sources) > mostSources {
		return nil
	}
	sc := &scope{query: q, sel: s, from: s.From, using: map[string]bool{}}
	for i, j := range s.From.Joins {
		left, right := mask(1)<<uint(i+1)-1, mask(1)<<uint(i+1)
		if j.Type == queryast.LeftOuter || j.Type == queryast.FullOuter {
			sc.sides = append(sc.sides, side{join: i, padded: right, preserved: left})
		}
		if j.Type == queryast.RightOuter || j.Type == queryast.FullOuter {
			sc.sides = append(sc.sides, side{join: i, padded: left, preserved: right})
		}
		for _, c := range j.Using {
			sc.using[c] = true
		}
	}
	if len(sc.sides) == 0 {
		return nil
	}
	for i := range s.From.Sources {
		sc.columns = append(sc.columns, v.columnsOf(&s.From.Sources[i]))
	}
	return sc
}

// source is the place of the source a column belongs to and the column's name there, fields of a struct included. It is
// −1 where the text and the plan do not tell.
func (sc *scope) source(c *queryast.ColumnRef) (int, string) {
	parts := c.Parts
	if len(parts) > 2 {
		if i := sc.from.Source(parts[0] + "." + parts[1]); i >= 0 {
			return i, strings.Join(parts[2:], ".")
		}
	}
	if len(parts) > 1 {
		if i := sc.from.Source(parts[0]); i >= 0 {
			return i, strings.Join(parts[1:], ".")
		}
	}
	if sc.using[parts[0]] || len(sc.from.LateralViews) > 0 {
		return -1, ""
	}
	found := -1
	for i, columns := range sc.columns {
		switch {
		case columns == nil:
			return -1, ""
		case !slices.Contains(columns, parts[0]):
		case found >= 0:
			return -1, ""
		default:
			found = i
		}
	}
	return found, strings.Join(parts, ".")
}

// sources are those an expression is about; ok is false where that is not certain, or where a subquery takes part.
func (sc *scope) sources(e queryast.Expr) (m mask, ok bool) {
	if len(queryast.Subqueries(e)) > 0 {
		return 0, false
	}
	for _, c := range queryast.Columns(e) {
		i, _ := sc.source(&c)
		if i < 0 {
			return 0, false
		}
		m |= 1 << uint(i)
	}
	return m, m != 0
}

// rejects: the predicate is true for no row in which all columns of the padded sources are NULL, and that because they are.
func (sc *scope) rejects(e queryast.Expr, padded mask) bool {
	none := padding{null: func(*queryast.ColumnRef) bool { return false }}
	p := padding{null: func(c *queryast.ColumnRef) bool {
		i, _ := sc.source(c)
		return padded.has(i)
	}}
	return p.rejects(e) && !none.rejects(e)
}

// names are what the query calls the sources.
func (sc *scope) names(m mask) []string {
	var list []string
	for i := range sc.from.Sources {
		if m.has(i) {
			list = append(list, sc.name(i))
		}
	}
	return list
}

func (sc *scope) name(i int) string {
	s := &sc.from.Sources[i]
	if n := s.Name(); n != "" {
		return n
	}
	return "the subquery"
}

// joinName is "t1 LEFT OUTER JOIN t2"; the left side of a later join is the list of what was joined before.
func (sc *scope) joinName(join int) string {
	var left mask = 1<<uint(join+1) - 1
	return strings.Join(sc.names(left), ", ") + " " + string(sc.from.Joins[join].Type) + " JOIN " + sc.name(join+1)
}
