package advisor

import (
	"strconv"
	"strings"
)

// Overflow is what an error text of Hive's tells of a hash table that did not fit into its task.
type Overflow struct {
	// Vertex is the vertex whose task failed ("Map 1"), Input the one the table was loaded from; empty where the text names none.
	Vertex, Input string
	// Entries are the rows loaded so far, Used the bytes they took, Limit the bytes allowed; 0 where the text tells none.
	Entries, Used, Limit int64
	// Certain: the text names the hash table. Otherwise a task ran out of memory, whatever for.
	Certain bool
	// Words is how Hive puts it, without what a statement's text could have brought in.
	Words string
}

// overflowForms are the texts of a hash table that did not fit. Those with certain need no hash table's class beside them.
var overflowForms = []struct {
	text, words string
	certain     bool
}{
	// HashTableLoader and VectorMapJoinFastHashTableLoader under LLAP's memory monitor.
	{"Hash table loading exceeded memory limits", "hash table loading exceeded memory limits", true},
	// VectorMapJoinFastHashTable.throwExpandError.
	{"Hash Table cannot grow any more", "the hash table cannot grow any more", true},
	// Any other text of that error: the limit of a local task, MapJoinMemoryExhaustionHandler's; of older releases, an exception.
	{"MapJoinMemoryExhaustionError", "map join memory exhausted", true},
	{"MapJoinMemoryExhaustionException", "map join memory exhausted", true},
	{"java.lang.OutOfMemoryError", "out of memory", false},
	// YARN's words when it ends a container.
	{"running beyond physical memory limits", "the container went beyond its memory and was ended", false},
}

// hashTableClasses, in a stack trace below an OutOfMemoryError, tell that a hash table was being filled.
var hashTableClasses = []string{
	"HashTableLoader", "VectorMapJoinFast", "BytesBytesMultiHashMap", "MapJoinBytesTableContainer", "HybridHashTableContainer", "HashMapWrapper",
}

// ParseOverflow reads the error message of a statement; false when it tells of no lack of memory.
func ParseOverflow(message string) (Overflow, bool) {
	var o Overflow
	for _, form := range overflowForms {
		if strings.Contains(message, form.text) {
			o.Words, o.Certain = form.words, form.certain
			break
		}
	}
	if o.Words == "" {
		return Overflow{}, false
	}
	for _, class := range hashTableClasses {
		if strings.Contains(message, class) {
			o.Certain = true
		}
	}
	o.Vertex = between(message, "vertexName=", ",")
	o.Input = between(message, "memory limits for input: ", " numEntries:")
	o.Entries = figureAfter(message, "numEntries: ")
	o.Used = figureAfter(message, "estimatedMemoryUsage: ")
	o.Limit = figureAfter(message, "effectiveThreshold: ")
	if o.Entries == 0 { // a local task's progress line
		o.Entries, o.Used = figureAfter(message, "Processing rows:"), figureAfter(message, "Memory usage:")
	}
	return o, true
}

// between is the text from a mark to the next end; empty without either, or when it is too long for a vertex's name.
func between(text, mark, end string) string {
	_, rest, ok := strings.Cut(text, mark)
	if !ok {
		return ""
	}
	name, _, ok := strings.Cut(rest, end)
	if !ok || len(name) > 64 {
		return ""
	}
	return strings.TrimSpace(name)
}

// figureAfter reads the number behind a mark, 0 when there is none.
func figureAfter(text, mark string) int64 {
	_, rest, ok := strings.Cut(text, mark)
	if !ok {
		return 0
	}
	rest = strings.TrimLeft(rest, " \t")
	end := 0
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(rest[:end], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
