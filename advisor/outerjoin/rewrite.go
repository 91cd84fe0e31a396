package outerjoin

import (
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/queryast"
)

// rewrite collects changes of one select and writes the statement with them. It refuses what it cannot do without
// changing more than asked.
type rewrite struct {
	sc *scope
	// on and where are the predicates by join and of WHERE.
	on      map[int][]queryast.Expr
	where   []queryast.Expr
	edits   []edit
	refused bool
}

type edit struct {
	span queryast.Span
	text string
}

func newRewrite(sc *scope) *rewrite {
	r := &rewrite{sc: sc, on: map[int][]queryast.Expr{}, refused: sc.shared}
	for i, j := range sc.from.Joins {
		r.on[i] = slices.Clone(queryast.Conjuncts(j.On))
	}
	r.where = slices.Clone(queryast.Conjuncts(sc.sel.Where))
	return r
}

// toOn moves a predicate of WHERE into the condition of a join whose tables and those before are all it is about.
func (r *rewrite) toOn(p *Predicate, join int) {
	if p.at.written >= 0 || r.sc.from.Joins[join].On == nil || !p.at.mask.within(1<<uint(join+2)-1) {
		r.refused = true
		return
	}
	r.where = without(r.where, p.at.expr)
	r.on[join] = append(r.on[join], p.at.expr)
}

// toWhere moves a predicate out of the condition it stands in.
func (r *rewrite) toWhere(p *Predicate) {
	for _, s := range r.sc.sides {
		// Behind the join it would drop the rows that another join pads.
		r.refused = r.refused || p.at.mask.meets(s.padded)
	}
	r.drop(p)
	r.where = append(r.where, p.at.expr)
}

// toSource moves a predicate below the join: into a subquery in place of its table.
func (r *rewrite) toSource(p *Predicate) {
	i := slices.IndexFunc(r.sc.from.Sources, func(s queryast.Source) bool { return r.sc.names(p.at.mask)[0] == s.Name() })
	src := &r.sc.from.Sources[max(i, 0)]
	if i < 0 || p.at.mask != 1<<uint(i) || src.Table == nil || src.Alias == "" && src.Table.Database != "" || r.views(i) {
		r.refused = true
		return
	}
	r.drop(p)
	r.edits = append(r.edits, edit{src.Span, "(SELECT * FROM " + r.sc.query.Text(src.Span) + " WHERE " + r.text(p.at.expr) + ") " + quote(src.Name())})
}

// views: a lateral view stands behind the source.
func (r *rewrite) views(i int) bool {
	return slices.ContainsFunc(r.sc.from.LateralViews, func(v queryast.LateralView) bool { return v.After == i+1 })
}

// drop takes a predicate out of where it stands.
func (r *rewrite) drop(p *Predicate) {
	if p.at.written < 0 {
		r.where = without(r.where, p.at.expr)
		return
	}
	list := without(r.on[p.at.written], p.at.expr)
	if len(list) == 0 {
		r.refused = true
	}
	r.on[p.at.written] = list
}

// retype writes another type of join.
func (r *rewrite) retype(join int, words string) {
	j := r.sc.from.Joins[join]
	r.edits = append(r.edits, edit{queryast.Span{Start: j.Start, End: r.sc.from.Sources[join+1].Start}, words + " "})
}

func without(list []queryast.Expr, e queryast.Expr) []queryast.Expr {
	return slices.DeleteFunc(slices.Clone(list), func(o queryast.Expr) bool { return o == e })
}

// text is a predicate that can stand between ANDs.
func (r *rewrite) text(e queryast.Expr) string {
	text := r.sc.query.Text(e.Pos())
	if o, ok := e.(*queryast.Or); ok && o.Operands[0].Pos().Start == e.Pos().Start {
		return "(" + text + ")"
	}
	return text
}

func (r *rewrite) join(list []queryast.Expr) string {
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = r.text(e)
	}
	return strings.Join(texts, " AND ")
}

// sql is the changed statement, empty where a change was refused.
func (r *rewrite) sql() string {
	if r.refused {
		return ""
	}
	edits := r.edits
	for i, j := range r.sc.from.Joins {
		if !slices.Equal(r.on[i], queryast.Conjuncts(j.On)) {
			edits = append(edits, edit{j.On.Pos(), r.join(r.on[i])})
		}
	}
	if where := r.sc.sel.Where; !slices.Equal(r.where, queryast.Conjuncts(where)) {
		span := queryast.Span{Start: r.sc.from.End, End: r.sc.from.End}
		if where != nil {
			span.End = where.Pos().End
		}
		text := ""
		if len(r.where) > 0 {
			text = " WHERE " + r.join(r.where)
		}
		edits = append(edits, edit{span, text})
	}
	if len(edits) == 0 {
		return ""
	}
	slices.SortFunc(edits, func(a, b edit) int { return b.span.Start - a.span.Start })
	sql := r.sc.query.SQL
	for i, e := range edits {
		if i > 0 && e.span.End > edits[i-1].span.Start {
			return "" // one inside another
		}
		sql = sql[:e.span.Start] + e.text + sql[e.span.End:]
	}
	if _, err := queryast.Parse(sql); err != nil {
		return ""
	}
	return strings.TrimRight(strings.TrimSpace(sql), "; \n\t") + ";"
}

// quote writes a name that may not be a plain word.
func quote(name string) string {
	for i := range len(name) {
		if c := name[i]; c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return "`" + strings.ReplaceAll(name, "`", "``") + "`"
		}
	}
	return name
}
