package statscheck

import (
	"fmt"
	"strconv"
	"strings"
)

// escapedInNames are the characters that SHOW PARTITIONS escapes as %XX
// (org.apache.hadoop.hive.common.FileUtils.escapePathName), beside control characters.
const escapedInNames = "\"#%'*/:=?\\\x7f{[]^"

// partitionName joins the values of "[2024-01-01, 3]" to "ds=2024-01-01/h=3", as SHOW PARTITIONS prints it. It is empty
// when values and columns do not pair up, which a value with ", " in it can bring about.
func partitionName(columns []string, values string) string {
	vs := list(values)
	if len(columns) == 0 || len(vs) != len(columns) {
		return ""
	}
	parts := make([]string, len(vs))
	for i, v := range vs {
		parts[i] = columns[i] + "=" + escapeName(v)
	}
	return strings.Join(parts, "/")
}

func escapeName(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c < 0x20 || strings.IndexByte(escapedInNames, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func unescapeName(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
