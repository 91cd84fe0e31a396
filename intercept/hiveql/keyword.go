package hiveql

// keyword is a known word; noKeyword is any other.
type keyword uint16

const noKeyword keyword = 0

// trait is what the readers ask about a keyword.
type trait uint8

const (
	// isReserved: Hive 4 does not take it as an unquoted name (IdentifiersParser.g lists the others in nonReserved), as far as
	// that matters here: it is followed by a space before a parenthesis, a sign after it belongs to a number, and a name equal to
	// it keeps its backticks in the normalized text.
	isReserved trait = 1 << iota
	// isCallable: it is reserved, but stands before a parenthesis as a function or type does.
	isCallable
	// isQuery: a query, not a table's name, begins with it.
	isQuery
	// isClause: it begins a clause behind FROM, or another query.
	isClause
	// isFromCall: a function whose arguments are separated by FROM.
	isFromCall
)

// keywords are the words of each trait; the last list has none and is known for its place at the beginning of a statement.
var keywords = []struct {
	trait trait
	words []string
}{
	{isReserved, []string{
		"all", "alter", "and", "any", "array", "as", "authorization", "between", "bigint", "binary", "boolean", "both", "by",
		"case", "cast", "char", "column", "conf", "constraint", "create", "cross", "cube", "current", "current_date",
		"current_timestamp", "cursor", "database", "date", "decimal", "delete", "describe", "distinct", "div", "double", "drop",
		"else", "end", "except", "exchange", "exists", "extended", "external", "extract", "false", "fetch", "float", "floor",
		"following", "for", "foreign", "from", "full", "function", "grant", "group", "grouping", "having", "if", "import", "in",
		"inner", "insert", "int", "integer", "intersect", "interval", "into", "is", "join", "lateral", "leading", "left", "less",
		"like", "limit", "local", "macro", "map", "merge", "minus", "more", "none", "not", "null", "numeric", "of", "offset",
		"on", "only", "or", "order", "out", "outer", "over", "partialscan", "partition", "percent", "preceding", "precision",
		"preserve", "primary", "procedure", "qualify", "range", "reads", "real", "reduce", "references", "regexp", "revoke",
		"right", "rlike", "rollup", "row", "rows", "select", "set", "smallint", "some", "start", "table", "tablesample", "then",
		"time", "timestamp", "timestamplocaltz", "to", "trailing", "transform", "trigger", "true", "truncate", "unbounded",
		"union", "unique", "uniquejoin", "unknown", "update", "user", "using", "values", "varchar", "when", "where", "window",
		"with",
	}},
	{isCallable, []string{
		"array", "cast", "char", "current_date", "current_timestamp", "date", "decimal", "extract", "floor", "grouping", "if",
		"interval", "left", "map", "numeric", "reduce", "right", "timestamp", "transform", "truncate", "varchar",
	}},
	{isQuery, []string{"select", "with", "from", "values", "map", "reduce"}},
	{isClause, []string{
		"select", "values", "where", "group", "order", "sort", "cluster", "distribute", "having", "window", "qualify", "limit",
		"union", "intersect", "except", "minus",
	}},
	{isFromCall, []string{"extract", "trim"}},
	{0, []string{
		"insert", "merge", "update", "delete", "create", "alter", "load", "truncate", "msck", "import", "drop", "explain", "analyze",
		"show", "desc", "describe", "set", "use", "join",
	}},
}

// keywordTable finds keywords by their letters, in either case.
type keywordTable struct {
	texts  []string // by keyword, in lower case
	traits []trait
	slots  [1024]keyword // open addressing
}

var known = newKeywordTable()

func newKeywordTable() *keywordTable {
	t := &keywordTable{texts: []string{""}, traits: []trait{0}}
	for _, list := range keywords {
		for _, word := range list.words {
			k := t.find(word)
			if k == noKeyword {
				k = keyword(len(t.texts)) //nolint:gosec // some hundreds
				t.texts, t.traits = append(t.texts, word), append(t.traits, 0)
				slot := t.slot(word)
				for t.slots[slot] != noKeyword {
					slot = (slot + 1) % uint32(len(t.slots))
				}
				t.slots[slot] = k
			}
			t.traits[k] |= list.trait
		}
	}
	return t
}

// slot is where the look for a word of two letters or more begins.
func (t *keywordTable) slot(word string) uint32 {
	n := len(word)
	h := uint32(word[0]|0x20)<<16 ^ uint32(word[n/2]|0x20)<<8 ^ uint32(word[n-1]|0x20) ^ uint32(n)<<24 //nolint:gosec // at most maxKeyword
	return h * 0x9e3779b1 >> 22 % uint32(len(t.slots))
}

func (t *keywordTable) find(word string) keyword {
	if len(word) < 2 || len(word) > maxKeyword {
		return noKeyword
	}
	for slot := t.slot(word); ; slot = (slot + 1) % uint32(len(t.slots)) {
		k := t.slots[slot]
		if k == noKeyword || equalASCII(t.texts[k], word) {
			return k
		}
	}
}

// keywordOf is the keyword that word is, in either case.
func keywordOf(word string) keyword { return known.find(word) }

// text is the keyword in lower case, empty for noKeyword.
func (k keyword) text() string { return known.texts[k] }

// has reports whether the keyword has the trait.
func (k keyword) has(t trait) bool { return known.traits[k]&t != 0 }

// maxKeyword is longer than any keyword: what is longer need not be looked up.
const maxKeyword = 20

// equalASCII reports whether word, with A–Z lowered, is lower.
func equalASCII(lower, word string) bool {
	if len(lower) != len(word) {
		return false
	}
	for i := range len(word) {
		if lowered(word[i]) != lower[i] {
			return false
		}
	}
	return true
}

func lowered(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c |= 0x20
	}
	return c
}

// lowerASCII lowers A–Z alone, as Hive's lexer does with keywords.
func lowerASCII(s string) string {
	for i := range len(s) {
		if s[i] >= 'A' && s[i] <= 'Z' {
			b := []byte(s)
			for j := i; j < len(b); j++ {
				if b[j] >= 'A' && b[j] <= 'Z' {
					b[j] |= 0x20
				}
			}
			return string(b)
		}
	}
	return s
}
