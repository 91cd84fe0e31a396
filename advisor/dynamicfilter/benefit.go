package dynamicfilter

import (
	"math"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// benefit is Hive's own estimate of the share of the consumer's rows that a semijoin saves, less one row of cost for each producer row
// (TezCompiler.computeBloomFilterNetBenefit). Exact: every number it rests on was known.
func (d *deciding) benefit() (net float64, exact bool) {
	f := d.filter
	if f.Rows <= 0 || f.producer.Rows < 0 {
		return 0, false
	}
	selectivity, exact := 1.0, true
	for i := range f.Keys {
		s, known := d.selectivity(i)
		selectivity, exact = math.Min(selectivity, s), exact && known
	}
	selectivity = math.Max(selectivity-selectivity*float64(len(f.Keys)-1)*0.05, 0)
	rows := float64(f.Rows)
	saved := rows * (1 - selectivity)
	if !(saved > 0) || f.producer.Rows == 0 { // not a number where neither side has distinct keys
		return 0, exact
	}
	return math.Max(saved-float64(f.producer.Rows), 0) / rows, exact
}

// selectivity is the producer's distinct keys over those of both sides together (getBloomFilterSelectivity). Hive takes the sides for
// unrelated, and adds their keys up, unless the producer's column is a primary key whose range covers the consumer's.
func (d *deciding) selectivity(i int) (share float64, exact bool) {
	f := d.filter
	key := &f.producer.Keys[f.Keys[i]]
	keys := float64(f.producer.Rows)
	domain := float64(f.producer.Rows) + float64(f.Rows)
	produced, consumed := known(key.NDV), counted(key.Type, f.consumerNDV(d.query, i))
	if produced < 0 {
		return keys / domain, false
	}
	keys = float64(produced)
	from, ok := d.query.Tables[key.Table].Columns[strings.ToLower(key.Column)]
	source := counted(key.Type, known(from.NDV))
	to := d.query.Tables[f.Table].Columns[strings.ToLower(f.Columns[i])]
	if consumed < 0 || !ok || source < 0 {
		return keys / domain, false
	}
	fromRange, toRange := rangeOf(&from), rangeOf(&to)
	if primaryKey(d.query, key, source, fromRange) && fromRange.known && toRange.known && fromRange.low <= toRange.low && toRange.high <= fromRange.high {
		domain = float64(source)
	} else {
		domain = float64(source) + float64(consumed)
		if isWhole(key.Type) && fromRange.known && toRange.known {
			domain = math.Min(domain, together(fromRange, toRange))
		}
	}
	return keys / domain, true
}

// counted is the number of distinct values as the planner takes it: none for types whose statistics it does not read them from
// (StatsUtils.getColStatistics).
func counted(hiveType string, ndv int64) int64 {
	if notCounted(hiveType) && ndv > 0 {
		return 0
	}
	return ndv
}

func notCounted(hiveType string) bool {
	switch strings.ToLower(hiveType) {
	case "date", "timestamp", "binary":
		return true
	}
	return false
}

// primaryKey: as many distinct values as rows, or a range of just as many (StatsUtils.inferAndSetPrimaryKey).
func primaryKey(q *advisor.Query, key *advisor.Key, ndv int64, r valueRange) bool {
	rows := known(q.Tables[key.Table].Rows)
	return rows >= 0 && (ndv >= rows || r.known && r.high-r.low+1 == float64(rows))
}

type valueRange struct {
	low, high float64
	known     bool
}

func rangeOf(c *advisor.ColumnStats) valueRange {
	low, err1 := strconv.ParseFloat(c.Low, 64)
	high, err2 := strconv.ParseFloat(c.High, 64)
	return valueRange{low: math.Trunc(low), high: math.Trunc(high), known: err1 == nil && err2 == nil}
}

// together is the width of both ranges: of their union where they overlap, else of each added up.
func together(a, b valueRange) float64 {
	if a.high < b.low || b.high < a.low {
		return a.high - a.low + b.high - b.low
	}
	return math.Max(a.high, b.high) - math.Min(a.low, b.low)
}

func isWhole(hiveType string) bool {
	switch strings.ToLower(hiveType) {
	case "boolean", "tinyint", "smallint", "int", "bigint":
		return true
	}
	return false
}
