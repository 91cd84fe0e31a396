package client

import (
	"math"
	"testing"
)

// The expectations are java.lang.Double.toString's.
func TestDoubleText(t *testing.T) {
	tests := []struct {
		f    float64
		want string
	}{
		{0, "0.0"},
		{math.Copysign(0, -1), "-0.0"},
		{1, "1.0"},
		{-1.5, "-1.5"},
		{0.1, "0.1"},
		{0.001, "0.001"},
		{0.00099, "9.9E-4"},
		{9999999, "9999999.0"},
		{9999999.5, "9999999.5"},
		{1e7, "1.0E7"},
		{12345678, "1.2345678E7"},
		{-1.5e300, "-1.5E300"},
		{1e-5, "1.0E-5"},
		{math.MaxFloat64, "1.7976931348623157E308"},
		{math.NaN(), "NaN"},
		{math.Inf(1), "Infinity"},
		{math.Inf(-1), "-Infinity"},
	}
	for _, tt := range tests {
		if got := doubleText(tt.f); got != tt.want {
			t.Errorf("doubleText(%g) = %s, want %s", tt.f, got, tt.want)
		}
	}
}

func TestIntegerText(t *testing.T) {
	if got := integerText(int64(math.MinInt64)) + integerText(int8(-128)) + integerText(int16(7)) + integerText(int32(0)); got != "-9223372036854775808-12870" {
		t.Errorf("integers as text: %s", got)
	}
}
