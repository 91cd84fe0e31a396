package explain

import "strings"

// readDynamic fills in a dynamic operator's columns and its PartitionPruneInfos from what stands beside and below it.
func (o *MaxComputeOperator) readDynamic() {
	fields := [][2]string{}
	add := func(name, value string, children []Attr) {
		for _, c := range children {
			value += "\n" + c.Name
			if c.Value != "" {
				value += ": " + c.Value
			}
		}
		fields = append(fields, [2]string{name, strings.TrimSpace(value)})
	}
	for _, a := range o.Attrs {
		add(a.Name, a.Value, a.Children)
	}
	for _, f := range namedFields(unwrap(o.Text)) {
		add(f[0], f[1], nil)
	}
	for _, f := range fields {
		switch name := strings.ToLower(f[0]); {
		case strings.HasPrefix(name, "partitionpruneinfo"):
			o.Prunes = append(o.Prunes, partitionPrunes(f[1])...)
		case strings.Contains(name, "column"), strings.HasPrefix(name, "key"):
			o.Columns = appendNew(o.Columns, columnNames(f[1]))
		}
	}
	if len(o.Columns) == 0 && !strings.Contains(o.Text, ":") && strings.Trim(o.Text, "()[]{} ") != "" {
		o.Columns = columnNames(unwrap(o.Text)) // "DynamicFilterConsumer1: a.id"
	}
}

// partitionPrunes splits "[{…}, {…}]", or lines, into entries.
func partitionPrunes(text string) []PartitionPrune {
	var prunes []PartitionPrune
	text = unwrapIn(text, '[', ']')
	for _, part := range splitTop(text, ",\n") {
		if part == "" {
			continue
		}
		p := PartitionPrune{Text: part}
		for _, f := range namedFields(unwrap(part)) {
			switch name := strings.ToLower(f[0]); {
			case strings.Contains(name, "column"), strings.Contains(name, "key"):
				p.Columns = appendNew(p.Columns, columnNames(f[1]))
			case strings.Contains(name, "table"):
				p.Table = strings.Trim(f[1], `"' `)
			}
		}
		prunes = append(prunes, p)
	}
	if merged := mergePrunes(prunes); merged != nil {
		return merged
	}
	return prunes
}

// mergePrunes joins the fields of one entry that stands without braces: "table: p.b, columns: [ds]".
func mergePrunes(prunes []PartitionPrune) []PartitionPrune {
	if len(prunes) < 2 {
		return nil
	}
	one := PartitionPrune{}
	for _, p := range prunes {
		if strings.HasPrefix(p.Text, "{") || !strings.ContainsAny(p.Text, ":=") || p.Table != "" && one.Table != "" {
			return nil
		}
		if one.Text != "" {
			one.Text += ", "
		}
		one.Text += p.Text
		one.Columns = appendNew(one.Columns, p.Columns)
		if p.Table != "" {
			one.Table = p.Table
		}
	}
	return []PartitionPrune{one}
}

// namedFields reads "name: value" and "name=value" pairs at the top level of a list.
func namedFields(text string) [][2]string {
	var fields [][2]string
	for _, part := range splitTop(text, ",;\n") {
		i := strings.IndexAny(part, ":=")
		if i <= 0 || strings.ContainsAny(part[:i], "([{") {
			continue
		}
		fields = append(fields, [2]string{strings.Trim(part[:i], `"' `), strings.TrimSpace(part[i+1:])})
	}
	return fields
}

// columnNames reads "[a, b]", "a (bigint), b" or lines of names.
func columnNames(text string) []string {
	var names []string
	for _, part := range splitTop(unwrap(text), ",\n") {
		if name, _, ok := strings.Cut(part, " ("); ok {
			part = name
		}
		if part = strings.Trim(part, "\"'` "); part != "" {
			names = append(names, part)
		}
	}
	return names
}

// splitTop splits at any of seps outside brackets and quotes; parts come without surrounding space.
func splitTop(text, seps string) []string {
	var parts []string
	depth, start := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\'' || c == '"':
			i = closingQuote(text, i)
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case depth <= 0 && strings.IndexByte(seps, c) >= 0:
			parts = append(parts, strings.TrimSpace(text[start:i]))
			start = i + 1
		}
	}
	return append(parts, strings.TrimSpace(text[start:]))
}

// unwrap takes one pair of brackets of any kind off.
func unwrap(text string) string {
	for _, pair := range [...]string{"[]", "()", "{}"} {
		if inner := unwrapIn(text, pair[0], pair[1]); inner != text {
			return inner
		}
	}
	return text
}

func unwrapIn(text string, left, right byte) string {
	text = strings.TrimSpace(text)
	if len(text) >= 2 && text[0] == left && text[len(text)-1] == right {
		return strings.TrimSpace(text[1 : len(text)-1])
	}
	return text
}

func appendNew(list, more []string) []string {
next:
	for _, m := range more {
		for _, old := range list {
			if old == m {
				continue next
			}
		}
		list = append(list, m)
	}
	return list
}
