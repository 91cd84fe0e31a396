package explain

import (
	"strconv"
	"strings"
)

// parseStatistics reads "Num rows: 8201 Data size: 1979337 Basic stats: COMPLETE Column stats: COMPLETE"; EXPLAIN ANALYZE
// prints "500/37" rows (estimated/counted), and re-optimized plans start with "(RUNTIME)".
func parseStatistics(s string) *Statistics {
	st := &Statistics{Rows: -1, DataSize: -1, Width: -1, ActualRows: -1}
	st.Rows, st.ActualRows = parseRows(labelled(s, "Num rows: "))
	st.DataSize = parseCount(labelled(s, "Data size: "))
	st.Basic = labelled(s, "Basic stats: ")
	st.Column = labelled(s, "Column stats: ")
	return st
}

// labelled returns the word after a label, empty when the label is not there.
func labelled(s, label string) string {
	i := strings.Index(s, label)
	if i < 0 {
		return ""
	}
	word, _, _ := strings.Cut(s[i+len(label):], " ")
	return word
}

// parseRows reads an estimate with, in EXPLAIN ANALYZE, the rows counted.
func parseRows(s string) (estimated, actual int64) {
	left, right, ok := strings.Cut(s, "/")
	actual = -1
	if ok {
		actual = parseCount(right)
	}
	return parseCount(left), actual
}

// parseCount reads a count; −1 for what is none. Hive's estimates can overflow: negative counts are kept as printed.
func parseCount(s string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil {
		return -1
	}
	return n
}
