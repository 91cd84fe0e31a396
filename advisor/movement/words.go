package movement

import (
	"strconv"
	"strings"
)

// ratio writes a factor with as many digits as a person reads.
func ratio(f float64) string {
	digits := 1
	if f >= 100 {
		digits = 0
	}
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', digits, 64), ".0")
}

func percent(f float64) string { return strconv.FormatFloat(f*100, 'f', 0, 64) + " %" }
