package advisor

import (
	"slices"
	"strings"
)

// statistics reports, once a table, inputs that were estimated without full statistics.
func (f *finder) statistics(v *JoinVerdict) {
	j := &v.Join
	for pos := range j.Inputs {
		in := &j.Inputs[pos]
		basic, column := lacks(in.BasicStats), lacks(in.ColumnStats) && f.settings.FetchColumnStats
		if !basic && !column {
			continue
		}
		for _, table := range in.Tables {
			f.missing(v, pos, table, basic)
		}
	}
	// With the plan's own words unavailable, a base column that was looked up and has no statistics says the same.
	for pos := range j.Inputs {
		in := &j.Inputs[pos]
		if in.ColumnStats != "" {
			continue
		}
		for i := range in.Keys {
			if k := &in.Keys[i]; k.Table != "" && k.Column != "" && k.NDV == nil && f.settings.FetchColumnStats {
				f.missing(v, pos, k.Table, false)
			}
		}
	}
}

// lacks: the plan says NONE or PARTIAL.
func lacks(state string) bool {
	return strings.EqualFold(state, "NONE") || strings.EqualFold(state, "PARTIAL")
}

func (f *finder) missing(v *JoinVerdict, pos int, table string, basic bool) {
	j := &v.Join
	columns := columnsOf(j, table)
	if at, seen := f.tables[table]; seen {
		f.mergeMissing(at, table, columns, basic)
		return
	}
	in := &j.Inputs[pos]
	what := "column statistics"
	if basic {
		what = "basic statistics"
	}
	severity := Low
	effect := "its size is an estimate from file sizes and types"
	if v.Join.Strategy == MergeJoin {
		severity = Medium
		effect = "the merge join may be due to that"
	}
	f.tables[table] = len(f.list)
	f.add(Finding{
		Kind: MissingStatistics, Severity: severity, Subject: table,
		Summary: table + " has no complete " + what + " (basic " + stateWord(in.BasicStats) + ", column " + stateWord(in.ColumnStats) + "): it was planned with " +
			grouped(in.Rows) + " rows and " + human(in.DataSize) + " at " + subject(j) + "; " + effect,
		Evidence: map[string]any{
			"basic_stats": in.BasicStats, "column_stats": in.ColumnStats, "rows": in.Rows, "data_size": in.DataSize, "columns": columns, "basic_missing": basic,
		},
		Advice: analyze(table, columns, basic),
	})
}

// mergeMissing widens the advice of a table that further joins read.
func (f *finder) mergeMissing(at int, table string, columns []string, basic bool) {
	e := f.list[at].Evidence
	known, _ := e["columns"].([]string)
	for _, c := range columns {
		if !slices.Contains(known, c) {
			known = append(known, c)
		}
	}
	was, _ := e["basic_missing"].(bool)
	e["columns"], e["basic_missing"] = known, basic || was
	f.list[at].Advice = analyze(table, known, basic || was)
}

func stateWord(state string) string {
	if state == "" {
		return "unknown"
	}
	return strings.ToLower(state)
}

// columnsOf lists the base columns of a table that the join's keys and carried columns use, keys first.
func columnsOf(j *Join, table string) []string {
	var list []string
	add := func(t, c string) {
		if t == table && c != "" && !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	for i := range j.Inputs {
		for _, k := range j.Inputs[i].Keys {
			add(k.Table, k.Column)
		}
	}
	for i := range j.Inputs {
		for _, c := range j.Inputs[i].Columns {
			add(c.Table, c.Column)
		}
	}
	return list
}

// analyze writes the ANALYZE statements for a table; empty when a name cannot be quoted.
func analyze(table string, columns []string, basic bool) string {
	name := quoteTable(table)
	if name == "" {
		return ""
	}
	var text string
	if basic {
		text = "ANALYZE TABLE " + name + " COMPUTE STATISTICS;\n"
	}
	text += "ANALYZE TABLE " + name + " COMPUTE STATISTICS FOR COLUMNS"
	quoted := make([]string, 0, len(columns))
	for _, c := range columns {
		if q := quote(c); q != "" {
			quoted = append(quoted, q)
		}
	}
	if len(quoted) > 0 {
		text += " " + strings.Join(quoted, ", ")
	}
	return text + ";"
}

// analyzeInputs is the ANALYZE of every base table of the join.
func analyzeInputs(j *Join) string {
	var list, done []string
	for i := range j.Inputs {
		for _, table := range j.Inputs[i].Tables {
			if slices.Contains(done, table) {
				continue
			}
			done = append(done, table)
			if text := analyze(table, columnsOf(j, table), false); text != "" {
				list = append(list, text)
			}
		}
	}
	return strings.Join(list, "\n")
}

// quoteTable quotes "database.table"; empty when it is not of that form or cannot be quoted.
func quoteTable(table string) string {
	database, name, ok := strings.Cut(table, ".")
	if !ok {
		return quote(table)
	}
	d, n := quote(database), quote(name)
	if d == "" || n == "" {
		return ""
	}
	return d + "." + n
}

// quote puts a name in backticks; empty for names Hive could not have (control characters, backslashes, nothing).
func quote(name string) string {
	if name == "" {
		return ""
	}
	for _, r := range name {
		if r < ' ' || r == '\\' || r == 0x7f {
			return ""
		}
	}
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}
