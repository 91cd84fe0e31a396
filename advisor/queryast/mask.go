package queryast

import "strings"

// WithoutLiterals is a text with ? for each string and number and without comments, for what is kept of it: who reads it
// learns what was asked, not of whom. Hints stay. Text that HiveLexer refuses gives what stands before.
func WithoutLiterals(text string) string {
	var b strings.Builder
	end, before := 0, tokEOF
	for _, t := range tokens(text) {
		gap := text[end:t.start]
		if strings.TrimSpace(gap) != "" { // a comment
			gap = " "
		}
		b.WriteString(gap)
		switch t.kind {
		case tokString, tokNumber:
			if before != tokString || t.kind != tokString || gap != "" { // 'it''s' is one
				b.WriteByte('?')
			}
		case tokBad:
			return strings.TrimSpace(b.String())
		default:
			b.WriteString(text[t.start:t.end])
		}
		end, before = t.end, t.kind
	}
	return strings.TrimSpace(b.String())
}
