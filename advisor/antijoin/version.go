package antijoin

import (
	"regexp"
	"strconv"
	"strings"
)

var versionText = regexp.MustCompile(`^(\d+)\.(\d+)\.(\d+)(?:-(alpha|beta)-(\d+))?`)

// version is a version of Apache Hive that can be compared: major, minor, patch, then 0 for an alpha, 1 for a beta, 2 for a
// release, and the number of that alpha or beta.
type version [5]int

// parseVersion reads what a server says of itself. ok is false where it says nothing, and for builds of vendors, which keep an
// old number and take fixes over ("3.1.3000.7.2.18.0-641").
func parseVersion(s string) (v version, ok bool) {
	m := versionText.FindStringSubmatch(s)
	if m == nil {
		return v, false
	}
	if rest := s[len(m[0]):]; rest != "" && !strings.HasPrefix(rest, "-SNAPSHOT") && !strings.HasPrefix(rest, " ") {
		return v, false
	}
	for i := range 3 {
		n, err := strconv.Atoi(m[i+1])
		if err != nil {
			return v, false
		}
		v[i] = n
	}
	switch m[4] {
	case "alpha":
		v[3] = 0
	case "beta":
		v[3] = 1
	default:
		v[3] = 2
	}
	v[4], _ = strconv.Atoi(m[5]) // none: 0
	return v, true
}

func (v version) before(o version) bool {
	for i := range v {
		if v[i] != o[i] {
			return v[i] < o[i]
		}
	}
	return false
}

// hasAntiJoin are the versions with the operator (HIVE-23716).
var hasAntiJoin = version{4, 0, 0, 0, 1}

func hasWord(list, word string) bool {
	for w := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		if w == word {
			return true
		}
	}
	return false
}
