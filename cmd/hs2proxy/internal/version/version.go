package version

import (
	"runtime/debug"
	"strings"
)

// String is the module's version, or the commit it was built from.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := strings.Trim(info.Main.Version, "()")
	var revision, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if v == "devel" || v == "" {
		v = "devel"
		if len(revision) >= 12 {
			v += "-" + revision[:12] + dirty
		}
	}
	return v
}
