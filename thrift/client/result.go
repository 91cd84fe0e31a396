package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"
)

// Result is the outcome of a statement that succeeded.
type Result struct {
	// Columns are the names as Hive gives them, "table.column" for SELECT * included; nil without a result set.
	Columns []string
	// Rows are the values as text, in the form Hive prints them; nil is NULL. Every row has one value per column.
	Rows [][]*string
	// ModifiedRows is numModifiedRows of GetOperationStatus; nil where HiveServer2 does not send it.
	ModifiedRows *int64
	// Log is the operation's log by lines, where it was asked for.
	Log []string
}

// limits counts what a result holds.
type limits struct{ rows, bytes int }

// add counts rows and fails beyond the bounds.
func (l *limits) add(rows [][]*string) error {
	l.rows += len(rows)
	if l.rows > MaxRows {
		return fmt.Errorf("the result has more than %d rows", MaxRows)
	}
	for _, row := range rows {
		for _, value := range row {
			if value != nil {
				l.bytes += len(*value)
			}
		}
	}
	if l.bytes > MaxResultBytes {
		return fmt.Errorf("the result has more than %d bytes", MaxResultBytes)
	}
	return nil
}

// decodeRows turns a batch into rows of text. The session's protocol, which its opener chose, decides the form:
// rows up to version 5, columns from 6 on, serialized columns where the tasks wrote them.
func decodeRows(ctx context.Context, set *hiveserver.TRowSet) ([][]*string, error) {
	if set == nil {
		return nil, nil
	}
	columns := set.GetColumns()
	if len(columns) == 0 && len(set.GetBinaryColumns()) > 0 {
		var err error
		if columns, err = decodeBinaryColumns(ctx, set); err != nil {
			return nil, err
		}
	}
	if len(columns) == 0 {
		return decodeOldRows(set.GetRows())
	}
	var rows [][]*string
	for i, column := range columns {
		values, err := columnTexts(column)
		if err != nil {
			return nil, fmt.Errorf("column %d: %w", i+1, err)
		}
		if i == 0 {
			rows = makeRows(len(values), len(columns))
		}
		if len(values) != len(rows) {
			return nil, fmt.Errorf("column %d has %d values, the first has %d", i+1, len(values), len(rows))
		}
		for j, value := range values {
			rows[j][i] = value
		}
	}
	return rows, nil
}

// makeRows makes n rows of width values in one piece.
func makeRows(n, width int) [][]*string {
	rows := make([][]*string, n)
	all := make([]*string, n*width)
	for i := range rows {
		rows[i], all = all[:width:width], all[width:]
	}
	return rows
}

// decodeOldRows reads the rows of protocol versions 1 to 5.
func decodeOldRows(old []*hiveserver.TRow) ([][]*string, error) {
	rows := make([][]*string, 0, len(old))
	for _, r := range old {
		row := make([]*string, 0, len(r.GetColVals()))
		for i, value := range r.GetColVals() {
			text, err := valueText(value)
			if err != nil {
				return nil, fmt.Errorf("column %d: %w", i+1, err)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// decodeBinaryColumns reads columns as ThriftJDBCBinarySerDe writes them: compact protocol, one behind the other.
func decodeBinaryColumns(ctx context.Context, set *hiveserver.TRowSet) ([]*hiveserver.TColumn, error) {
	count := int(set.GetColumnCount())
	if count < 1 || count > len(set.GetBinaryColumns()) {
		return nil, errors.New("serialized columns without their number")
	}
	buffer := &athrift.TMemoryBuffer{Buffer: bytes.NewBuffer(set.GetBinaryColumns())}
	protocol := athrift.NewTCompactProtocolConf(buffer, nil)
	columns := make([]*hiveserver.TColumn, count)
	for i := range columns {
		columns[i] = hiveserver.NewTColumn()
		if err := columns[i].Read(ctx, protocol); err != nil {
			return nil, fmt.Errorf("serialized column %d: %w", i+1, err)
		}
	}
	return columns, nil
}
