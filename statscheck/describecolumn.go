package statscheck

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// ParseDescribeColumn reads DESCRIBE FORMATTED table column: one row per property in Hive 4, one row of values below a heading
// in Hive 2 and 3. It reports false when Hive has no statistics for the column: it then prints them empty. Errors are ErrDescribe.
func ParseDescribeColumn(rows [][]*string) (advisor.ColumnStats, bool, error) {
	c, _, there, err := parseColumn(rows)
	return c, there, err
}

// parseColumn also reports whether this output itself flags the column's statistics as accurate: for partitioned tables it is
// the only place, since DESCRIBE of the table never lists their columns. A partition's own column output has no flags.
func parseColumn(rows [][]*string) (c advisor.ColumnStats, accurate, there bool, err error) {
	props := properties(rows)
	name, ok := props["col_name"]
	if !ok {
		return c, false, false, fmt.Errorf("%w of a column: %d rows without col_name", ErrDescribe, len(rows))
	}
	number := func(key string) *int64 {
		v := props[key]
		if v == "" || err != nil {
			return nil
		}
		n, e := known(v)
		if e != nil {
			err = fmt.Errorf("%w of column %s: %s: %w", ErrDescribe, name, key, e)
		}
		return n
	}
	c.NDV, c.Nulls, c.MaxLen = number("distinct_count"), number("num_nulls"), number("max_col_len")
	c.Trues, c.Falses = number("num_trues"), number("num_falses")
	c.Low, c.High = props["min"], props["max"]
	if v := props["avg_col_len"]; v != "" && err == nil {
		f, e := strconv.ParseFloat(v, 64)
		if e != nil {
			err = fmt.Errorf("%w of column %s: avg_col_len: %w", ErrDescribe, name, e)
		}
		c.AvgLen = &f
	}
	_, columns, flagErr := parseAccurate(props[strings.ToLower(paramAccurate)])
	if err == nil && flagErr != nil {
		err = fmt.Errorf("%w of column %s: %s: %w", ErrDescribe, name, paramAccurate, flagErr)
	}
	if err != nil {
		return advisor.ColumnStats{}, false, false, err
	}
	for _, flagged := range columns {
		accurate = accurate || strings.EqualFold(flagged, name)
	}
	// Hive fills num_nulls for every type that has statistics.
	there = c.Nulls != nil || c.NDV != nil || c.AvgLen != nil || c.MaxLen != nil || c.Trues != nil || c.Falses != nil
	return c, accurate, there, nil
}

// properties are the output's values by lower-case name, from either layout.
func properties(rows [][]*string) map[string]string {
	props := make(map[string]string)
	for i, row := range rows {
		key := strings.ToLower(cell(row, 0))
		if strings.TrimPrefix(key, "# ") == "col_name" && len(row) > 2 && cell(row, 2) != "" {
			values := firstRow(rows[i+1:])
			for j := range row {
				props[strings.TrimPrefix(strings.ToLower(cell(row, j)), "# ")] = cell(values, j)
			}
			continue
		}
		if key != "" && len(row) > 1 && (len(row) == 2 || cell(row, 2) == "") {
			props[strings.TrimPrefix(key, "# ")] = cell(row, 1)
		}
	}
	return props
}

func firstRow(rows [][]*string) []*string {
	for _, row := range rows {
		if cell(row, 0) != "" {
			return row
		}
	}
	return nil
}

func cell(row []*string, i int) string {
	if i >= len(row) || row[i] == nil {
		return ""
	}
	return strings.TrimSpace(*row[i])
}
