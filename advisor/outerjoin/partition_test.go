package outerjoin

import (
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/queryast"
)

func TestPartitionTruth(t *testing.T) {
	p := newPartition("ds=2024-01-02/hr=7/code=__HIVE_DEFAULT_PARTITION__/day=2024-01-02", []string{"ds", "hr", "code", "day"}, []string{"string", "int", "string", "date"})
	for predicate, want := range map[string]truth{
		"ds = '2024-01-02'":                         isTrue,
		"ds = '2024-01-03'":                         isFalse,
		"ds <> '2024-01-02'":                        isFalse,
		"'2024-01-03' > ds":                         isTrue,
		"ds >= '2024-01-03' OR ds IS NULL":          isFalse,
		"ds IN ('2024-01-01', '2024-01-02')":        isTrue,
		"ds NOT IN ('2024-01-01')":                  isTrue,
		"ds BETWEEN '2024-01-01' AND '2024-01-9'":   isTrue,
		"ds NOT BETWEEN '2024-01-01' AND '2024-02'": isFalse,
		"ds = 20240102":                             anyTruth, // Hive compares as double
		"hr = 7 AND ds < '2024'":                    isFalse,
		"hr IN (1, '07')":                           isTrue,
		"hr < 10":                                   isTrue,
		"hr = 7.5":                                  anyTruth,
		"hr + 1 = 8":                                anyTruth,
		"code = 'x'":                                isNull,
		"code IS NULL":                              isTrue,
		"code IS NOT NULL":                          isFalse,
		"day = '2024-01-03'":                        isFalse,
		"day > date '2024-01-01'":                   isTrue,
		"day = timestamp '2024-01-02'":              anyTruth,
		"day = 'yesterday'":                         anyTruth,
		"other = 1":                                 anyTruth,
		"NOT (ds = '2024-01-02')":                   isFalse,
		"ds LIKE '2024%'":                           anyTruth,
		"hr = 8 OR ds LIKE '2024%'":                 anyTruth,
		"hr = 8 AND ds LIKE '2024%'":                isFalse | isNull,
		"ds = '2024-01-02' IS NOT NULL":             anyTruth,
	} {
		q, err := queryast.Parse("SELECT 1 FROM t WHERE " + predicate)
		if err != nil {
			t.Fatal(err)
		}
		e := q.Branches[0].Body.(*queryast.Select).Where
		if got := p.truth(e, bare); got != want {
			t.Errorf("%s is %03b, want %03b", predicate, got, want)
		}
	}
}

// TestSharedScan: partitions that one scan reads for two names are not held against a predicate on one of them.
func TestSharedScan(t *testing.T) {
	parts := []partition{newPartition("ds=1", []string{"ds"}, []string{"string"}), newPartition("ds=2", []string{"ds"}, []string{"string"})}
	for _, c := range []struct {
		sql            string
		read, needless int
	}{
		{"SELECT 1 FROM p a LEFT JOIN q b ON a.k = b.k AND a.ds = '1'", 2, 1},
		{"SELECT 1 FROM p a LEFT JOIN p b ON a.k = b.k AND a.ds = '1'", 0, 0},
		{"SELECT 1 FROM p a LEFT JOIN (SELECT k FROM d.p) b ON a.k = b.k AND a.ds = '1'", 0, 0},
	} {
		p := Classify(advisor.Query{SQL: c.sql})[0]
		v := &view{scans: []*scan{{alias: "a", table: "d.p", partitions: parts}}}
		if v.below(&p); p.PartitionsRead != c.read || p.PartitionsNeedless != c.needless {
			t.Errorf("%s: %d of %d, want %d of %d", c.sql, p.PartitionsNeedless, p.PartitionsRead, c.needless, c.read)
		}
	}
}
