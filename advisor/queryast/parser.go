package queryast

import "fmt"

const (
	// maxText bounds what is read, in bytes.
	maxText = 4 << 20
	// maxDepth bounds how deep brackets, subqueries and prefix operators nest.
	maxDepth = 400
	// maxChain bounds the length of a chain whose tree leans to one side: a + b + …, UNION … UNION ….
	maxChain = 2000
)

// SyntaxError says where the text stops being a query that this package reads.
type SyntaxError struct {
	Offset int // in bytes
	Msg    string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("offset %d: %s", e.Offset, e.Msg) }

// Parse reads a statement: a query, INSERT … of a query, CREATE TABLE or VIEW … AS, a multi-insert, or EXPLAIN of one of
// these. The error is a *SyntaxError.
func Parse(sql string) (*Query, error) {
	if len(sql) > maxText {
		return nil, &SyntaxError{Offset: maxText, Msg: "text too long"}
	}
	p := &parser{sql: sql, tokens: tokens(sql)}
	q := p.statement()
	p.accept(";")
	if p.peek().kind != tokEOF {
		p.fail("expected the end")
	}
	if p.err != nil {
		return nil, p.err
	}
	return q, nil
}

// parser holds the place in the tokens. After the first error it stands at the end for good, so that every loop stops;
// the trees that are built then are thrown away.
type parser struct {
	sql    string
	tokens []token
	i      int
	depth  int
	err    *SyntaxError
}

func (p *parser) peek() token { return p.tokens[p.i] }

// ahead is the token n places on.
func (p *parser) ahead(n int) token { return p.tokens[min(p.i+n, len(p.tokens)-1)] }

func (p *parser) next() token {
	t := p.tokens[p.i]
	if t.kind != tokEOF {
		p.i++
	}
	return t
}

func (p *parser) fail(msg string) {
	if p.err == nil {
		t := p.peek()
		if t.kind != tokEOF {
			msg += fmt.Sprintf(", found %.40q", p.sql[t.start:t.end])
		}
		p.err = &SyntaxError{Offset: t.start, Msg: msg}
	}
	p.i = len(p.tokens) - 1
}

// enter goes one level deeper; leave comes back.
func (p *parser) enter() {
	p.depth++
	if p.depth > maxDepth {
		p.fail("nested too deep")
	}
}

func (p *parser) leave() { p.depth-- }

// grow fails when a chain gets too long.
func (p *parser) grow(n *int) {
	*n++
	if *n > maxChain {
		p.fail("chain too long")
	}
}

// accept takes the operator if it is next.
func (p *parser) accept(op string) bool {
	if p.peek().op(op) {
		p.i++
		return true
	}
	return false
}

// take takes the keywords if they are next, all of them.
func (p *parser) take(keywords ...string) bool {
	for n, k := range keywords {
		if !p.ahead(n).is(k) {
			return false
		}
	}
	p.i += len(keywords)
	return true
}

func (p *parser) expect(op string) {
	if !p.accept(op) {
		p.fail("expected " + op)
	}
}

func (p *parser) expectWord(keyword string) {
	if !p.take(keyword) {
		p.fail("expected " + keyword)
	}
}

// end is the place behind the last token taken.
func (p *parser) end() int {
	if p.i == 0 {
		return 0
	}
	return p.tokens[p.i-1].end
}

// since is the span from start to the last token taken.
func (p *parser) since(start int) Span { return Span{start, max(start, p.end())} }

// isName reports whether t can be a name where one is optional: a quoted one, or a word that Hive does not reserve.
func isName(t token) bool {
	return t.kind == tokQuoted || t.kind == tokWord && !reserved[t.word]
}

func (p *parser) name() string {
	t := p.peek()
	if !isName(t) {
		p.fail("expected a name")
		return ""
	}
	return p.next().word
}

// names reads (a, b).
func (p *parser) names() []string {
	var list []string
	p.expect("(")
	for {
		list = append(list, p.name())
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	return list
}

func (p *parser) tableName() *TableName {
	t := &TableName{Name: p.name()}
	if p.accept(".") {
		t.Database, t.Name = t.Name, p.name()
	}
	return t
}

// skipBrackets moves behind the bracket that closes the one that is next.
func (p *parser) skipBrackets() {
	p.expect("(")
	for depth := 1; depth > 0; {
		switch t := p.peek(); {
		case t.kind == tokEOF || t.kind == tokBad:
			p.fail("expected )")
			return
		case t.op("("):
			depth++
		case t.op(")"):
			depth--
		}
		p.i++
	}
}

// reserved are the words that Hive 4 does not take for a name (HiveLexer's keywords without IdentifiersParser's
// nonReserved), as far as they can follow one, and types and functions that are no names either.
var reserved = set(
	"all", "and", "as", "between", "both", "by", "case", "cast", "create", "cross", "current_date", "current_timestamp",
	"delete", "distinct", "drop", "else", "end", "except", "exists", "extract", "false", "for", "from", "full", "group",
	"grouping", "having", "if", "in", "inner", "insert", "intersect", "interval", "into", "is", "join", "lateral", "left",
	"like", "map", "minus", "not", "null", "on", "or", "order", "outer", "over", "partition", "preserve", "qualify",
	"reduce", "regexp", "right", "rlike", "rollup", "select", "set", "table", "tablesample", "then", "to", "transform",
	"true", "union", "uniquejoin", "unknown", "update", "using", "values", "when", "where", "window", "with",
)

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}
