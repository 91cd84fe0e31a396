package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// whatIf is what a replay found, as --format json prints it. Bytes are those of advisor.BytesMoved.
type whatIf struct {
	// Joins were replayed, Changed of them get another strategy. Unlike: decided now otherwise than when they were recorded.
	// Unsized: what they move is not known before or after; they are in no sum.
	Joins   int64 `json:"joins"`
	Changed int64 `json:"changed"`
	Unlike  int64 `json:"unlike_recorded,omitempty"`
	Unsized int64 `json:"unsized,omitempty"`
	// Moved is by all joins, once each; MovedByChanged by those that change; Moved7d by all, times their runs in seven days.
	Moved          moved  `json:"moved"`
	MovedByChanged moved  `json:"moved_by_changed"`
	Moved7d        *moved `json:"moved_7d,omitempty"`
	// Unread are tables to change that no join reads.
	Unread []string `json:"unread_tables,omitempty"`
	// Changes are the heaviest, Sweeps one for each --sweep.
	Changes []joinChange  `json:"changes"`
	Sweeps  []sweepResult `json:"sweeps,omitempty"`

	change, runs bool
}

type moved struct {
	Before int64 `json:"before"`
	After  int64 `json:"after"`
}

func (m *moved) add(e *advisor.Effect, times int64) {
	m.Before = addUp(m.Before, e.MovedBefore, times)
	m.After = addUp(m.After, e.MovedAfter, times)
}

// addUp ends at the greatest number.
func addUp(sum, n, times int64) int64 {
	if f := float64(sum) + float64(n)*float64(times); f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return sum + n*times
}

// joinName says which join.
type joinName struct {
	Upstream    string           `json:"upstream,omitempty"`
	Database    string           `json:"database,omitempty"`
	Fingerprint string           `json:"fingerprint,omitempty"`
	Join        int              `json:"join"`
	Vertex      string           `json:"vertex,omitempty"`
	Tables      []string         `json:"tables"`
	Planned     advisor.Strategy `json:"planned"`
	Runs        int64            `json:"runs_7d,omitempty"`
}

func (n *joinName) compare(o *joinName) int {
	return cmp.Or(strings.Compare(n.Upstream, o.Upstream), strings.Compare(n.Database, o.Database), strings.Compare(n.Fingerprint, o.Fingerprint),
		cmp.Compare(n.Join, o.Join))
}

func (n *joinName) text() string {
	var b strings.Builder
	if n.Fingerprint != "" {
		fmt.Fprintf(&b, "query %s ", n.Fingerprint)
	}
	fmt.Fprintf(&b, "join %d of %s", n.Join, strings.Join(n.Tables, ", "))
	if n.Upstream != "" {
		fmt.Fprintf(&b, " on %s", n.Upstream)
	}
	switch n.Runs {
	case 0:
	case 1:
		b.WriteString(", 1 run in 7 days")
	default:
		fmt.Fprintf(&b, ", %d runs in 7 days", n.Runs)
	}
	return b.String()
}

type joinChange struct {
	joinName
	Before       advisor.Strategy `json:"before"`
	After        advisor.Strategy `json:"after"`
	ReasonBefore string           `json:"reason_before"`
	ReasonAfter  string           `json:"reason_after"`
	// MovedBefore and MovedAfter are bytes of one run; null when a size is not known.
	MovedBefore *int64 `json:"moved_before"`
	MovedAfter  *int64 `json:"moved_after"`
}

// sweepResult is one sweep: Broken joins change within the range.
type sweepResult struct {
	Name   string       `json:"name"`
	From   int64        `json:"from"`
	To     int64        `json:"to"`
	Broken int64        `json:"broken"`
	Joins  []joinBreaks `json:"joins"`

	bytes bool
}

type joinBreaks struct {
	joinName
	Pieces []sweepPiece `json:"pieces"`
}

// sweepPiece is a part of the range with one strategy; Reason is that at its low end.
type sweepPiece struct {
	advisor.Piece
	Reason string `json:"reason"`
}

func printWhatIf(w io.Writer, r *whatIf, format string) error {
	if format == "json" {
		return encode(w, r)
	}
	var b strings.Builder
	if r.change {
		r.printChanges(&b)
	}
	for i := range r.Sweeps {
		r.Sweeps[i].printTo(&b, r.Joins)
	}
	for _, name := range r.Unread {
		fmt.Fprintf(&b, "no join reads %s\n", name)
	}
	if r.Unlike > 0 {
		fmt.Fprintf(&b, "%d of %d joins are decided otherwise now than when they were recorded, before any change: what they were recorded with is not all known\n", r.Unlike, r.Joins)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *whatIf) printChanges(b *strings.Builder) {
	fmt.Fprintf(b, "%d of %d joins change\n", r.Changed, r.Joins)
	for i := range r.Changes {
		c := &r.Changes[i]
		fmt.Fprintf(b, "%s → %s: %s\n", c.Before, c.After, c.text())
		if c.Planned != c.Before {
			fmt.Fprintf(b, "  planned: %s, which the replay does not reproduce\n", c.Planned)
		}
		fmt.Fprintf(b, "  before: %s\n  after:  %s\n  moves:  %s → %s\n", c.ReasonBefore, c.ReasonAfter, bytesOf(c.MovedBefore), bytesOf(c.MovedAfter))
	}
	if more := r.Changed - int64(len(r.Changes)); more > 0 {
		fmt.Fprintf(b, "and %d more (--limit)\n", more)
	}
	fmt.Fprintf(b, "moved by the joins that change: %s\n", r.MovedByChanged.text())
	fmt.Fprintf(b, "moved by all joins, once each: %s\n", r.Moved.text())
	if r.Moved7d != nil {
		fmt.Fprintf(b, "moved by all joins, times their runs in 7 days: %s\n", r.Moved7d.text())
	}
	if r.Unsized > 0 {
		fmt.Fprintf(b, "not in these sums: %d joins of which a size is not known\n", r.Unsized)
	}
}

func (m *moved) text() string {
	sign := "+"
	if m.After < m.Before {
		sign = "−"
	}
	diff := m.After - m.Before
	return fmt.Sprintf("%s → %s (%s%s)", decimal(m.Before), decimal(m.After), sign, decimal(max(diff, -diff)))
}

func (s *sweepResult) printTo(b *strings.Builder, joins int64) {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	if s.bytes {
		number = func(n int64) string {
			if n < 1000 {
				return decimal(n)
			}
			return fmt.Sprintf("%d B (%s)", n, decimal(n))
		}
	}
	fmt.Fprintf(b, "%s from %s to %s: %d of %d joins change\n", s.Name, number(s.From), number(s.To), s.Broken, joins)
	for i := range s.Joins {
		j := &s.Joins[i]
		fmt.Fprintf(b, "%s\n", j.text())
		for _, p := range j.Pieces {
			fmt.Fprintf(b, "  from %s: %s\n    %s\n", number(p.From), p.Strategy, p.Reason)
		}
	}
	if shown := int64(len(s.Joins)); shown < s.Broken {
		fmt.Fprintf(b, "and %d more (--limit)\n", s.Broken-shown)
	}
}

func bytesOf(n *int64) string {
	if n == nil {
		return "unknown"
	}
	return decimal(*n)
}

// decimal is a number of bytes in decimal units, as Hive's settings and the reasons have them.
func decimal(n int64) string {
	units := [...]string{"B", "KB", "MB", "GB", "TB", "PB", "EB"}
	value, unit := float64(n), 0
	for value >= 999.95 && unit < len(units)-1 {
		value /= 1000
		unit++
	}
	return strings.TrimSuffix(strconv.FormatFloat(value, 'f', 1, 64), ".0") + " " + units[unit]
}
