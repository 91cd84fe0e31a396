package explain

import "strings"

// nameUnread names the tables of scans that read nothing: where no partition is left, EXTENDED prints no path for the
// scan. Its table is the one the optimized SQL names and no vertex reads; with several of these, the one that the scan's
// alias names.
func nameUnread(p *Plan) {
	if p.OptimizedSQL == "" {
		return
	}
	read := map[string]bool{}
	var bare []*Operator
	for _, s := range p.Stages {
		for _, v := range s.Vertices {
			for _, src := range v.Sources {
				read[strings.ToLower(src.Table)] = true
			}
			for o := range v.Operators() {
				if o.Kind == "TableScan" && !hasSource(v, o) {
					bare = append(bare, o)
				}
			}
		}
	}
	if len(bare) == 0 {
		return
	}
	var unread []string
	for _, name := range sqlTables(p.OptimizedSQL) {
		if !read[strings.ToLower(name)] {
			read[strings.ToLower(name)] = true
			unread = append(unread, name)
		}
	}
	for _, o := range bare {
		alias, _ := o.Attr("alias")
		for _, name := range unread {
			if len(unread) == 1 || strings.HasSuffix(strings.ToLower(name), "."+strings.ToLower(alias)) {
				o.Vertex.Unread = append(o.Vertex.Unread, Source{Aliases: []string{alias}, Table: name})
				break
			}
		}
	}
}

func hasSource(v *Vertex, o *Operator) bool {
	alias, _ := o.Attr("alias")
	for _, s := range v.Sources {
		for _, a := range s.Aliases {
			if a == alias {
				return true
			}
		}
	}
	return false
}

// sqlTables finds the tables of an optimized SQL text, which quotes every name: FROM `db`.`t`, JOIN `db`.`t`.
func sqlTables(sql string) []string {
	var names []string
	for _, word := range [...]string{"FROM `", "JOIN `"} {
		for rest := sql; ; {
			i := strings.Index(rest, word)
			if i < 0 {
				break
			}
			rest = rest[i+len(word):]
			db, after, ok := strings.Cut(rest, "`.`")
			if !ok {
				continue
			}
			table, _, ok := strings.Cut(after, "`")
			if ok && !strings.ContainsAny(db, "`\n") {
				names = append(names, db+"."+table)
			}
		}
	}
	return names
}
