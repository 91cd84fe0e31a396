package hiveql

// readAnalyze reads ANALYZE TABLE name [PARTITION (…)] COMPUTE STATISTICS [NOSCAN | FOR COLUMNS [a, b]], by analyzeStatement of
// HiveParser.g. CACHE METADATA sets no statistics.
func readAnalyze(l *lexer, info *Info) {
	if !l.skip("table") {
		return
	}
	name, ok := l.table()
	if !ok {
		return
	}
	a := Analyze{Table: name}
	if l.skip("partition") {
		a.Partition, a.Dynamic = l.partition()
	}
	if !l.skip("compute") || !l.skip("statistics") {
		return
	}
	switch {
	case l.skip("noscan"):
		a.NoScan = true
	case l.skip("for") && l.skip("columns"):
		a.ForColumns = true
		a.Columns = l.columnList()
	}
	info.Analyze = &a
}

// columnList reads a, b, … and stops at the first that is no name, or depends on a variable.
func (l *lexer) columnList() []string {
	var out []string
	for {
		ahead := *l
		name, ok := ahead.tablePart(ahead.next())
		if !ok {
			return out
		}
		*l = ahead
		out = append(out, name)
		if !l.op(l.peek(), ",") {
			return out
		}
		l.next()
	}
}
