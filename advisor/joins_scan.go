package advisor

import (
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// scanColumns are the columns of a scan's table, from the properties EXTENDED prints. Without them: what user-level
// plans say the scan puts out, or nothing.
func scanColumns(o *explain.Operator) []column {
	table := tableOf(o)
	var cols []column
	add := func(names, types string, separator byte) {
		list := splitTypes(types, separator)
		for i, name := range explain.Names(names) {
			c := column{name: name, table: table, column: name, index: len(cols)}
			if i < len(list) {
				c.typ = list[i]
			}
			cols = append(cols, c)
		}
	}
	if s := sourceOf(o); s != nil && s.Properties["columns"] != "" {
		add(s.Properties["columns"], s.Properties["columns.types"], ':')
		add(strings.ReplaceAll(s.Properties["partition_columns"], "/", ","), s.Properties["partition_columns.types"], ':')
		return cols
	}
	if v, ok := o.Attr("Output"); ok {
		add(v, "", ':')
	}
	return cols
}

// splitTypes splits "int:decimal(10,2):struct<a:int>" at the separators outside brackets.
func splitTypes(s string, separator byte) []string {
	if s == "" {
		return nil
	}
	var types []string
	depth, start := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '<', '(':
			depth++
		case '>', ')':
			depth--
		case separator:
			if depth == 0 {
				types = append(types, s[start:i])
				start = i + 1
			}
		}
	}
	return append(types, s[start:])
}

// sourceOf is the table a scan reads: the vertex's source with the scan's alias, or its only one.
func sourceOf(o *explain.Operator) *explain.Source {
	if o.Vertex == nil {
		return nil
	}
	alias, _ := o.Attr("alias")
	sources := o.Vertex.Sources
	for i := range sources {
		for _, a := range sources[i].Aliases {
			if a == alias {
				return &sources[i]
			}
		}
	}
	scans := 0
	for s := range o.Vertex.Operators() {
		if s.Kind == kindTableScan {
			scans++
		}
	}
	// Two scans of one table share a path, printed under one alias. A scan of one row may be one that reads no partition.
	if len(sources) == 0 || scans != 1 && (scans == 0 || stats(o).Rows <= 1) {
		return nil
	}
	for i := range sources { // partitions of one table
		if sources[i].Table != sources[0].Table {
			return nil
		}
	}
	return &sources[0]
}

// tableOf is a scan's "database.table", empty where the form prints only its alias.
func tableOf(o *explain.Operator) string {
	if s := sourceOf(o); s != nil && s.Table != "" {
		return strings.ToLower(s.Table)
	}
	table, ok := o.Attr("table")
	if !ok {
		return ""
	}
	if db, ok := o.Attr("database"); ok { // FORMATTED
		return strings.ToLower(db + "." + table)
	}
	return strings.ToLower(table)
}
