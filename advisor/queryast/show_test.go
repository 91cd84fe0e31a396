package queryast

import (
	"fmt"
	"strings"
)

// show writes a tree in one line: select {items} from sources and joins where … .
func show(q *Query) string {
	var b strings.Builder
	for _, c := range q.With {
		fmt.Fprintf(&b, "with %s(%s) ", c.Name, show(c.Query))
	}
	for i, br := range q.Branches {
		if i > 0 {
			b.WriteString("; ")
		}
		if br.Target != nil {
			fmt.Fprintf(&b, "%s ", br.Target.Kind)
			if br.Target.Table != nil {
				fmt.Fprintf(&b, "%s ", br.Target.Table)
			}
		}
		b.WriteString(showBody(br.Body))
	}
	return b.String()
}

func showBody(body Body) string {
	if o, ok := body.(*SetOperation); ok {
		text := "(" + showBody(o.Left) + " " + o.Op + " " + showBody(o.Right) + ")"
		if o.Limit {
			text += " limit"
		}
		return text + showList(" order ", o.OrderBy)
	}
	s := body.(*Select)
	var b strings.Builder
	b.WriteString("select" + s.Hint)
	if s.Distinct {
		b.WriteString(" distinct")
	}
	for i, it := range s.Items {
		b.WriteString([]string{" ", ", "}[min(i, 1)])
		switch {
		case it.Star && it.Qualifier != "":
			b.WriteString(it.Qualifier + ".*")
		case it.Star:
			b.WriteString("*")
		default:
			b.WriteString(showExpr(it.Expr))
		}
		if len(it.Aliases) > 0 {
			b.WriteString(" as " + strings.Join(it.Aliases, "+"))
		}
	}
	if s.From != nil {
		b.WriteString(" from" + showFrom(s.From))
	}
	if s.Where != nil {
		b.WriteString(" where " + showExpr(s.Where))
	}
	b.WriteString(showList(" group ", s.GroupBy))
	if s.Having != nil {
		b.WriteString(" having " + showExpr(s.Having))
	}
	if s.Qualify != nil {
		b.WriteString(" qualify " + showExpr(s.Qualify))
	}
	b.WriteString(showList(" order ", s.OrderBy))
	if s.Limit {
		b.WriteString(" limit")
	}
	return b.String()
}

func showFrom(f *From) string {
	var b strings.Builder
	for i, s := range f.Sources {
		if i > 0 {
			fmt.Fprintf(&b, " <%s>", f.Joins[i-1].Type)
		}
		switch {
		case s.Query != nil:
			b.WriteString(" (" + show(s.Query) + ")")
		case s.Table != nil:
			b.WriteString(" " + s.Table.String())
		default:
			b.WriteString(" VALUES")
		}
		if s.Alias != "" {
			b.WriteString(" " + s.Alias)
		}
		for _, v := range f.LateralViews {
			if v.After == i+1 {
				fmt.Fprintf(&b, " view %s %s(%s)", showExpr(v.Call), v.Alias, strings.Join(v.Columns, ","))
			}
		}
		if i > 0 {
			if j := f.Joins[i-1]; j.On != nil {
				b.WriteString(" on " + showExpr(j.On))
			} else if j.Using != nil {
				fmt.Fprintf(&b, " using %s", strings.Join(j.Using, "+"))
			}
		}
	}
	return b.String()
}

func showList(head string, list []Expr) string {
	if len(list) == 0 {
		return ""
	}
	return head + showAll(list)
}

func showAll(list []Expr) string {
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = showExpr(e)
	}
	return strings.Join(texts, " ")
}

func no(not bool) string {
	if not {
		return "not "
	}
	return ""
}

// showExpr writes (operator operand …).
func showExpr(e Expr) string {
	switch e := e.(type) {
	case nil:
		return "-"
	case *And:
		return "(and " + showAll(e.Operands) + ")"
	case *Or:
		return "(or " + showAll(e.Operands) + ")"
	case *Not:
		return "(not " + showExpr(e.Operand) + ")"
	case *Comparison:
		return "(" + e.Op + " " + showExpr(e.Left) + " " + showExpr(e.Right) + ")"
	case *Is:
		return "(is " + no(e.Not) + e.What + " " + showExpr(e.Operand) + ")"
	case *In:
		if e.Query != nil {
			return "(" + no(e.Not) + "in " + showExpr(e.Operand) + " {" + show(e.Query) + "})"
		}
		return "(" + no(e.Not) + "in " + showExpr(e.Operand) + " " + showAll(e.List) + ")"
	case *Exists:
		return "(exists {" + show(e.Query) + "})"
	case *Quantified:
		return "(" + e.Op + " " + e.Quantifier + " " + showExpr(e.Operand) + " {" + show(e.Query) + "})"
	case *Between:
		return "(" + no(e.Not) + "between " + showAll([]Expr{e.Operand, e.Low, e.High}) + ")"
	case *Like:
		return "(" + no(e.Not) + e.Op + " " + showExpr(e.Operand) + " " + showAll(e.Patterns) + ")"
	case *Case:
		text := "(case " + showExpr(e.Operand)
		for _, w := range e.Whens {
			text += " [" + showExpr(w.Condition) + " " + showExpr(w.Result) + "]"
		}
		return text + " " + showExpr(e.Else) + ")"
	case *Call:
		text := e.Name + "("
		if e.Distinct {
			text += "distinct "
		}
		if e.Star {
			text += "*"
		}
		text += showAll(e.Args) + ")"
		if e.Window {
			text += " over[" + showAll(e.Over) + "]"
		}
		return text
	case *Cast:
		return "(cast " + showExpr(e.Operand) + " " + e.Type + ")"
	case *Binary:
		return "(" + e.Op + " " + showExpr(e.Left) + " " + showExpr(e.Right) + ")"
	case *Unary:
		return "(" + e.Op + " " + showExpr(e.Operand) + ")"
	case *Literal:
		if e.Kind == String {
			return "'" + e.Value + "'"
		}
		return e.Value
	case *Parameter:
		return "?"
	case *ColumnRef:
		return strings.Join(e.Parts, ".")
	case *Field:
		return showExpr(e.Operand) + "->" + e.Name
	case *Index:
		return showExpr(e.Operand) + "[" + showExpr(e.Index) + "]"
	case *Tuple:
		return "(tuple " + showAll(e.Elements) + ")"
	case *Subquery:
		return "{" + show(e.Query) + "}"
	}
	return fmt.Sprintf("%T", e)
}
