package hiveql

// Parse reads one statement. It never fails: what it does not know is KindOther, not explainable, and writes nothing.
func Parse(sql string) Info {
	if name, args, ok := command(sql); ok {
		return parseCommand(name, args)
	}
	n := newNormalizer(sql)
	n.readAhead()
	l := n.lexer
	var info Info
	classify(&l, &info)
	info.Normalized, info.Fingerprint = n.normalize()
	return info
}

// classify fills kind, writes and what belongs to the kind from the first keyword on. Every branch reads the text at
// most a fixed number of times.
func classify(l *lexer, info *Info) {
	first := l.firstKeyword()
	if first.has(isQuery) || first.text() == "insert" {
		classifyQuery(l, info)
		return
	}
	info.Kind = kindOfFirst(first)
	switch word := first.text(); word {
	case "merge", "update", "delete":
		l.next()
		classifyRowChange(l, info, word)
	case "create":
		l.next()
		classifyCreate(l, info)
	case "alter":
		l.next()
		classifyAlter(l, info)
	case "analyze":
		l.next()
		readAnalyze(l, info)
	case "load", "truncate", "msck", "import", "drop":
		l.next()
		classifyTableCommand(l, info, word)
	case "use":
		readUse(l, info)
	}
}

// classifyRowChange reads MERGE INTO, UPDATE and DELETE FROM. All three read the table they write, so all are explainable.
func classifyRowChange(l *lexer, info *Info, word string) {
	op := WriteDelete
	switch word {
	case "merge":
		op = WriteMerge
	case "update":
		op = WriteUpdate
	}
	info.Explainable = true
	for next := l.peek(); next.kind == tokHint || l.isAny(next, "into", "from"); next = l.peek() {
		l.next()
	}
	addWrite(l, info, op)
}

// classifyTableCommand reads the commands that change a table without a query.
func classifyTableCommand(l *lexer, info *Info, word string) {
	switch word {
	case "load":
		readLoad(l, info)
	case "truncate":
		l.skip("table")
		addWrite(l, info, WriteTruncate)
	case "msck":
		// Without REPAIR it only reports.
		if l.skip("repair") && l.skip("table") {
			addWrite(l, info, WriteMSCK)
		}
	case "import":
		l.skip("external")
		if l.skip("table") {
			addWrite(l, info, WriteImport)
		}
	case "drop":
		// A materialized view holds rows as a table does.
		if l.skip("table") || l.skip("materialized") && l.skip("view") {
			l.skipIfExists()
			addWrite(l, info, WriteDrop)
		} else if l.skip("database") || l.skip("schema") {
			l.skipIfExists()
			if name, ok := l.table(); ok && name.Database == "" {
				info.DroppedDatabase = name.Table
			}
		}
	}
}

// readLoad reads LOAD DATA … [OVERWRITE] INTO TABLE name.
func readLoad(l *lexer, info *Info) {
	overwrite := false
	for {
		t := l.next()
		switch {
		case t.kind == tokEOF:
			return
		case l.is(t, "overwrite"):
			overwrite = true
		case l.is(t, "table"):
			before := len(info.Writes)
			addWrite(l, info, WriteLoad)
			if len(info.Writes) > before {
				info.Writes[before].Overwrite = overwrite
			}
			return
		}
	}
}

// addWrite reads a table's name with its PARTITION clause and records the write; a name that depends on a variable, or
// none at all, records nothing and is false.
func addWrite(l *lexer, info *Info, op WriteOp) bool {
	name, ok := l.table()
	if !ok {
		return false
	}
	w := Write{Op: op, Table: name}
	if op == WriteMSCK { // ADD, DROP or SYNC PARTITIONS stands before the clause
		if l.skip("add") || l.skip("drop") || l.skip("sync") {
			l.skip("partitions")
		}
	}
	if l.skip("partition") {
		w.Partition, w.Dynamic = l.partition()
	}
	info.Writes = append(info.Writes, w)
	return true
}

// skip moves behind the keyword and reports whether it stood there.
func (l *lexer) skip(kw string) bool {
	ahead := *l
	if !ahead.is(ahead.next(), kw) {
		return false
	}
	*l = ahead
	return true
}

// skipIfExists moves behind IF EXISTS or IF NOT EXISTS.
func (l *lexer) skipIfExists() {
	if l.skip("if") {
		l.skip("not")
		l.skip("exists")
	}
}

// partition reads (column=constant, column, …): the static pairs, and the columns that have none: without a value, compared
// otherwise than by =, or with a value that depends on a variable. static is not nil. It moves behind the closing parenthesis where
// there is one.
func (l *lexer) partition() (static map[string]string, dynamic []string) {
	static = map[string]string{}
	if !l.op(l.peek(), "(") {
		return static, nil
	}
	l.next()
	for {
		t := l.next()
		if column, ok := l.namePart(t); ok {
			if value, ok := l.equals(); ok {
				static[column] = value
			} else {
				dynamic = append(dynamic, column)
			}
		}
		for depth := 0; !l.op(t, ",") || depth > 0; {
			switch {
			case t.kind == tokEOF || depth == 0 && l.op(t, ")"):
				return static, dynamic
			case l.op(t, "("):
				depth++
			case l.op(t, ")"):
				depth--
			}
			t = l.next()
		}
	}
}

// equals reads = and a constant.
func (l *lexer) equals() (string, bool) {
	if !l.op(l.peek(), "=") && !l.op(l.peek(), "==") {
		return "", false
	}
	l.next()
	return l.constant()
}

// constant reads a partition value and returns it as text without quotes.
func (l *lexer) constant() (string, bool) {
	ahead := *l
	t := ahead.next()
	if ahead.isAny(t, "date", "timestamp") && ahead.peek().kind == tokString {
		t = ahead.next()
	}
	sign := ""
	if ahead.op(t, "-") && ahead.peek().kind == tokNumber {
		sign = "-"
		t = ahead.next()
	}
	var value string
	switch t.kind {
	case tokString:
		value = stringValue(ahead.text(t))
		for ahead.peek().kind == tokString {
			value += stringValue(ahead.text(ahead.next()))
		}
	case tokNumber:
		value = sign + numberValue(ahead.text(t))
	case tokWord:
		value = lowerASCII(ahead.text(t))
	default:
		return "", false
	}
	*l = ahead
	if variableIn(value) {
		return "", false
	}
	return value, true
}
