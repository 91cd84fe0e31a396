package hiveql

// reserved are the keywords Hive 4 does not take as unquoted names (IdentifiersParser.g lists the others in nonReserved),
// as far as they matter here: they are followed by a space before a parenthesis, a sign after them belongs to a number,
// and a name equal to one keeps its backticks in the normalized text.
var reserved = keywordSet(
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
)

// callable are the reserved words that stand before a parenthesis as a function or type does.
var callable = keywordSet(
	"array", "cast", "char", "current_date", "current_timestamp", "date", "decimal", "extract", "floor", "grouping", "if",
	"interval", "left", "map", "numeric", "reduce", "right", "timestamp", "transform", "truncate", "varchar",
)

func keywordSet(words ...string) map[string]struct{} {
	set := make(map[string]struct{}, len(words))
	for _, w := range words {
		set[w] = struct{}{}
	}
	return set
}

// maxKeyword is longer than any keyword: what is longer need not be looked up.
const maxKeyword = 20

func isIn(set map[string]struct{}, word string) bool {
	if len(word) > maxKeyword {
		return false
	}
	var lower [maxKeyword]byte // no allocation for a key
	for i := range len(word) {
		c := word[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		lower[i] = c
	}
	_, ok := set[string(lower[:len(word)])]
	return ok
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
