package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// place is where a record is in a baseline.
type place struct {
	file  string
	index int
}

// at is the record there.
func (b Baseline) at(p place) Record { return b.Files[p.file][p.index] }

// pair is a statement's record in the baseline, none with an empty file.
type pair struct {
	place
	// edited: the statement is not the one of the record, but the only one, or the one most like it, that it can have become.
	edited bool
}

func (p pair) found() bool { return p.file != "" }

// match finds the record of each statement that is not skipped: first those of the same script with the same fingerprint, in order;
// then those with the fingerprint in another script; then, in the same script, those whose text is most alike.
func match(old Baseline, outcomes []Outcome) []pair {
	m := matcher{old: old, outcomes: outcomes, pairs: make([]pair, len(outcomes)), taken: map[place]bool{}}
	for i := range outcomes {
		m.same(i, outcomes[i].File)
	}
	files := slices.Sorted(maps.Keys(old.Files))
	for i := range outcomes {
		for _, file := range files {
			m.same(i, file)
		}
	}
	m.alike()
	return m.pairs
}

type matcher struct {
	old      Baseline
	outcomes []Outcome
	pairs    []pair
	taken    map[place]bool
}

func (m *matcher) open(i int) bool { return m.outcomes[i].Skipped == "" && !m.pairs[i].found() }

func (m *matcher) take(i int, at place, edited bool) {
	m.pairs[i] = pair{place: at, edited: edited}
	m.taken[at] = true
}

// same pairs statement i with the first free record of a script that has its fingerprint.
func (m *matcher) same(i int, file string) {
	if !m.open(i) {
		return
	}
	for index, r := range m.old.Files[file] {
		if at := (place{file, index}); !m.taken[at] && r.Fingerprint == m.outcomes[i].Info.Fingerprint {
			m.take(i, at, false)
			return
		}
	}
}

// enough is the likeness from which on a statement counts as an edited one: a text with a join more keeps well above it, two
// queries that share no table stay below.
const enough = 0.4

// alike pairs what is left within each script, the most alike first.
func (m *matcher) alike() {
	type candidate struct {
		statement int
		at        place
		likeness  float64
	}
	var list []candidate
	for i := range m.outcomes {
		if !m.open(i) {
			continue
		}
		mine := wordsOf(shorten(m.outcomes[i].Info.Normalized, maxQuery))
		for index, r := range m.old.Files[m.outcomes[i].File] {
			at := place{m.outcomes[i].File, index}
			if likeness := jaccard(mine, wordsOf(r.Query)); !m.taken[at] && likeness >= enough {
				list = append(list, candidate{i, at, likeness})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return -cmp.Compare(a.likeness, b.likeness) })
	for _, c := range list {
		if m.open(c.statement) && !m.taken[c.at] {
			m.take(c.statement, c.at, true)
		}
	}
}

// wordsOf are the different words of a text.
func wordsOf(text string) map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		words[strings.ToLower(w)] = true
	}
	return words
}

// jaccard is the share of common words in all of two sets.
func jaccard(a, b map[string]bool) float64 {
	common := 0
	for w := range a {
		if b[w] {
			common++
		}
	}
	return float64(common) / float64(max(len(a)+len(b)-common, 1))
}
