package client

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"
)

// flat is rows as strings, NULL for nil.
func flat(rows [][]*string) [][]string {
	out := [][]string{}
	for _, row := range rows {
		texts := []string{}
		for _, value := range row {
			if value == nil {
				texts = append(texts, "NULL")
			} else {
				texts = append(texts, *value)
			}
		}
		out = append(out, texts)
	}
	return out
}

func equalRows(a [][]*string, b [][]string) bool {
	return slices.EqualFunc(flat(a), b, slices.Equal)
}

func allTypes() []*hiveserver.TColumn {
	second := []byte{2} // the second of two values is NULL
	return []*hiveserver.TColumn{
		{StringVal: &hiveserver.TStringColumn{Values: []string{"a", ""}, Nulls: second}},
		{BoolVal: &hiveserver.TBoolColumn{Values: []bool{true, false}, Nulls: second}},
		{ByteVal: &hiveserver.TByteColumn{Values: []int8{-1, 0}, Nulls: second}},
		{I16Val: &hiveserver.TI16Column{Values: []int16{2, 0}, Nulls: second}},
		{I32Val: &hiveserver.TI32Column{Values: []int32{3, 0}, Nulls: second}},
		{I64Val: &hiveserver.TI64Column{Values: []int64{4, 0}, Nulls: second}},
		{DoubleVal: &hiveserver.TDoubleColumn{Values: []float64{1.5, 0}, Nulls: second}},
		{BinaryVal: &hiveserver.TBinaryColumn{Values: [][]byte{{0, 0xff}, {}}, Nulls: []byte{}}},
	}
}

var allTexts = [][]string{{"a", "true", "-1", "2", "3", "4", "1.5", "\x00\xff"}, {"NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", ""}}

func TestDecodeRows(t *testing.T) {
	ctx := context.Background()
	rows, err := decodeRows(ctx, &hiveserver.TRowSet{Columns: allTypes()})
	if err != nil || !equalRows(rows, allTexts) {
		t.Errorf("columns: %q, %v", flat(rows), err)
	}

	// The same, serialized by the tasks.
	buffer := &athrift.TMemoryBuffer{Buffer: new(bytes.Buffer)}
	protocol := athrift.NewTCompactProtocolConf(buffer, nil)
	for _, column := range allTypes() {
		if err := column.Write(ctx, protocol); err != nil {
			t.Fatal(err)
		}
	}
	if err := protocol.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	count := int32(len(allTypes()))
	rows, err = decodeRows(ctx, &hiveserver.TRowSet{BinaryColumns: buffer.Bytes(), ColumnCount: &count})
	if err != nil || !equalRows(rows, allTexts) {
		t.Errorf("serialized columns: %q, %v", flat(rows), err)
	}

	// Rows of protocol version 5 and below.
	text, yes, double := "a", true, 2.5
	i8, i16, i32, i64 := int8(1), int16(2), int32(3), int64(4)
	rows, err = decodeRows(ctx, &hiveserver.TRowSet{Rows: []*hiveserver.TRow{
		{ColVals: []*hiveserver.TColumnValue{
			{StringVal: &hiveserver.TStringValue{Value: &text}},
			{BoolVal: &hiveserver.TBoolValue{Value: &yes}},
			{ByteVal: &hiveserver.TByteValue{Value: &i8}},
			{I16Val: &hiveserver.TI16Value{Value: &i16}},
			{I32Val: &hiveserver.TI32Value{Value: &i32}},
			{I64Val: &hiveserver.TI64Value{Value: &i64}},
			{DoubleVal: &hiveserver.TDoubleValue{Value: &double}},
		}},
		{ColVals: []*hiveserver.TColumnValue{{StringVal: &hiveserver.TStringValue{}}, {BoolVal: &hiveserver.TBoolValue{}}}},
	}})
	if err != nil || !equalRows(rows, [][]string{{"a", "true", "1", "2", "3", "4", "2.5"}, {"NULL", "NULL"}}) {
		t.Errorf("rows: %q, %v", flat(rows), err)
	}

	for name, set := range map[string]*hiveserver.TRowSet{"nothing": nil, "no columns": {}} {
		if rows, err := decodeRows(ctx, set); err != nil || len(rows) != 0 {
			t.Errorf("%s: %q, %v", name, flat(rows), err)
		}
	}
}

func TestDecodeRowsRefuses(t *testing.T) {
	count := int32(3)
	tests := map[string]struct {
		set  *hiveserver.TRowSet
		want string
	}{
		"columns of two lengths": {stringColumns([]string{"a"}, []string{"b", "c"}), "column 2 has 2 values"},
		"a column of no type":    {&hiveserver.TRowSet{Columns: []*hiveserver.TColumn{{}}}, "column 1: a type"},
		"a value of no type":     {&hiveserver.TRowSet{Rows: []*hiveserver.TRow{{ColVals: []*hiveserver.TColumnValue{{}}}}}, "column 1: a type"},
		"serialized, no number":  {&hiveserver.TRowSet{BinaryColumns: []byte{1}}, "without their number"},
		"serialized, cut off":    {&hiveserver.TRowSet{BinaryColumns: []byte{0x1c, 0x19, 0xff}, ColumnCount: &count}, "serialized column 1"},
	}
	for name, tt := range tests {
		if rows, err := decodeRows(context.Background(), tt.set); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %q, error %v; want %q", name, flat(rows), err, tt.want)
		}
	}
}

func TestLimits(t *testing.T) {
	l := limits{rows: MaxRows - 1}
	if err := l.add(make([][]*string, 1)); err != nil {
		t.Errorf("at the bound: %v", err)
	}
	if err := l.add(make([][]*string, 1)); err == nil {
		t.Error("beyond the bound: want an error")
	}
	text := "x"
	l = limits{bytes: MaxResultBytes - 1}
	if err := l.add([][]*string{{&text, nil}}); err != nil {
		t.Errorf("at the bound of bytes: %v", err)
	}
	if err := l.add([][]*string{{&text}}); err == nil {
		t.Error("beyond the bound of bytes: want an error")
	}
}
