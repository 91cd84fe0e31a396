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
	n.show(s)
	_, _ = n.hash.WriteString(s)
}

// raw writes s as it is.
func (n *normalizer) raw(s string) {
	s = valid(s)
	n.show(s)
	_, _ = n.hash.WriteString(s)
}

// space writes pending semicolons and the space between what was written last and a piece of class c, then makes c the last.
func (n *normalizer) space(c class) {
	for ; n.semicolons > 0; n.semicolons-- {
		n.show(";")
		_ = n.hash.WriteByte(';')
		n.last = clsOp
	}
	none := false
	switch {
	case n.last == clsStart, n.last == clsOpen, n.last == clsDot,
		c == clsClose, c == clsComma, c == clsDot:
		none = true
	case c == clsOpen:
		none = n.last == clsName || n.last == clsClose || n.last == clsWord && isIn(callable, n.lastWord)
	}
	if !none {
		n.show(" ")
		_ = n.hash.WriteByte(' ')
	}
	n.last, n.lastWord = c, ""
}

// show appends s to the text while there is room.
func (n *normalizer) show(s string) {
	switch {
	case n.full:
	case n.out.Len()+len(s) > MaxNormalized-len("…"):
		n.full = true
		n.out.WriteString("…")
	default:
		n.out.WriteString(s)
	}
}

// valid is s as Postgres can hold it: valid UTF-8 without NUL.
func valid(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
