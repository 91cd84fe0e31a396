package hiveql

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxIdentifier is the longest name taken, in characters: the metastore's database and partition key names hold 128.
const maxIdentifier = 128

// QuoteIdentifier puts a database, table or column name between backticks and doubles those inside, so that HiveQL reads
// exactly that name. It refuses what Hive cannot hold or would read differently: an empty name, more than 128
// characters, invalid UTF-8, control characters, blanks at an end (the metastore trims them), and "${", which
// HiveServer2 replaces by a variable even between backticks.
func QuoteIdentifier(name string) (string, error) {
	switch {
	case name == "":
		return "", errors.New("quote identifier: the name is empty")
	case len(name) > maxIdentifier*utf8.UTFMax || utf8.RuneCountInString(name) > maxIdentifier:
		return "", fmt.Errorf("quote identifier: the name has more than %d characters", maxIdentifier)
	case !utf8.ValidString(name):
		return "", fmt.Errorf("quote identifier %q: not valid UTF-8", name)
	case strings.ContainsFunc(name, unicode.IsControl):
		return "", fmt.Errorf("quote identifier %q: control characters are not allowed", name)
	case strings.TrimSpace(name) != name:
		return "", fmt.Errorf("quote identifier %q: begins or ends with a blank", name)
	case strings.Contains(name, "${"):
		return "", fmt.Errorf("quote identifier %q: ${ begins a variable in Hive", name)
	}
	return "`" + strings.ReplaceAll(name, "`", "``") + "`", nil
}

// Quoted is the name as HiveQL takes it anywhere, each part between backticks: `db`.`table`, or `table` without a
// database. It fails where a part cannot be quoted or, as Hive allows in no table's name, holds a dot.
func (t TableName) Quoted() (string, error) {
	table, err := quotePart(t.Table)
	if err != nil || t.Database == "" {
		return table, err
	}
	database, err := quotePart(t.Database)
	if err != nil {
		return "", err
	}
	return database + "." + table, nil
}

func quotePart(name string) (string, error) {
	if strings.Contains(name, ".") {
		return "", fmt.Errorf("quote identifier %q: a table or database name holds no dot", name)
	}
	return QuoteIdentifier(name)
}

// ParseTableName reads table, db.table, `table` or `db`.`table`, blanks around included, and lowers the letters as the
// metastore does. Everything else is refused with an error that quotes s.
func ParseTableName(s string) (TableName, error) {
	if len(s) > 4*utf8.UTFMax*maxIdentifier {
		return TableName{}, fmt.Errorf("parse table name: %d bytes are too long", len(s))
	}
	l := &lexer{src: s}
	var parts []string
	for {
		t := l.next()
		part, ok := l.namePart(t)
		if !ok {
			return TableName{}, fmt.Errorf("parse table name %q: want table or database.table, with backticks around unusual names", s)
		}
		parts = append(parts, part)
		t = l.next()
		if t.kind == tokEOF {
			break
		}
		if !l.op(t, ".") || len(parts) == 2 {
			return TableName{}, fmt.Errorf("parse table name %q: want nothing after %q", s, strings.Join(parts, "."))
		}
	}
	name := TableName{Table: parts[len(parts)-1]}
	if len(parts) == 2 {
		name.Database = parts[0]
	}
	if _, err := name.Quoted(); err != nil {
		return TableName{}, fmt.Errorf("parse table name: %w", err)
	}
	return name, nil
}

// namePart is the name t stands for, in lower case; false when it is no name or holds a variable.
func (l *lexer) namePart(t token) (string, bool) {
	text := l.text(t)
	switch t.kind {
	case tokWord:
	case tokQuoted:
		text = unquoteIdentifier(text)
	default:
		return "", false
	}
	return strings.ToLower(text), text != "" && !variableIn(text)
}

// unquoteIdentifier takes the backticks off and halves the doubled ones.
func unquoteIdentifier(quoted string) string {
	return strings.ReplaceAll(quoted[1:len(quoted)-1], "``", "`")
}

// tablePart is namePart at a place where nothing but a name can stand. There a string in double quotes is a name too:
// hive.support.quoted.identifiers=standard makes it one.
func (l *lexer) tablePart(t token) (string, bool) {
	if !l.doubleQuoted(t) || l.src[t.end-1] != '"' {
		return l.namePart(t)
	}
	name := strings.ReplaceAll(l.src[t.start+1:t.end-1], `""`, `"`)
	return strings.ToLower(name), name != "" && !variableIn(name)
}

// table reads [database.]table and moves behind it, behind the branch or metadata part of Iceberg names too. It is false,
// without a move, where no name stands or the name depends on a variable.
func (l *lexer) table() (TableName, bool) {
	ahead := *l
	first, ok := ahead.tablePart(ahead.next())
	if !ok {
		return TableName{}, false
	}
	name := TableName{Table: first}
	for part := 0; ahead.op(ahead.peek(), "."); part++ {
		ahead.next()
		next, ok := ahead.tablePart(ahead.next())
		if !ok {
			return TableName{}, false
		}
		if part == 0 {
			name = TableName{Database: first, Table: next}
		}
	}
	*l = ahead
	return name, true
}
