package check

import (
	"slices"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

func TestChanges(t *testing.T) {
	mapped := Join{Strategy: advisor.MapJoin, Type: "INNER", BigTable: "d.o", Inputs: []string{"d.o", "d.p"}}
	merged := Join{Strategy: advisor.MergeJoin, Type: "INNER", Inputs: []string{"d.o", "d.p"}, Reason: "why"}
	other := Join{Strategy: advisor.MergeJoin, Type: "INNER", Inputs: []string{"d.o+d.p", "d.c"}}
	turned := Join{Strategy: advisor.MapJoin, Type: "INNER", BigTable: "d.p", Inputs: []string{"d.p", "d.o"}}
	renamed := Join{Strategy: advisor.MapJoin, Type: "INNER", BigTable: "d.o x", Inputs: []string{"d.o x", "d.p y"}}
	left := Join{Strategy: advisor.MergeJoin, Type: "LEFT_OUTER", Inputs: []string{"d.a", "d.b"}}
	right := Join{Strategy: advisor.MergeJoin, Type: "RIGHT_OUTER", Inputs: []string{"d.b", "d.a"}}
	self := func(s advisor.Strategy, big, a, b string) Join {
		return Join{Strategy: s, Type: "INNER", BigTable: big, Inputs: []string{a, b}}
	}
	for _, tt := range []struct {
		name     string
		was, now []Join
		want     []string
	}{
		{"nothing", nil, nil, nil},
		{"the same", []Join{mapped, other}, []Join{mapped, other}, nil},
		{"the same in another order", []Join{mapped, other}, []Join{other, mapped}, nil},
		{"a strategy", []Join{mapped}, []Join{merged}, []string{"MAP_JOIN → MERGE_JOIN: d.o, d.p (INNER)"}},
		{"a strategy, and with it the order", []Join{other, mapped}, []Join{merged, other}, []string{"MAP_JOIN → MERGE_JOIN: d.o, d.p (INNER)"}},
		{"the big table", []Join{mapped}, []Join{turned}, []string{"streams d.p in place of d.o: d.p, d.o (INNER)"}},
		{"the order of inputs alone", []Join{left}, []Join{right}, nil},
		{"an alias alone", []Join{mapped}, []Join{renamed}, nil},
		{
			"the big one of a self-join",
			[]Join{self(advisor.MapJoin, "d.o a", "d.o a", "d.o b")},
			[]Join{self(advisor.MapJoin, "d.o b", "d.o a", "d.o b")},
			[]string{"streams d.o b in place of d.o a: d.o a, d.o b (INNER)"},
		},
		{
			"one of two alike",
			[]Join{mapped, mapped},
			[]Join{mapped, merged},
			[]string{"MAP_JOIN → MERGE_JOIN: d.o, d.p (INNER)"},
		},
		{"a join more", []Join{mapped}, []Join{other, mapped}, []string{"a join more, MERGE_JOIN: d.o+d.p, d.c (INNER)"}},
		{"a join less", []Join{mapped, other}, []Join{other}, []string{"a join less, MAP_JOIN: d.o, d.p (INNER)"}},
		{"all joins gone", []Join{mapped}, nil, []string{"a join less, MAP_JOIN: d.o, d.p (INNER)"}},
		{"the first joins", nil, []Join{left}, []string{"a join more, MERGE_JOIN: d.a, d.b (LEFT_OUTER)"}},
		{
			"other tables",
			[]Join{other},
			[]Join{left},
			[]string{"joins d.a, d.b (LEFT_OUTER) in place of d.o+d.p, d.c"},
		},
		{
			"other tables and another strategy",
			[]Join{mapped},
			[]Join{left},
			[]string{"MAP_JOIN → MERGE_JOIN: d.a, d.b (LEFT_OUTER)"},
		},
		{
			"from no big table to one",
			[]Join{self(advisor.SMB, "", "d.a", "d.b")},
			[]Join{self(advisor.SMB, "d.a", "d.a", "d.b")},
			[]string{"streams d.a in place of nothing: d.a, d.b (INNER)"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, c := range changes(tt.was, tt.now) {
				got = append(got, c.text())
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("\n got %q\nwant %q", got, tt.want)
			}
		})
	}
	if got := changes([]Join{mapped}, []Join{merged}); got[0].Reason != "why" || got[0].Was != "MAP_JOIN" || got[0].Now != "MERGE_JOIN" {
		t.Errorf("%+v", got)
	}
}

func TestFindingsAreNew(t *testing.T) {
	o := &Outcome{Judged: judged(verdict(0, advisor.MapJoin, 0, "d.o", "d.p"), verdict(1, advisor.MergeJoin, -1, "d.o+d.p", "d.c")).with(
		advisor.Finding{Kind: "near_flip", Severity: advisor.Low, Subject: "join 0 MAPJOIN_1 (Map 1)"},
		advisor.Finding{Kind: "near_flip", Severity: advisor.Low, Subject: "join 1"},
		advisor.Finding{Kind: "missing_statistics", Severity: advisor.Medium, Subject: "d.o"},
		advisor.Finding{Kind: "missing_statistics", Severity: advisor.Medium, Subject: "d.o"},
		advisor.Finding{Kind: "other", Severity: advisor.High, Subject: "joining is hard"},
	)}
	got := findings([]Finding{
		{"near_flip", advisor.Low, "d.o, d.p"},              // the join may have had another number
		{"near_flip", advisor.Info, "d.c, d.o+d.p"},         // rose
		{"missing_statistics", advisor.High, "d.o"},         // fell, and only one of two is known
		{"other", advisor.High, "something else"},           // about something else
		{"cross_product", advisor.Critical, "d.o+d.p, d.c"}, // gone
	}, o)
	about := []string{"d.o, d.p", "d.c, d.o+d.p", "d.o", "d.o", "joining is hard"}
	for i, want := range []bool{false, true, false, true, true} {
		if got[i].New != want || got[i].About != about[i] {
			t.Errorf("finding %d: %+v, want new %v about %q", i, got[i], want, about[i])
		}
	}
}
