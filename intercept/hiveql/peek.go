package hiveql

// Peek reads as much of a statement as decides what it does to its session: Set, Reset and Use are those of Parse, and Kind is
// what the first keyword says, so that a FROM that inserts counts as SELECT, several INSERTs as INSERT and CTAS as CREATE. The
// other fields stay empty. Behind leading comments it reads a few words, unless a command processor takes the whole text.
func Peek(sql string) Info {
	if name, args, ok := command(sql); ok {
		info, _ := readCommand(name, args)
		return info
	}
	l := lexer{src: sql}
	first := l.firstKeyword()
	info := Info{Kind: kindOfFirst(first)}
	if first.text() == "use" {
		readUse(&l, &info)
	}
	return info
}

// firstKeyword is the keyword a statement begins with, hints and opening parentheses aside; noKeyword without one. The lexer
// then stands before it.
func (l *lexer) firstKeyword() keyword {
	first := l.peek()
	for first.kind == tokHint || l.op(first, "(") {
		l.next()
		first = l.peek()
	}
	return first.kw
}

// kindOfFirst is the kind of a statement that begins with the keyword, as far as that tells.
func kindOfFirst(first keyword) Kind {
	if first.has(isQuery) {
		return KindSelect
	}
	switch first.text() {
	case "insert":
		return KindInsert
	case "merge":
		return KindMerge
	case "update":
		return KindUpdate
	case "delete":
		return KindDelete
	case "create":
		return KindCreate
	case "alter":
		return KindAlter
	case "load":
		return KindLoad
	case "truncate":
		return KindTruncate
	case "msck":
		return KindMSCK
	case "import":
		return KindImport
	case "drop":
		return KindDrop
	case "explain":
		return KindExplain
	case "analyze":
		return KindAnalyze
	case "show":
		return KindShow
	case "desc", "describe":
		return KindDescribe
	case "set":
		return KindSet
	case "use":
		return KindUse
	default:
		return KindOther
	}
}

// readUse reads USE's database.
func readUse(l *lexer, info *Info) {
	l.next()
	if name, ok := l.namePart(l.next()); ok {
		info.Use = name
	}
}
