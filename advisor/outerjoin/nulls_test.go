package outerjoin

import (
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor/queryast"
)

// TestRejects: whether a row in which all columns of b are NULL can pass.
func TestRejects(t *testing.T) {
	for _, c := range []struct {
		predicate string
		want      bool
	}{
		{"b.x = 1", true},
		{"b.x <> 1", true},
		{"1 < b.x", true},
		{"b.x = a.x", true},
		{"a.x = 1", false},
		{"b.x IS NULL", false},
		{"b.x IS NOT NULL", true},
		{"NOT b.x IS NULL", true},
		{"NOT b.x = 1", true},
		{"isnull(b.x)", false},
		{"isnotnull(b.x)", true},
		{"b.x = 1 OR b.x IS NULL", false},
		{"b.x = 1 OR b.y = 2", true},
		{"b.x = 1 OR a.y = 2", false},
		{"b.x IS NULL AND b.y = 1", true},
		{"(b.x = 1 AND a.x = 1) OR (b.y = 2 AND a.y = 2)", true},
		{"COALESCE(b.x, 0) = 1", false},
		{"COALESCE(b.x, b.y) = 1", true},
		{"nvl(b.x, a.x) = 1", false},
		{"b.x + 1 > 2", true},
		{"b.x % 10 = 3", true},
		{"-b.x = 1", true},
		{"CAST(b.x AS string) = '1'", true},
		{"upper(b.x) = 'A'", true},
		{"concat(a.x, b.x) = 'A'", true},
		{"concat_ws(',', a.x, b.x) = 'A'", false},
		{"my_function(b.x) = 1", false},
		{"hash(b.x) = 1", false},
		{"b.x IN (1, 2)", true},
		{"b.x NOT IN (1, 2)", true},
		{"a.x IN (b.x, 1)", false},
		{"b.x BETWEEN 1 AND 2", true},
		{"b.x NOT BETWEEN 1 AND 2", true},
		{"a.x BETWEEN b.x AND 2", true},
		{"a.x NOT BETWEEN b.x AND 2", false},
		{"b.x LIKE 'a%'", true},
		{"b.x NOT LIKE 'a%'", true},
		{"b.x <=> 1", true},
		{"b.x <=> NULL", false},
		{"b.x <=> a.x", false},
		{"NOT (b.x <=> 1)", false},
		{"b.x IS NOT DISTINCT FROM 1", true},
		{"b.x IS DISTINCT FROM 1", false},
		{"b.flag", true},
		{"NOT b.flag", true},
		{"b.flag IS TRUE", true},
		{"b.flag IS NOT TRUE", false},
		{"(b.x = 1) IS NOT FALSE", false},
		{"(b.x = 1) IS UNKNOWN", false},
		{"b.s.f[0].g = 1", true},
		{"CASE WHEN b.x = 1 THEN true ELSE false END", true},
		{"CASE WHEN b.x = 1 THEN false ELSE true END", false},
		{"CASE b.x WHEN 1 THEN true END", true},
		{"CASE WHEN a.x = 1 THEN b.y = 2 ELSE b.z = 3 END", true},
		{"if(b.x IS NULL, false, true)", true},
		{"if(b.x = 1, true, false)", true},
		{"false", false}, // of no row at all, whatever b is
	} {
		q, err := queryast.Parse("SELECT 1 FROM a LEFT JOIN b ON a.k = b.k WHERE " + c.predicate)
		if err != nil {
			t.Fatal(err)
		}
		s := q.Branches[0].Body.(*queryast.Select)
		sc := newScope(q, s, &view{})
		if got := sc.rejects(s.Where, 1<<1); got != c.want {
			t.Errorf("%s: rejects %v, want %v", c.predicate, got, c.want)
		}
	}
}

// TestTruthOfConnectives: negation swaps true and false and leaves NULL.
func TestTruthOfConnectives(t *testing.T) {
	values := []truth{isTrue, isFalse, isNull}
	for _, a := range values {
		if a.not().not() != a {
			t.Errorf("not not %d is %d", a, a.not().not())
		}
	}
	if anyTruth.not() != anyTruth || (isTrue|isNull).not() != isFalse|isNull {
		t.Error("not of several")
	}
}
