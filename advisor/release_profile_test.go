package advisor

import (
	"maps"
	"strings"
	"testing"
)

var vendors = Profiles{
	{Name: "vendor-7", Base: Hive4, Versions: []string{"3.1.3000.*"}, Defaults: map[string]string{
		"hive.stats.fetch.column.stats": "false", "hive.auto.convert.join.noconditionaltask.size": "52428800",
	}},
	{Name: "fork", Base: Hive3},
}

func TestChooseRelease(t *testing.T) {
	for _, c := range []struct {
		name, version, want string
		base                Release
	}{
		{"", "4.0.1", "hive-4", Hive4},
		{"", "3.1.3", "hive-3", Hive3},
		{"", "3.1.3000.7.2.18.0-641", "vendor-7", Hive4},
		{"", "2.3.9", "hive-2", Hive2},
		{"", "", "hive-4", Hive4},
		{"hive-3", "4.0.1", "hive-3", Hive3},
		{"hive-4", "3.1.3000.7.2.18.0-641", "hive-4", Hive4},
		{"fork", "4.0.1", "fork", Hive3},
	} {
		if got := vendors.Choose(c.name, c.version); got.Name != c.want || got.Base != c.base {
			t.Errorf("%q of version %q: %+v, want %s on %s", c.name, c.version, got, c.want, c.base)
		}
	}
	if !vendors.Knows("fork") || !vendors.Knows("hive-2") || vendors.Knows("hive-1") || vendors.Knows("") {
		t.Errorf("names %v", vendors.Names())
	}
}

func TestFilledSettings(t *testing.T) {
	const version = "3.1.3000.7.2.18.0-641"
	told := map[string]string{"hive.stats.fetch.column.stats": "true", ReleaseName: "hive-2", "hs2proxy.x": "1"}
	got := vendors.Choose("", version).Fill(told, version)
	s := NewSettings(got)
	if s.Release != Hive4 || !s.FetchColumnStats || s.NoConditionalTaskSize != 52428800 || s.HybridGrace {
		t.Errorf("%v: release %s, column statistics %t, budget %d, hybrid %t", got, s.Release, s.FetchColumnStats, s.NoConditionalTaskSize, s.HybridGrace)
	}
	if told[ReleaseName] != "hive-2" {
		t.Error("the caller's map was changed")
	}
	if back := HiveSettings(got); !maps.Equal(back, map[string]string{"hive.stats.fetch.column.stats": "true"}) {
		t.Errorf("for the server %v", back)
	}
	state := PlanState{Settings: got, Version: version}
	if s := state.TypedSettings(); s.Release != Hive4 || s.NoConditionalTaskSize != 52428800 {
		t.Errorf("the recorded plan is read under %s, budget %d", s.Release, s.NoConditionalTaskSize)
	}

	plain := Profiles(nil).Choose("", "4.0.1").Fill(map[string]string{"a": "b"}, "4.0.1")
	if !maps.Equal(plain, map[string]string{"a": "b"}) {
		t.Errorf("Hive 4 needs no mark: %v", plain)
	}
	hive3 := Profiles(nil).Choose("", "3.1.3").Fill(nil, "3.1.3")
	if s := NewSettings(hive3); s.Release != Hive3 || !s.HybridGrace || s.FetchColumnStats || s.AntiJoin {
		t.Errorf("Hive 3: %+v", s)
	}
	if s := NewSettings(Profile{}.Fill(nil, "")); s.Release != Hive4 {
		t.Errorf("no release: %s", s.Release)
	}
}

// Another release in place of a profile takes the profile's defaults with it.
func TestWhatIfLeavesAProfile(t *testing.T) {
	values := vendors.Choose("vendor-7", "").Fill(map[string]string{"hive.mapjoin.hybridgrace.hashtable": "false"}, "")
	before := NewSettings(values)
	after := (&WhatIf{Release: Hive3}).Settings(values, before)
	if before.NoConditionalTaskSize != 52428800 || after.NoConditionalTaskSize != 10000000 || after.Release != Hive3 || !after.HybridGrace {
		t.Errorf("before %d, after %d under %s, hybrid %t", before.NoConditionalTaskSize, after.NoConditionalTaskSize, after.Release, after.HybridGrace)
	}
}

func TestValidateProfiles(t *testing.T) {
	if err := vendors.Validate(); err != nil {
		t.Error(err)
	}
	bad := Profiles{
		{Name: "hive-4", Base: Hive4},
		{Name: "a", Base: "hive-9", Versions: []string{"[", ""}},
		{Name: "a", Base: Hive3, Defaults: map[string]string{"hive.no.such": "1", "hive.cbo.enable": "perhaps"}},
	}
	err := bad.Validate()
	if err == nil {
		t.Fatal("taken")
	}
	for _, want := range []string{
		`releases[0].name: "hive-4" is not valid`, `releases[1].base: "hive-9"`, `releases[1].versions: "["`, `releases[1].versions: ""`, `releases[2].name: "a"`,
		`releases[2].defaults: "hive.no.such"`, `releases[2].defaults.hive.cbo.enable: "perhaps"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("lacks %s:\n%v", want, err)
		}
	}
	if n := strings.Count(err.Error(), "\n") + 1; n != 7 {
		t.Errorf("%d errors:\n%v", n, err)
	}
	// One that nobody validated leaves the release's default and is listed.
	s := NewSettings(bad[2].Fill(nil, ""))
	if !s.CBO || len(s.Malformed) != 1 {
		t.Errorf("cbo %t, malformed %v", s.CBO, s.Malformed)
	}
}
