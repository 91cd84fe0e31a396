package advise_test

import (
	"fmt"
	"hash/fnv"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// checkedPage lists the sample with the verdict of who read it.
const checkedPage = "../../docs/findings/checked.md"

// sampleSizes are the findings of each kind in the sample, of the real planner's plans and of Hive's expected results.
var sampleSizes = []struct {
	kind           advisor.FindingKind
	oracle, golden int
}{
	{"outer_join_becomes_inner", 3, 1},
	{"during_join_preserved_filter", 3, 2},
	{"dynamic_filter_missing", 6, 0},
	{"broadcast_costs_more", 4, 0},
	{"redistribution_costs_more", 4, 0},
	{"skew_risk", 3, 0},
	{"anti_join_missed", 5, 0},
	{"anti_join_saving", 3, 0},
	{"not_in_null_aware", 3, 0},
	{"bucketed_but_shuffled", 2, 0},
	{"merge_join_large_small", 2, 1},
	{"near_flip", 2, 0},
	{"cross_product", 1, 1},
	{"full_outer_no_broadcast", 1, 0},
	{"merge_join_missing_statistics", 1, 0},
	{"missing_statistics", 1, 1},
}

// drawn is the sample: of each kind those whose name comes first by a hash, so that a change of one rule moves no other's.
func drawn(all []recordedFinding) []recordedFinding {
	var sample []recordedFinding
	take := func(source string, kind advisor.FindingKind, n int) {
		of := slices.DeleteFunc(slices.Clone(all), func(f recordedFinding) bool { return f.source != source || f.Kind != kind })
		slices.SortStableFunc(of, func(a, b recordedFinding) int { return strings.Compare(a.place(), b.place()) })
		sample = append(sample, of[:min(n, len(of))]...)
	}
	for _, s := range sampleSizes {
		take("oracle", s.kind, s.oracle)
		take("golden", s.kind, s.golden)
	}
	return sample
}

// place orders the findings of a kind by chance, the same each time.
func (f *recordedFinding) place() string {
	h := fnv.New64a()
	fmt.Fprintf(h, "7 %s %s %s %s", f.source, f.id, f.Kind, f.Subject)
	return fmt.Sprintf("%016x", h.Sum64())
}

// row is how the page names a finding.
func (f *recordedFinding) row() string { return fmt.Sprintf("%s | %s | %s", f.id, f.Kind, f.Subject) }

var checkedRow = regexp.MustCompile(`(?m)^\| \d+ \| ([^|]+ \| [^|]+ \| [^|]+) \| .*\| \*\*(right|wrong|misleading)\*\*`)

// TestCheckedFindings draws the sample of 50 findings that docs/findings/checked.md judges one by one, and finds each there, judged
// right: what was wrong has been mended, and the list made anew. HS2PROXY_SHARED names the folder with the plans; -v prints the
// sample with all that a reader needs to judge it.
func TestCheckedFindings(t *testing.T) {
	sample := drawn(recorded(t))
	if len(sample) != 50 {
		t.Errorf("%d findings are drawn", len(sample))
	}
	page, err := os.ReadFile(checkedPage)
	if err != nil {
		t.Fatal(err)
	}
	judged := map[string]string{}
	for _, m := range checkedRow.FindAllStringSubmatch(string(page), -1) {
		judged[m[1]] = m[2]
	}
	for i, f := range sample {
		t.Logf("%d | %s\n%s %s\n%s\n%s\n%v\n%s\n\n", i+1, f.row(), f.source, f.Severity, f.sql, f.Summary, f.Evidence, f.Advice)
		if judged[f.row()] != "right" {
			t.Errorf("%s does not list %s as right, but %q", checkedPage, f.row(), judged[f.row()])
		}
		delete(judged, f.row())
	}
	for row := range judged {
		t.Errorf("%s lists %s, which is not drawn", checkedPage, row)
	}
}
