package hiveql

import (
	"reflect"
	"strings"
	"testing"
)

// checkPeek: Peek tells of every text what Parse tells of the session, and no other kind than Parse refines.
func checkPeek(t interface{ Fatalf(string, ...any) }, sql string, parsed Info) {
	peeked := Peek(sql)
	if !reflect.DeepEqual(peeked.Set, parsed.Set) || !reflect.DeepEqual(peeked.Reset, parsed.Reset) || peeked.Use != parsed.Use {
		t.Fatalf("Peek(%q) = %+v, Parse says %+v", sql, peeked, parsed)
	}
	same := peeked.Kind == parsed.Kind
	switch peeked.Kind {
	case KindSelect, KindInsert:
		same = parsed.Kind == KindSelect || parsed.Kind == KindInsert || parsed.Kind == KindMultiInsert
	case KindCreate:
		same = same || parsed.Kind == KindCTAS
	default: // nothing behind the first keyword changes them
	}
	if !same {
		t.Fatalf("Peek(%q) is %s, Parse says %s", sql, peeked.Kind, parsed.Kind)
	}
	if peeked.Normalized != "" || peeked.Fingerprint != "" || peeked.Writes != nil || peeked.Query != "" || peeked.Explainable {
		t.Fatalf("Peek(%q) read too much: %+v", sql, peeked)
	}
}

func TestPeek(t *testing.T) {
	for sql, want := range map[string]Info{
		"":                               {Kind: KindOther},
		"-- why\n/* a */ ((SELECT 1))":   {Kind: KindSelect},
		"from t insert into u select *":  {Kind: KindSelect},
		"With q as (select 1) select 2":  {Kind: KindSelect},
		"insert into t values (1)":       {Kind: KindInsert},
		"create table t as select 1":     {Kind: KindCreate},
		"desc t":                         {Kind: KindDescribe},
		"USE `Sales`":                    {Kind: KindUse, Use: "sales"},
		"use ${db}":                      {Kind: KindUse},
		"# c\nset hiveconf:a = b -- no ": {Kind: KindSet, Set: &Assignment{Key: "a", Value: "b"}},
		"set a":                          {Kind: KindSet},
		"reset":                          {Kind: KindOther, Reset: &Reset{All: true}},
		"reset a b":                      {Kind: KindOther, Reset: &Reset{Keys: []string{"a", "b"}}},
		"set role admin":                 {Kind: KindSet},
		"add jar x":                      {Kind: KindOther},
	} {
		if got := Peek(sql); !reflect.DeepEqual(got, want) {
			t.Errorf("Peek(%q) = %+v, want %+v", sql, got, want)
		}
		checkPeek(t, sql, Parse(sql))
	}
}

// TestPeekAllocates: no allocation, however long the text.
func TestPeekAllocates(t *testing.T) {
	sql := "select * from t where a in (" + strings.Repeat("'x', ", 200_000) + "'y')"
	if n := testing.AllocsPerRun(10, func() { Peek(sql) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func BenchmarkPeek(b *testing.B) {
	sql := "select a.x, count(*) from t a join u b on a.k = b.k where a.ds in (" + strings.Repeat("'2024-01-01', ", 1000) + "'x') group by a.x"
	b.ReportAllocs()
	for b.Loop() {
		Peek(sql)
	}
}
