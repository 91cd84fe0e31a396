package dynamicfilter

import (
	"slices"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// The roles of the seed document, and those of Hive for the joins it does not name.
func TestRoles(t *testing.T) {
	both, producer, consumer, none := Role{true, true}, Role{Produces: true}, Role{Consumes: true}, Role{}
	for kind, want := range map[advisor.JoinType][2]Role{
		advisor.Inner:      {both, both},
		advisor.LeftOuter:  {producer, consumer},
		advisor.RightOuter: {consumer, producer},
		advisor.FullOuter:  {none, none},
		advisor.LeftSemi:   {both, both},
		advisor.Anti:       {producer, consumer},
		advisor.Cross:      {none, none},
		advisor.UniqueJoin: {none, none},
	} {
		if left, right := Roles(kind); left != want[0] || right != want[1] {
			t.Errorf("%s: %+v %+v, want %+v", kind, left, right, want)
		}
	}
}

func TestPairs(t *testing.T) {
	for name, test := range map[string]struct {
		conditions []advisor.Condition
		want       []pair
	}{
		"inner":            {[]advisor.Condition{{Type: advisor.Inner, Left: 0, Right: 1}}, []pair{{0, 1}, {1, 0}}},
		"left outer":       {[]advisor.Condition{{Type: advisor.LeftOuter, Left: 0, Right: 1}}, []pair{{0, 1}}},
		"right outer":      {[]advisor.Condition{{Type: advisor.RightOuter, Left: 0, Right: 1}}, []pair{{1, 0}}},
		"full outer":       {[]advisor.Condition{{Type: advisor.FullOuter, Left: 0, Right: 1}}, nil},
		"three":            {[]advisor.Condition{{Type: advisor.Inner, Left: 0, Right: 1}, {Type: advisor.LeftOuter, Left: 1, Right: 2}}, []pair{{0, 1}, {0, 2}, {1, 0}, {1, 2}}},
		"beyond its sides": {[]advisor.Condition{{Type: advisor.Inner, Left: 0, Right: 9}}, nil},
	} {
		inputs := 2
		if name == "three" {
			inputs = 3
		}
		if got := pairs(&advisor.Join{Conditions: test.conditions, Inputs: make([]advisor.Input, inputs)}); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestValues(t *testing.T) {
	for predicate, want := range map[string][]value{
		"k is not null (type: boolean)": nil,
		"((ks like 'a%') and k is not null and k BETWEEN DynamicValue(RS_7_b_k_min) AND DynamicValue(RS_7_b_k_max) and in_bloom_filter(k, DynamicValue(RS_7_b_k_bloom_filter))) (type: boolean)": {
			{columns: []string{"k"}, id: "RS_7_b_k_min"}, {columns: []string{"k"}, id: "RS_7_b_k_max"}, {columns: []string{"k"}, id: "RS_7_b_k_bloom_filter", bloom: true},
		},
		"(upper(ks) BETWEEN DynamicValue(RS_6_b_ks_min) AND DynamicValue(RS_6_b_ks_max) and in_bloom_filter(hash(k,kts), DynamicValue(RS[30]_col2)))": {
			{columns: []string{"upper", "ks"}, id: "RS_6_b_ks_min"},
			{columns: []string{"upper", "ks"}, id: "RS_6_b_ks_max"},
			{columns: []string{"hash", "k", "kts"}, id: "RS[30]_col2", bloom: true},
		},
		"(k > DynamicValue(RS_3_a_k_min": nil,
	} {
		got := values(predicate)
		if !slices.EqualFunc(got, want, func(a, b value) bool { return slices.Equal(a.columns, b.columns) && a.id == b.id && a.bloom == b.bloom }) {
			t.Errorf("%s: %+v, want %+v", predicate, got, want)
		}
	}
}
