package statscheck

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// sysColumnWidth is the number of columns of a statement with sysColumnFields.
const sysColumnWidth = 16

// sysRow is one row of an answer; its first field is an id, but for that of SEQUENCE_TABLE.
type sysRow struct{ cells []*string }

func (r sysRow) text(i int) string {
	if r.cells[i] == nil {
		return ""
	}
	return *r.cells[i]
}

// number is nil for NULL.
func (r sysRow) number(i int) (*int64, error) {
	if r.cells[i] == nil {
		return nil, nil //nolint:nilnil // absent is an answer
	}
	n, err := strconv.ParseInt(*r.cells[i], 10, 64)
	return &n, err
}

var errNoID = errors.New("the id is NULL")

func (r sysRow) id() (int64, error) {
	n, err := r.number(0)
	if err == nil && n == nil {
		err = errNoID
	}
	if err != nil {
		return 0, err
	}
	return *n, nil
}

// object is that of the row's id; nil where it is none of those asked for, as between the first and the last partition.
func (r sysRow) object(of map[int64]*sysObject) (*sysObject, error) {
	id, err := r.id()
	return of[id], err
}

// parameterOf takes rows of TABLE_PARAMS or PARTITION_PARAMS.
func parameterOf(of map[int64]*sysObject) func(sysRow) error {
	return func(row sysRow) error {
		o, err := row.object(of)
		if err != nil || o == nil {
			return err
		}
		key, value := row.text(1), row.text(2)
		if key == "transient_lastDdlTime" {
			o.result.DDLAt, err = unixTime(value)
			return err
		}
		o.other = append(o.other, "parameter "+key+"="+value)
		return o.facts.parameter(key, value)
	}
}

func unixTime(s string) (time.Time, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("seconds since 1970: %w", err)
	}
	return time.Unix(n, 0), nil
}

// columnRows takes rows of TAB_COL_STATS or PART_COL_STATS.
func columnRows(of map[int64]*sysObject) func(sysRow) error {
	return func(row sysRow) error {
		o, err := row.object(of)
		if err != nil || o == nil {
			return err
		}
		name := strings.ToLower(row.text(1))
		c, err := columnFacts(row)
		if err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
		if o.facts.stats.Columns == nil {
			o.facts.stats.Columns = map[string]advisor.ColumnStats{}
		}
		o.facts.stats.Columns[name] = c
		o.facts.stats.ColumnsRead = append(o.facts.stats.ColumnsRead, name)
		if at, err := row.number(15); err == nil && at != nil {
			if t := time.Unix(*at, 0); t.After(o.result.AnalyzedAt) {
				o.result.AnalyzedAt = t
			}
		}
		var all []string
		for i := range row.cells {
			all = append(all, row.text(i))
		}
		o.other = append(o.other, "column "+strings.Join(all, "\x00"))
		return nil
	}
}

// columnFacts are a column's numbers as DESCRIBE FORMATTED prints them; Low and High are empty for a timestamp, whose form there is
// another.
func columnFacts(row sysRow) (c advisor.ColumnStats, err error) {
	number := func(i int) *int64 {
		n, e := row.number(i)
		err = errors.Join(err, e)
		return n
	}
	c.Nulls, c.NDV, c.MaxLen = number(9), number(10), number(12)
	c.Trues, c.Falses = number(13), number(14)
	if row.cells[11] != nil {
		f, e := strconv.ParseFloat(*row.cells[11], 64)
		err = errors.Join(err, e)
		c.AvgLen = &f
	}
	low, high := number(3), number(4)
	if err != nil {
		return advisor.ColumnStats{}, err
	}
	switch kind := strings.ToLower(row.text(2)); {
	case kind == "date":
		c.Low, c.High = day(low), day(high)
	case strings.HasPrefix(kind, "timestamp"):
	case low != nil || high != nil:
		c.Low, c.High = decimal(low), decimal(high)
	case row.cells[5] != nil || row.cells[6] != nil:
		c.Low, c.High = row.text(5), row.text(6)
	default:
		c.Low, c.High = row.text(7), row.text(8)
	}
	return c, nil
}

// day is a number of days since 1970 as a date.
func day(n *int64) string {
	if n == nil {
		return ""
	}
	return time.Unix(0, 0).UTC().AddDate(0, 0, int(*n)).Format(time.DateOnly)
}

// finish puts together what came of a table or partition.
func (o *sysObject) finish() SysTable {
	out := o.result
	out.Stats = o.facts.result()
	slices.Sort(out.Stats.ColumnsRead)
	other := slices.Clone(o.other)
	if len(out.Stats.PartitionColumns) > 0 && out.Stats.Partition == "" {
		out.Partitions = make(map[string]SysTable, len(o.parts))
		for _, p := range o.parts {
			done := p.finish()
			out.Partitions[done.Stats.Partition] = done
			other = append(other, "partition "+done.Digest+" "+done.DDLAt.String())
			if done.AnalyzedAt.After(out.AnalyzedAt) {
				out.AnalyzedAt = done.AnalyzedAt
			}
		}
		sumPartitions(&out.Stats, out.Partitions)
	}
	slices.Sort(other)
	hash := sha256.Sum256([]byte(strings.Join(other, "\x01")))
	out.Digest = hex.EncodeToString(hash[:])
	return out
}

// sumPartitions gives a table the numbers that DESCRIBE FORMATTED prints for it (DescTableOperation): an absent one counts as 0.
func sumPartitions(table *advisor.TableStats, partitions map[string]SysTable) {
	var rows, raw, size, files int64
	n := int64(len(partitions))
	table.BasicAccurate = n > 0
	for _, p := range partitions {
		rows += orZero(p.Stats.Rows)
		raw += orZero(p.Stats.RawDataSize)
		size += orZero(p.Stats.TotalSize)
		files += orZero(p.Stats.Files)
		table.BasicAccurate = table.BasicAccurate && p.Stats.BasicAccurate
	}
	table.Rows, table.RawDataSize, table.TotalSize, table.Files, table.PartitionsNum = &rows, &raw, &size, &files, &n
}

func orZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
