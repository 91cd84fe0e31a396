package hiveql

import "strings"

// classifyQuery reads SELECT, INSERT, FROM … INSERT … INSERT and their forms behind WITH.
func classifyQuery(l *lexer, info *Info) {
	inserts, reads := scanQuery(l, info)
	info.Explainable = reads
	switch {
	case inserts > 1:
		info.Kind = KindMultiInsert
	case inserts == 1:
		info.Kind = KindInsert
	default:
		info.Kind = KindSelect
	}
}

// level is what is known of one depth of parentheses.
type level uint8

const (
	// inFrom: a comma here separates sources.
	inFrom level = 1 << iota
	// inCall: the arguments of EXTRACT or TRIM, where FROM begins no clause.
	inCall
)

// scanQuery reads a query to its end, records its INSERTs in info and returns how many there are (those into
// directories too) and whether a table, view or common table expression follows some FROM or JOIN.
func scanQuery(l *lexer, info *Info) (inserts int, reads bool) {
	levels := []level{0}
	var source bool  // the next token, opening parentheses aside, begins a source
	var before token // the token before t
	for {
		t := l.next()
		here := &levels[len(levels)-1]
		switch {
		case t.kind == tokEOF:
			return inserts, reads
		case l.op(t, "("):
			next := level(0)
			switch {
			case source:
				next = inFrom
			case before.kw.has(isFromCall):
				next = inCall
			}
			levels = append(levels, next)
		case l.op(t, ")"):
			if len(levels) > 1 {
				levels = levels[:len(levels)-1]
			}
			source = false
		case l.op(t, ","):
			source = *here&inFrom != 0
		case t.kind == tokWord:
			switch word := t.kw.text(); {
			case word == "from" && *here&inCall == 0, word == "join":
				*here |= inFrom
				source = true
			case word == "insert" && len(levels) == 1 && l.isAny(l.peek(), "into", "overwrite"):
				inserts++
				readInsert(l, info)
				*here &^= inFrom
				source = false
			case source:
				reads = reads || !t.kw.has(isQuery)
				source = false
			case t.kw.has(isClause):
				*here &^= inFrom
			}
		case t.kind == tokHint:
		default:
			reads = reads || source && (t.kind == tokQuoted || t.kind == tokVariable || l.doubleQuoted(t))
			source = false
		}
		before = t
	}
}

// readInsert reads the destination behind INSERT; a directory is no write of a table.
func readInsert(l *lexer, info *Info) {
	op := WriteInsertInto
	if l.skip("overwrite") {
		op = WriteInsertOverwrite
		ahead := *l
		ahead.skip("local")
		if ahead.skip("directory") && ahead.peek().kind == tokString {
			*l = ahead
			info.OtherTargets++
			return
		}
	} else {
		l.skip("into")
	}
	l.skip("table")
	if !addWrite(l, info, op) {
		info.OtherTargets++
	}
}

// variableIn reports whether s holds something HiveServer2 would replace.
func variableIn(s string) bool { return strings.Contains(s, "${") }
