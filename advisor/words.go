package advisor

import (
	"strconv"
	"strings"
)

// inputName is what a person calls an input: its alias, its table, or its position.
func inputName(j *Join, pos int) string {
	if pos < 0 || pos >= len(j.Inputs) {
		return "the input"
	}
	in := &j.Inputs[pos]
	switch {
	case len(in.Tables) == 1:
		table := in.Tables[0]
		if in.Alias != "" && !strings.HasSuffix(table, "."+in.Alias) && in.Alias != table && !in.OverJoin {
			return table + " (" + in.Alias + ")"
		}
		return table
	case in.Alias != "":
		return in.Alias
	case len(in.Tables) > 1:
		return "input " + strconv.Itoa(pos) + " (" + strings.Join(in.Tables, ", ") + ")"
	}
	return "input " + strconv.Itoa(pos)
}

// human writes bytes in decimal units, as Hive's defaults are: "2.4 GB", "37.5 MB", "812 B".
func human(bytes int64) string {
	units := [...]string{"B", "KB", "MB", "GB", "TB", "PB", "EB"}
	value, unit := float64(bytes), 0
	for (value >= 999.95 || value <= -999.95) && unit < len(units)-1 {
		value /= 1000
		unit++
	}
	text := strconv.FormatFloat(value, 'f', 1, 64)
	return strings.TrimSuffix(text, ".0") + " " + units[unit]
}

// humanPair writes two byte counts so that they can be told apart: exact ones when their rounded forms are equal.
func humanPair(a, b int64) (string, string) {
	x, y := human(a), human(b)
	if x == y && a != b {
		return grouped(a) + " B", grouped(b) + " B"
	}
	return x, y
}

// grouped writes a number with thousands separated: 21,000,000.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	var b strings.Builder
	b.WriteString(sign)
	for i, r := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// count writes a number with its noun: "1 node", "400 reducers".
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}
