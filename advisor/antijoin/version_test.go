package antijoin

import "testing"

func TestVersionsAreOrdered(t *testing.T) {
	ordered := []string{"2.3.9", "3.1.3", "4.0.0-alpha-1", "4.0.0-alpha-2", "4.0.0-beta-1", "4.0.0", "4.0.1", "4.1.0", "4.2.0-SNAPSHOT r123", "4.10.0"}
	for i, a := range ordered {
		for j, b := range ordered {
			x, ok := parseVersion(a)
			y, ok2 := parseVersion(b)
			if !ok || !ok2 || x.before(y) != (i < j) {
				t.Errorf("%s before %s: %v, %v %v", a, b, x.before(y), ok, ok2)
			}
		}
	}
	for _, s := range []string{"", "unknown", "4", "4.0", "3.1.3000.7.2.18.0-641", "3.1.0.3.1.5.0-152", "4.0.0.7"} {
		if v, ok := parseVersion(s); ok {
			t.Errorf("%q: %v", s, v)
		}
	}
}
