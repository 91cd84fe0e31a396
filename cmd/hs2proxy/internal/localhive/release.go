package localhive

import (
	_ "embed"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// release is what differs between the Hives this package can start.
type release struct {
	// version is Hive's own; its jars lie in hive-VERSION of the cache.
	version string
	pom     []byte
	// jars names the jars for progress and errors.
	jars string
	// classes are the sources of Java classes that must be there, and win over those of the jars; see writeClasses.
	classes map[string][]byte
	// conf are properties of hive-site.xml without which this release does not work here.
	conf map[string]string
	// oneTransport: it serves binary or HTTP, never both.
	oneTransport bool
}

//go:embed pom-hive3.xml
var pomHive3 []byte

//go:embed pom-hive2.xml
var pomHive2 []byte

//go:embed templates/LocalLauncher.java
var launcherSource []byte

//go:embed templates/SubListSerializer.java
var subListSource []byte

// latest is the release where Options name none.
const latest = "4.0"

// smallContainer: at the default of -1 local Tez is asked for a negative number of splits.
var smallContainer = map[string]string{"hive.tez.container.size": "1024"}

var releases = map[string]release{
	latest: {version: "4.0.1", pom: pom, jars: "HiveServer2's jars (about 270 MB, once)"},
	"3.1": {
		version: "3.1.3", pom: pomHive3, jars: "HiveServer2's jars of Hive 3.1 (about 205 MB, once)",
		classes: map[string][]byte{launcherClass + ".java": launcherSource, "SubListSerializer.java": subListSource},
		conf:    smallContainer, oneTransport: true,
	},
	"2.3": {
		version: "2.3.9", pom: pomHive2, jars: "HiveServer2's jars of Hive 2.3 (about 170 MB, once)",
		classes: map[string][]byte{launcherClass + ".java": launcherSource},
		conf:    smallContainer, oneTransport: true,
	},
}

// release is the one that the options name.
func (o Options) release() release { return releases[o.Release] }

// withRelease fills what depends on the release alone, and refuses what it cannot do.
func (o Options) withRelease() (Options, error) {
	if o.Release == "" {
		o.Release = latest
	}
	r, ok := releases[o.Release]
	if !ok {
		return o, fmt.Errorf("release %q: this package starts %s", o.Release, strings.Join(slices.Sorted(maps.Keys(releases)), ", "))
	}
	if o.HTTP && r.oneTransport {
		return o, fmt.Errorf("HTTP: Hive %s serves it only in place of the binary transport", o.Release)
	}
	if o.Transactions && o.Release != latest {
		return o, fmt.Errorf("transactions: not made for Hive %s", o.Release)
	}
	if o.LibDir == "" {
		var err error
		if o.LibDir, err = inCache("hive-" + r.version); err != nil {
			return o, err
		}
	}
	return o, nil
}

// classesDir holds what writeClasses compiled.
func classesDir(lib string) string { return filepath.Join(lib, "classes") }
