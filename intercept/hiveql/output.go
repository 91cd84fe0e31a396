package hiveql

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strings"
)

// MaxNormalized bounds Info.Normalized, in bytes; a longer text ends in "…". The fingerprint covers all of it.
const MaxNormalized = 256 << 10

// output is the normalized text as it grows, and its hash.
//
// The hash is SHA-256, cut to 64 bits: clients choose the texts, and with FNV they could compute a second text with the
// fingerprint of somebody else's query, whose plan and findings it would then replace.
type output struct {
	sum    hash.Hash
	shown  []byte
	summed int // bytes of shown that are in the sum, or are not to be
	full   bool
	hidden []byte // what is behind a full text and not yet in the sum
	room   [sha256.Size]byte
}

// maxHidden is how much of a full text is summed at once, in bytes.
const maxHidden = 4096

// add appends s.
func (o *output) add(s string) {
	if o.fits(s) {
		o.shown = append(o.shown, s...)
		return
	}
	o.hide(s)
}

// addLower appends s with A–Z lowered.
func (o *output) addLower(s string) {
	if !o.fits(s) {
		o.hide(lowerASCII(s))
		return
	}
	for i := range len(s) {
		o.shown = append(o.shown, lowered(s[i]))
	}
}

// addCaseless appends s as it is; to the hash its case is none.
func (o *output) addCaseless(s string) {
	if o.fits(s) {
		o.sumShown()
		o.shown = append(o.shown, s...)
		o.summed = len(o.shown)
	}
	o.hide(strings.ToLower(s))
	o.sumHidden()
}

// fits reports whether there is room for s. Where there is not, the text ends.
func (o *output) fits(s string) bool {
	if !o.full && len(o.shown)+len(s) > MaxNormalized-len("…") {
		o.sumShown()
		o.shown = append(o.shown, "…"...)
		o.full = true
	}
	return !o.full
}

// hide adds s to the hash alone.
func (o *output) hide(s string) {
	if len(o.hidden)+len(s) > maxHidden {
		o.sumHidden()
	}
	o.hidden = append(o.hidden, s...)
}

func (o *output) sumShown() {
	_, _ = o.sum.Write(o.shown[o.summed:]) // a hash takes every write
	o.summed = len(o.shown)
}

func (o *output) sumHidden() {
	_, _ = o.sum.Write(o.hidden)
	o.hidden = o.hidden[:0]
}

// result returns the text and the hash in hexadecimal, and makes room for another.
func (o *output) result() (shown, fingerprint string) {
	if !o.full {
		o.sumShown()
	}
	o.sumHidden()
	fingerprint = hex.EncodeToString(o.sum.Sum(o.room[:0])[:8])
	shown = string(o.shown)
	o.sum.Reset()
	*o = output{sum: o.sum, shown: o.shown[:0], hidden: o.hidden[:0]}
	if cap(o.shown) > keptText {
		o.shown = nil
	}
	if cap(o.hidden) > keptText {
		o.hidden = nil
	}
	return shown, fingerprint
}
