package hiveql

import "strings"

// class is what the space between two pieces depends on.
type class uint8

const (
	clsStart class = iota
	clsName        // identifier, function
	clsWord        // reserved word
	clsLit         // ?
	clsStr         // ? of a string: another string right behind it belongs to it
	clsOpen        // ( [
	clsClose       // ) ]
	clsDot         // .
	clsComma       // ,
	clsOp          // everything else
)

func operatorClass(s string) class {
	switch s {
	case "(", "[":
		return clsOpen
	case ")", "]":
		return clsClose
	case ".":
		return clsDot
	case ",":
		return clsComma
	case "?":
		return clsLit
	}
	return clsOp
}

// piece writes s behind the space it needs.
func (n *normalizer) piece(c class, s string) {
	n.space(c)
	n.add(s)
}

// raw writes s as it is.
func (n *normalizer) raw(s string) {
	n.add(valid(s))
}

// space writes pending semicolons and the space between what was written last and a piece of class c, then makes c the last.
func (n *normalizer) space(c class) {
	for ; n.semicolons > 0; n.semicolons-- {
		n.add(";")
		n.last = clsOp
	}
	none := false
	switch {
	case n.last == clsStart, n.last == clsOpen, n.last == clsDot,
		c == clsClose, c == clsComma, c == clsDot:
		none = true
	case c == clsOpen:
		none = n.last == clsName || n.last == clsClose || n.last == clsWord && n.lastWord.has(isCallable)
	}
	if !none {
		n.add(" ")
	}
	n.last, n.lastWord = c, noKeyword
}

// valid is s as Postgres can hold it: valid UTF-8 without NUL.
func valid(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
