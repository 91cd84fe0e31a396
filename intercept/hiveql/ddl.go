package hiveql

// classifyCreate reads CREATE. A table or materialized view made from a query is KindCTAS with the query's text: that
// can still be explained when the table exists. A view runs nothing and is KindCreate, like everything else.
func classifyCreate(l *lexer, info *Info) {
	info.Kind = KindCreate
	materialized := false
	for next := l.peek(); ; next = l.peek() {
		switch {
		case l.is(next, "table") || materialized && l.is(next, "view"):
			l.next()
			l.skipIfExists()
			createdFromQuery(l, info)
			return
		case l.is(next, "materialized"):
			materialized = true
		case !l.isAny(next, "or", "replace", "external", "temporary", "managed", "transactional"):
			return
		}
		l.next()
	}
}

// createdFromQuery looks for AS and a query behind the table's name and definition.
func createdFromQuery(l *lexer, info *Info) {
	name, named := l.table()
	for depth := 0; ; {
		t := l.next()
		switch {
		case t.kind == tokEOF:
			return
		case l.op(t, "("):
			depth++
		case l.op(t, ")"):
			depth--
		case depth == 0 && l.is(t, "as") && l.beginsQuery():
			info.Kind = KindCTAS
			if named {
				info.Writes = append(info.Writes, Write{Op: WriteCreate, Table: name})
			}
			info.Query = l.rest()
			_, info.Explainable = scanQuery(l, &Info{})
			return
		}
	}
}

// beginsQuery reports whether a query stands at the position.
func (l *lexer) beginsQuery() bool {
	t := l.peek()
	return l.op(t, "(") || t.kw.has(isQuery)
}

// rest is the text from the next token to the last, trailing semicolons and comments left out.
func (l *lexer) rest() string {
	ahead := *l
	start := ahead.peek().start
	end := start
	for t := ahead.next(); t.kind != tokEOF; t = ahead.next() {
		if !ahead.op(t, ";") {
			end = t.end
		}
	}
	return ahead.src[start:end]
}

// classifyAlter reads ALTER TABLE … and ALTER MATERIALIZED VIEW … REBUILD, by AlterClauseParser.g.
func classifyAlter(l *lexer, info *Info) {
	info.Kind = KindAlter
	if l.skip("materialized") {
		if l.skip("view") {
			if name, ok := l.table(); ok && l.skip("rebuild") {
				info.Writes = []Write{{Op: WriteInsertOverwrite, Table: name}}
			}
		}
		return
	}
	if !l.skip("table") {
		return
	}
	name, ok := l.table()
	if !ok {
		return
	}
	target := Write{Table: name}
	if l.skip("partition") {
		if l.skip("column") {
			info.Writes = []Write{{Op: WriteAlterColumns, Table: name}}
			return
		}
		target.Partition, target.Dynamic = l.partition()
	}
	alterTable(l, info, target)
}

// alterTable reads what follows ALTER TABLE name [PARTITION (…)].
func alterTable(l *lexer, info *Info, target Write) {
	t := l.next()
	switch {
	case l.isAny(t, "add", "drop"):
		l.skipIfExists()
		if l.isAny(l.peek(), "column", "columns") {
			target.Op = WriteAlterColumns
			break
		}
		alterPartitions(l, info, target)
		return
	case l.is(t, "replace") && l.is(l.peek(), "columns"), l.is(t, "change"),
		l.is(t, "update") && l.is(l.peek(), "columns"):
		target.Op = WriteAlterColumns
	case l.is(t, "rename") && target.Partition == nil && l.skip("to"):
		if name, ok := l.table(); ok {
			info.Writes = append(info.Writes, Write{Op: WriteDrop, Table: target.Table}, Write{Op: WriteRename, Table: name})
		}
		return
	case l.is(t, "exchange"):
		exchangePartition(l, info, target)
		return
	case l.is(t, "update") && l.is(l.peek(), "statistics"):
		info.Analyze = &Analyze{Table: target.Table, Partition: target.Partition, Dynamic: target.Dynamic, ByHand: true}
		return
	case l.isAny(t, "archive", "unarchive"):
		alterPartitions(l, info, target)
		return
	case l.is(t, "compact"):
		target.Op = WriteCompact
	case l.is(t, "rename") && target.Partition != nil, l.isAny(t, "concatenate", "execute", "recover"),
		l.is(t, "set") && l.is(l.peek(), "location"):
		target.Op = WriteAlterPartition
	default:
		return
	}
	info.Writes = append(info.Writes, target)
}

// alterPartitions reads the PARTITION clauses of ADD, DROP, ARCHIVE and UNARCHIVE, with the LOCATIONs and commas between them.
func alterPartitions(l *lexer, info *Info, target Write) {
	for {
		switch t := l.next(); {
		case l.is(t, "partition"):
			w := Write{Op: WriteAlterPartition, Table: target.Table}
			w.Partition, w.Dynamic = l.partition()
			info.Writes = append(info.Writes, w)
		case l.is(t, "location") || t.kind == tokString || l.op(t, ","):
		default:
			return
		}
	}
}

// exchangePartition reads EXCHANGE PARTITION (…) WITH TABLE source: the partition moves out of the source.
func exchangePartition(l *lexer, info *Info, target Write) {
	if !l.skip("partition") {
		return
	}
	target.Op = WriteAlterPartition
	target.Partition, target.Dynamic = l.partition()
	info.Writes = append(info.Writes, target)
	if l.skip("with") && l.skip("table") {
		if source, ok := l.table(); ok {
			info.Writes = append(info.Writes, Write{Op: WriteAlterPartition, Table: source, Partition: target.Partition, Dynamic: target.Dynamic})
		}
	}
}
