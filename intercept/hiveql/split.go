package hiveql

import "strings"

// Statement is one statement of a script.
type Statement struct {
	// Text is the statement from its first token to its last, as HiveServer2 takes it: without the semicolon that ends it and
	// without comments around it. Lines inside that begin with #, which clients cut out and HiveLexer refuses, are empty.
	Text string
	// Lead is what stands before the statement and belongs to no other: blanks and comments.
	Lead string
	// Line counts the lines of the script from 1, Column its bytes from 1: where Text begins.
	Line, Column int
	// Client: a command for the client (Beeline's !connect), which ends with its line and reaches no server.
	Client bool
}

// Split cuts a script, as it is given to Beeline or the Hive CLI in a file, into its statements; empty ones are left out.
//
// A semicolon ends a statement unless it stands in a string, between backticks or in a comment, by the rules of HiveLexer.g
// (comments nest). Lines that begin with # or -- are comments everywhere but in a string. What a command processor takes
// literally (SET, ADD JAR and the like) has neither backticks nor block comments, so that a path may end in /*; there \; stands
// for a semicolon, as Beeline has it. A byte order mark is skipped. Split never fails: what is not closed goes on to the end.
func Split(script string) []Statement {
	s := splitter{lexer: lexer{src: script}, line: 1}
	if strings.HasPrefix(script, byteOrderMark) {
		s.pos, s.counted, s.bol = len(byteOrderMark), len(byteOrderMark), len(byteOrderMark)
	}
	var list []Statement
	for s.pos < len(script) {
		if st, ok := s.statement(); ok {
			list = append(list, st)
		}
	}
	return list
}

const byteOrderMark = "\ufeff"

// splitter walks over a script once.
type splitter struct {
	lexer
	line, counted, bol int // the number of the line that the byte at counted is in, which begins at bol
}

// statement moves behind the next statement and its semicolon; false where there is nothing but blanks and comments.
func (s *splitter) statement() (Statement, bool) {
	from := s.pos
	s.skipBlankLines()
	start := s.pos
	st := Statement{Lead: s.src[from:start]}
	st.Line, st.Column = s.place(start)
	switch {
	case start >= len(s.src):
		return st, false
	case s.src[start] == '!':
		s.skipLine()
		st.Client, st.Text = true, strings.TrimRight(s.src[start:s.pos], "; \t\r")
		return st, true
	case s.commandAhead():
		st.Text = s.command()
	default:
		st.Text = s.query()
	}
	return st, st.Text != ""
}

// place is the line and column of a byte behind the one asked for before.
func (s *splitter) place(at int) (line, column int) {
	for ; s.counted < at; s.counted++ {
		if s.src[s.counted] == '\n' {
			s.line++
			s.bol = s.counted + 1
		}
	}
	return s.line, at - s.bol + 1
}

// skipBlankLines moves over blanks and comments, those of lines that begin with # included.
func (s *splitter) skipBlankLines() {
	for {
		s.skipBlank()
		if s.pos >= len(s.src) || s.src[s.pos] != '#' || !s.lineBegins() {
			return
		}
		s.skipLine()
	}
}

// lineBegins reports whether only blanks stand before the position in its line.
func (s *splitter) lineBegins() bool {
	for i := s.pos - 1; i >= 0 && s.src[i] != '\n'; i-- {
		if !isBlank(s.src[i]) {
			return i < len(byteOrderMark) && strings.HasPrefix(s.src, byteOrderMark)
		}
	}
	return true
}

// skipLine moves to the end of the line, before the line end.
func (s *splitter) skipLine() {
	n := strings.IndexByte(s.src[s.pos:], '\n')
	if n < 0 {
		n = len(s.src) - s.pos
	}
	s.pos += n
}

// commandAhead reports whether a command processor takes the statement at the position. ROLE, FROM and AUTOCOMMIT as the second
// word make it HiveQL, see command.
func (s *splitter) commandAhead() bool {
	first, rest := shortWord(s.src[s.pos:])
	if !isCommand(first) {
		return false
	}
	second, _ := shortWord(strings.TrimLeft(rest, javaBlanks))
	return !equalASCII("role", second) && !equalASCII("from", second) && (!equalASCII("autocommit", second) || !equalASCII("set", first))
}

// shortWord cuts s behind its first word, which a blank or a semicolon ends; the word is empty when it is longer than any keyword.
func shortWord(s string) (word, rest string) {
	for i := range min(len(s), maxKeyword) {
		if isBlank(s[i]) || s[i] == ';' {
			return s[:i], s[i:]
		}
	}
	if len(s) < maxKeyword {
		return s, ""
	}
	return "", s
}

// command moves behind a command and its semicolon and returns its text.
func (s *splitter) command() string {
	var b strings.Builder
	start := s.pos
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case c == ';':
			b.WriteString(s.src[start:s.pos])
			s.pos++
			return strings.Trim(b.String(), javaBlanks)
		case c == '\\' && strings.HasPrefix(s.src[s.pos:], `\;`):
			b.WriteString(s.src[start:s.pos])
			s.pos++
			start = s.pos
			s.pos++
		case c == '\'' || c == '"':
			s.stringLiteral()
		case c == '-' && strings.HasPrefix(s.src[s.pos:], "--"), c == '#' && s.lineBegins():
			b.WriteString(s.src[start:s.pos])
			s.skipLine()
			start = s.pos
		default:
			s.pos++
		}
	}
	b.WriteString(s.src[start:])
	return strings.Trim(b.String(), javaBlanks)
}

// query moves behind a HiveQL statement and its semicolon and returns its text up to its last token.
func (s *splitter) query() string {
	var b strings.Builder
	start, end := s.pos, s.pos // end is behind the last token
	var lines []int            // where lines that begin with # begin and end, in turn
	for s.pos < len(s.src) {
		before := s.pos
		if s.skipBlank(); s.pos > before {
			continue
		}
		if s.src[s.pos] == ';' {
			s.pos++
			break
		}
		if s.src[s.pos] == '#' && s.lineBegins() {
			s.skipLine()
			lines = append(lines, before, s.pos)
			continue
		}
		s.read()
		end = s.pos
	}
	for i := 0; i < len(lines) && lines[i] < end; i += 2 {
		b.WriteString(s.src[start:lines[i]])
		start = lines[i+1]
	}
	b.WriteString(s.src[start:end])
	return b.String()
}
