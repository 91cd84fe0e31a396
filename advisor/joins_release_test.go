package advisor_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// TestHive3Plans: plans that Hive 3.1.3 printed are read as what they are, and Hive 3's rules choose the same from their estimates.
func TestHive3Plans(t *testing.T) {
	paths, err := filepath.Glob("explain/testdata/golden-hive3/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no plans: %v", err)
	}
	tells := regexp.MustCompile(`/(?:tmp|home|root|Users)/|hive_20\d\d|localhost|127\.0\.0\.1|DdlTime"?[ :]+"?[1-9]`)
	seen := map[advisor.Strategy]int{}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text := string(archive.Files[0].Data)
			if found := tells.FindString(text); found != "" {
				t.Errorf("it tells %q", found)
			}
			settings := map[string]string{}
			for line := range strings.Lines(string(archive.Comment)) {
				if name, value, ok := strings.Cut(strings.TrimPrefix(strings.Trim(line, ";\n"), "SET "), "="); ok && strings.HasPrefix(line, "SET ") {
					settings[name] = value
				}
			}
			joins := joinsOfText(t, path, text)
			if len(joins) != 1 {
				t.Fatalf("%d joins", len(joins))
			}
			j := joins[0]
			if name := strings.ToLower(string(j.Strategy)); !strings.HasPrefix(filepath.Base(path), name+"_") {
				t.Errorf("read as %s", j.Strategy)
			}
			seen[j.Strategy]++
			for _, in := range j.Inputs {
				if len(in.Tables) != 1 || in.Rows < 0 || in.DataSize < 0 {
					t.Errorf("input %d: tables %v, %d rows, %d bytes", in.Position, in.Tables, in.Rows, in.DataSize)
				}
			}
			advisor.Enrich(joins, hive3Tables())
			d := advisor.Explain(joins[0], advisor.SettingsFor(advisor.Hive3, settings))
			if d.Strategy != j.Strategy || d.BigTable >= 0 && j.BigTable >= 0 && d.BigTable != j.BigTable {
				t.Errorf("planned %s streaming %d, simulated %s streaming %d: %s", j.Strategy, j.BigTable, d.Strategy, d.BigTable, d.Reason)
			}
		})
	}
	for _, s := range []advisor.Strategy{advisor.MapJoin, advisor.BucketMapJoin, advisor.DPHJ, advisor.SMB, advisor.MergeJoin} {
		if seen[s] == 0 {
			t.Errorf("no plan with a %s", s)
		}
	}
}

// hive3Tables are the sorted tables as DESCRIBE FORMATTED has them: no plan prints what a table is sorted by.
func hive3Tables() map[string]advisor.TableStats {
	out := map[string]advisor.TableStats{}
	for _, name := range []string{"golden.big_sorted", "golden.small_sorted"} {
		out[name] = advisor.TableStats{Table: name, Buckets: 4, BucketColumns: []string{"k"}, SortColumns: []string{"k"}}
	}
	return out
}
