package dynamicfilter

import (
	"strconv"
	"strings"
)

// Cause names a rule of Hive's that keeps a filter out.
type Cause string

// Causes, in the order Hive comes to them.
const (
	PruningOff     Cause = "PRUNING_OFF"
	NullSafeKey    Cause = "NULL_SAFE_KEY"
	SemijoinOff    Cause = "SEMIJOIN_OFF"
	ExternalTable  Cause = "EXTERNAL_TABLE"
	PartitionKey   Cause = "PRODUCER_PARTITION_KEY"
	EventsTooLarge Cause = "EVENTS_TOO_LARGE"
	BelowUnion     Cause = "BELOW_UNION"
	BesideMapJoin  Cause = "BESIDE_MAP_JOIN"
	SortMergeJoin  Cause = "SORT_MERGE_JOIN"
	TooManyKeys    Cause = "TOO_MANY_KEYS"
	ScanTooSmall   Cause = "SCAN_TOO_SMALL"
	BenefitTooLow  Cause = "BENEFIT_TOO_LOW"
	OnePerScan     Cause = "ONE_PER_SCAN"
	Cycle          Cause = "CYCLE"
)

// Reason is one rule in the way of a filter.
type Reason struct {
	Cause Cause `json:"cause"`
	// Setting decides it, where a setting does; Have and Limit are the two numbers compared, where numbers are.
	Setting string  `json:"setting,omitempty"`
	Have    float64 `json:"have,omitempty"`
	Limit   float64 `json:"limit,omitempty"`
	// Text says it in words; Fix is the SET statement that takes it away, empty where none does or should.
	Text string `json:"text"`
	Fix  string `json:"fix,omitempty"`
}

func set(name, value string) string { return "SET " + name + "=" + value + ";" }

func number(n int64) string { return strconv.FormatInt(n, 10) }

// above and below are round numbers a little above and below.
func above(n int64) int64 { return round(n+n/10, true) }

func below(n int64) int64 { return round(n-n/10, false) }

func round(n int64, up bool) int64 {
	unit := int64(1)
	for n/unit >= 100 {
		unit *= 10
	}
	if up {
		n += unit - 1
	}
	return n / unit * unit
}

func percent(f float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(f*100, 'f', 1, 64), ".0") + " %"
}
