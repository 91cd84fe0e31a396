package client

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/beltran/gohive/hiveserver"
)

// columnTexts is a column's values as text, nil for NULL.
func columnTexts(c *hiveserver.TColumn) ([]*string, error) {
	switch {
	case c.IsSetStringVal():
		return texts(c.StringVal.Values, c.StringVal.Nulls, func(s string) string { return s }), nil
	case c.IsSetI64Val():
		return texts(c.I64Val.Values, c.I64Val.Nulls, integerText), nil
	case c.IsSetI32Val():
		return texts(c.I32Val.Values, c.I32Val.Nulls, integerText), nil
	case c.IsSetI16Val():
		return texts(c.I16Val.Values, c.I16Val.Nulls, integerText), nil
	case c.IsSetByteVal():
		return texts(c.ByteVal.Values, c.ByteVal.Nulls, integerText), nil
	case c.IsSetDoubleVal():
		return texts(c.DoubleVal.Values, c.DoubleVal.Nulls, doubleText), nil
	case c.IsSetBoolVal():
		return texts(c.BoolVal.Values, c.BoolVal.Nulls, strconv.FormatBool), nil
	case c.IsSetBinaryVal():
		return texts(c.BinaryVal.Values, c.BinaryVal.Nulls, func(b []byte) string { return string(b) }), nil
	}
	return nil, errors.New("a type of value that is not known")
}

// texts turns values into text where their bit in nulls is not set. Bit i is the i-th from the right of byte i/8; bytes
// at the end may be missing.
func texts[T any](values []T, nulls []byte, text func(T) string) []*string {
	out := make([]*string, len(values))
	for i, value := range values {
		if i/8 < len(nulls) && nulls[i/8]>>(i%8)&1 == 1 {
			continue
		}
		s := text(value)
		out[i] = &s
	}
	return out
}

// valueText is a value of protocol versions 1 to 5 as text; NULL is a value that is not set.
func valueText(v *hiveserver.TColumnValue) (*string, error) {
	switch {
	case v.IsSetStringVal():
		return v.StringVal.Value, nil
	case v.IsSetI64Val():
		return optional(v.I64Val.Value, integerText), nil
	case v.IsSetI32Val():
		return optional(v.I32Val.Value, integerText), nil
	case v.IsSetI16Val():
		return optional(v.I16Val.Value, integerText), nil
	case v.IsSetByteVal():
		return optional(v.ByteVal.Value, integerText), nil
	case v.IsSetDoubleVal():
		return optional(v.DoubleVal.Value, doubleText), nil
	case v.IsSetBoolVal():
		return optional(v.BoolVal.Value, strconv.FormatBool), nil
	}
	return nil, errors.New("a type of value that is not known")
}

func optional[T any](value *T, text func(T) string) *string {
	if value == nil {
		return nil
	}
	s := text(*value)
	return &s
}

func integerText[T int8 | int16 | int32 | int64](n T) string { return strconv.FormatInt(int64(n), 10) }

// doubleText is the number as Java's Double.toString and so Hive prints it: at least one digit behind the point, an
// exponent below 0.001 and from 10,000,000 on.
func doubleText(f float64) string {
	switch size := math.Abs(f); {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case f == 0 || size >= 1e-3 && size < 1e7:
		s := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	if !strings.Contains(digits, ".") {
		digits += ".0"
	}
	power, _ := strconv.Atoi(exponent) // FormatFloat wrote it
	return digits + "E" + strconv.Itoa(power)
}
