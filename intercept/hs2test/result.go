package hs2test

import (
	"fmt"
	"strings"

	"github.com/beltran/gohive/hiveserver"
)

// schema is that of the result: strings for cells, else id bigint, label string.
func (op *operation) schema() *hiveserver.TTableSchema {
	column := func(name string, position int32, t hiveserver.TTypeId) *hiveserver.TColumnDesc {
		return &hiveserver.TColumnDesc{
			ColumnName: name, Position: position,
			TypeDesc: &hiveserver.TTypeDesc{Types: []*hiveserver.TTypeEntry{{PrimitiveEntry: &hiveserver.TPrimitiveTypeEntry{Type: t}}}},
		}
	}
	if cells := op.outcome.Cells; len(cells) > 0 {
		out := &hiveserver.TTableSchema{}
		for i := range cells[0] {
			out.Columns = append(out.Columns, column(fmt.Sprintf("c%d", i), int32(i)+1, hiveserver.TTypeId_STRING_TYPE))
		}
		return out
	}
	return &hiveserver.TTableSchema{Columns: []*hiveserver.TColumnDesc{
		column("id", 1, hiveserver.TTypeId_BIGINT_TYPE), column("label", 2, hiveserver.TTypeId_STRING_TYPE),
	}}
}

// batch is the next rows of the result, at most limit and at most the outcome's own batch; empty at the end.
func (op *operation) batch(limit int) *hiveserver.TRowSet {
	if op.outcome.Cells != nil {
		return op.cells()
	}
	n := op.outcome.Rows - op.fetched
	if op.outcome.Batch > 0 {
		n = min(n, op.outcome.Batch)
	}
	if limit > 0 {
		n = min(n, limit)
	}
	ids, labels := make([]int64, n), make([]string, n)
	label := strings.Repeat("x", op.outcome.Width)
	for i := range n {
		ids[i], labels[i] = int64(op.fetched+i), label
	}
	set := &hiveserver.TRowSet{StartRowOffset: int64(op.fetched), Rows: []*hiveserver.TRow{}, Columns: []*hiveserver.TColumn{
		{I64Val: &hiveserver.TI64Column{Values: ids, Nulls: []byte{}}},
		{StringVal: &hiveserver.TStringColumn{Values: labels, Nulls: []byte{}}},
	}}
	op.fetched += n
	return set
}

// cells are all of them the first time, then none.
func (op *operation) cells() *hiveserver.TRowSet {
	set := &hiveserver.TRowSet{StartRowOffset: int64(op.fetched), Rows: []*hiveserver.TRow{}}
	left := op.outcome.Cells[op.fetched:]
	if len(op.outcome.Cells) > 0 {
		for i := range op.outcome.Cells[0] {
			values := make([]string, len(left))
			for j, row := range left {
				values[j] = row[i]
			}
			set.Columns = append(set.Columns, &hiveserver.TColumn{StringVal: &hiveserver.TStringColumn{Values: values, Nulls: []byte{}}})
		}
	}
	op.fetched += len(left)
	return set
}

// logLines are the lines that were not told yet, or all; the cursor is the operation's, whoever reads.
func (op *operation) logLines(first bool) *hiveserver.TRowSet {
	op.mu.Lock()
	defer op.mu.Unlock()
	if first {
		op.mu.told = 0
	}
	from := op.mu.told
	op.mu.told = len(op.outcome.Log)
	return &hiveserver.TRowSet{StartRowOffset: int64(from), Rows: []*hiveserver.TRow{}, Columns: []*hiveserver.TColumn{
		{StringVal: &hiveserver.TStringColumn{Values: op.outcome.Log[from:], Nulls: []byte{}}},
	}}
}
