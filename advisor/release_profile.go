package advisor

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Names of the proxy's own among recorded settings. Hive knows none of them: HiveSettings takes them out of what is sent to a server.
const (
	ownPrefix = "hs2proxy."
	// ReleaseName is the release line that a query was planned under, where Hive 4's is not meant.
	ReleaseName = ownPrefix + "release"
	// defaultPrefix goes before the name of a setting whose value is a profile's default and was told by no server.
	defaultPrefix = ownPrefix + "default."
)

// Profile is a vendor's release as data: the rules of a release line, and defaults that differ from that line's.
type Profile struct {
	Name string `koanf:"name"`
	// Base is the release line whose rules hold.
	Base Release `koanf:"base"`
	// Versions are patterns of SELECT version() with * and ?, such as "3.1.3000.*": the profile holds for these servers unasked.
	Versions []string `koanf:"versions"`
	// Defaults are settings of Catalogue by name.
	Defaults map[string]string `koanf:"defaults"`
}

// Profiles are what releases are there beside Releases, the first that fits wins.
type Profiles []Profile

// Choose returns the release of that name, else the first profile whose patterns fit the version, else the version's release line.
// A name that is not known counts as none: Knows tells before.
func (p Profiles) Choose(name, version string) Profile {
	if name != "" {
		for i := range p {
			if p[i].Name == name {
				return p[i]
			}
		}
		if slices.Contains(Releases(), Release(name)) {
			return Profile{Name: name, Base: Release(name)}
		}
	}
	for i := range p {
		for _, pattern := range p[i].Versions {
			if ok, _ := path.Match(pattern, version); ok {
				return p[i]
			}
		}
	}
	line := ReleaseOf(version)
	return Profile{Name: string(line), Base: line}
}

// Knows tells whether a name is a release line's or a profile's.
func (p Profiles) Knows(name string) bool { return slices.Contains(p.Names(), name) }

// Names lists the release lines, then the profiles.
func (p Profiles) Names() []string {
	var list []string
	for _, r := range Releases() {
		list = append(list, string(r))
	}
	for i := range p {
		list = append(list, p[i].Name)
	}
	return list
}

// Validate reports every profile that cannot work, one error for each field.
func (p Profiles) Validate() error {
	var errs []error
	for i := range p {
		one := &p[i]
		bad := func(field, value, want string) {
			errs = append(errs, fmt.Errorf("releases[%d].%s: %q is not valid, want %s", i, field, value, want))
		}
		if one.Name == "" || slices.Contains(p[:i].Names(), one.Name) {
			bad("name", one.Name, "a name that no other release has")
		}
		if !slices.Contains(Releases(), one.Base) {
			bad("base", string(one.Base), "hive-4, hive-3 or hive-2")
		}
		for _, pattern := range one.Versions {
			if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
				bad("versions", pattern, `a pattern with * and ?, such as "3.1.3000.*"`)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(one.Defaults)) {
			value := one.Defaults[name]
			d := definition(name)
			if d == nil {
				bad("defaults", name, "a setting that bears on joins (docs/selector.md)")
			} else if d.set != nil && d.set(&Settings{}, value) != nil {
				bad("defaults."+name, value, "a value that Hive takes")
			}
		}
	}
	return errors.Join(errs...)
}

// definition finds a setting of the catalogue by its first name.
func definition(name string) *settingDef {
	for i := range catalogue {
		if catalogue[i].Name == name {
			return &catalogue[i]
		}
	}
	return nil
}

// Fill returns a copy of the settings a server of that version tells, with what the release adds to them: its line, and the defaults
// of the profile for settings that the server does not tell. NewSettings and PlanState read both.
func (p Profile) Fill(values map[string]string, version string) map[string]string {
	out := HiveSettings(values)
	for name, value := range p.Defaults {
		if d := definition(name); d != nil {
			if _, told := lookup(values, d); !told {
				out[defaultPrefix+name] = value
			}
		}
	}
	if p.Base == "" {
		p.Base = Hive4
	}
	if p.Base != Hive4 || ReleaseOf(version) != Hive4 {
		out[ReleaseName] = string(p.Base)
	}
	return out
}

// HiveSettings returns a copy without the names that are the proxy's own: what may be sent to a server.
func HiveSettings(values map[string]string) map[string]string {
	out := make(map[string]string, len(values))
	for name, value := range values {
		if !strings.HasPrefix(name, ownPrefix) {
			out[name] = value
		}
	}
	return out
}

// releaseIn is the release line that recorded settings name, else that of the version.
func releaseIn(values map[string]string, version string) Release {
	if r := Release(values[ReleaseName]); slices.Contains(Releases(), r) {
		return r
	}
	return ReleaseOf(version)
}

// defaultIn is the value a setting has where recorded settings do not hold it, and whether the catalogue knows the setting.
func defaultIn(values map[string]string, release Release, name string) (string, bool) {
	if v, ok := values[defaultPrefix+name]; ok {
		return v, true
	}
	return ReleaseDefault(release, name)
}
