package explain

import "strings"

// mergeAliases reads "Path -> Alias:", lines such as "hdfs://…/t [a, sub:b]".
func mergeAliases(sources []Source, n *node) []Source {
	for _, k := range n.kids {
		path, aliases, ok := splitAliases(k.text)
		if !ok {
			continue
		}
		s := sourceAt(&sources, path)
		s.Aliases = aliases
	}
	return sources
}

// splitAliases takes "path [alias, alias]" apart. An alias inside a query block is printed "block:alias".
func splitAliases(text string) (path string, aliases []string, ok bool) {
	i := strings.LastIndex(text, " [")
	if i < 0 || !strings.HasSuffix(text, "]") {
		return "", nil, false
	}
	for a := range strings.SplitSeq(text[i+2:len(text)-1], ",") {
		a = strings.TrimSpace(a)
		if j := strings.LastIndexByte(a, ':'); j >= 0 {
			a = a[j+1:]
		}
		aliases = append(aliases, a)
	}
	return strings.TrimSpace(text[:i]), aliases, true
}

// sourceAt finds or adds the source of a path.
func sourceAt(sources *[]Source, path string) *Source {
	for i := range *sources {
		if (*sources)[i].Path == path {
			return &(*sources)[i]
		}
	}
	*sources = append(*sources, Source{Path: path})
	return &(*sources)[len(*sources)-1]
}

// mergePartitions reads "Path -> Partition:". A path with its "Partition" below; where the path is masked, the
// "Partition" alone.
func mergePartitions(sources []Source, n *node) []Source {
	for _, k := range n.kids {
		if k.text == "Partition" {
			s := Source{}
			readPartition(&s, k)
			sources = append(sources, s)
			continue
		}
		s := sourceAt(&sources, strings.TrimSpace(k.text))
		if p := k.kid("Partition"); p != nil {
			readPartition(s, p)
		}
	}
	return sources
}

// readPartition reads a partition descriptor: its own properties, then, indented further below its serde, the table's.
// An unpartitioned table prints its properties twice; the second are the table's too.
func readPartition(s *Source, n *node) {
	var own, table map[string]string
	var values []string
	var walk func(n *node, depth int)
	walk = func(n *node, depth int) {
		for _, k := range n.kids {
			switch name, value := k.field(); name {
			case "properties":
				if depth == 0 {
					own = properties(k)
				} else if table == nil {
					table = properties(k)
				}
			case "partition values":
				for _, v := range k.kids {
					values = append(values, strings.Replace(v.text, " ", "=", 1))
				}
			case "name":
				s.Table = value
			case "serde":
				if depth == 0 {
					walk(k, depth+1)
				}
			}
		}
	}
	walk(n, 0)
	s.Partition = strings.Join(values, "/")
	s.Properties = table
	switch {
	case s.Partition != "":
		s.PartitionProperties = own
	case table == nil:
		s.Properties = own
	}
	if s.Table == "" {
		s.Table = s.Properties["name"]
	}
}

// properties reads lines such as "bucket_count 8": a name, a space, and a value that may be empty.
func properties(n *node) map[string]string {
	m := make(map[string]string, len(n.kids))
	for _, k := range n.kids {
		name, value, _ := strings.Cut(k.text, " ")
		m[name] = value
	}
	return m
}

// mergeTruncated takes the aliases of "Truncated Path -> Alias:" where the full paths are not readable.
func mergeTruncated(sources []Source, n *node) []Source {
	for _, k := range n.kids {
		path, aliases, ok := splitAliases(k.text)
		if !ok {
			continue
		}
		for i := range sources {
			s := &sources[i]
			if len(s.Aliases) == 0 && sourceInPath(s, path) {
				s.Aliases = aliases
				break
			}
		}
	}
	return sources
}

// sourceInPath tells whether a truncated path ends in a source's table and partition directory.
func sourceInPath(s *Source, path string) bool {
	_, name, _ := strings.Cut(s.Table, ".")
	if name == "" {
		name = s.Table
	}
	end := "/" + name
	if s.Partition != "" {
		end += "/" + s.Partition
	}
	return strings.HasSuffix(strings.ToLower(path), strings.ToLower(end))
}

// localTables reads the tables an MR stage's local work fetches.
func localTables(n *node) []Source {
	var sources []Source
	for _, alias := range n.kids {
		name := strings.TrimSpace(alias.text)
		if j := strings.LastIndexByte(name, ':'); j >= 0 {
			name = name[j+1:]
		}
		before := len(sources)
		for _, fetch := range alias.kids {
			for _, d := range fetch.kids {
				for _, p := range d.kids {
					if p.text == "Partition" {
						s := Source{Aliases: []string{name}}
						readPartition(&s, p)
						sources = append(sources, s)
					}
				}
			}
		}
		if len(sources) == before {
			sources = append(sources, Source{Aliases: []string{name}})
		}
	}
	return sources
}
