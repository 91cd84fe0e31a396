package movement

import (
	"math"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// wayWords is how a sentence calls a way.
var wayWords = map[Way]string{
	Broadcast:    "broadcast",
	Redistribute: "redistribution",
	SingleSided:  "single-sided move",
	CoLocated:    "nothing to move",
}

// Describe writes a cost as one line for a person; empty where the sizes are not known.
func Describe(c Cost) string {
	if !c.Known() {
		return ""
	}
	var b strings.Builder
	if c.Nodes > 0 {
		b.WriteString("on " + advisor.CountOf(c.Nodes, "node") + ": ")
	}
	parts := make([]string, 0, len(c.Options))
	for i := range c.Options {
		if text := c.option(&c.Options[i]); text != "" {
			parts = append(parts, text)
		}
	}
	b.WriteString(strings.Join(parts, ", "))
	if c.Planned != "" {
		b.WriteString("; planned: " + wayWords[c.Planned])
		switch {
		case c.Ratio == 1:
			b.WriteString(", the cheapest")
		case c.Ratio > 1 && c.Option(c.Cheapest).Bytes > 0:
			b.WriteString(", " + ratio(c.Ratio) + " times the " + wayWords[c.Cheapest])
		}
	}
	if n := c.BreakEvenNodes(); n > 0 && n == copies(n, c.Readers) && c.Option(Broadcast).Why == "" {
		b.WriteString("; a broadcast moves more from " + advisor.CountOf(n, "node") + " on")
	}
	return b.String()
}

// option is a way with its bytes; empty for one that is not there to be chosen.
func (c *Cost) option(o *Option) string {
	text := wayWords[o.Way]
	switch {
	case o.Way == CoLocated && o.Allowed:
		return text
	case (o.Way == SingleSided || o.Way == CoLocated) && !o.Allowed:
		return ""
	case o.Way == Broadcast && o.Bytes < 0:
		text += " " + advisor.Bytes(c.Small) + " to each node"
	default:
		text += " " + advisor.Bytes(o.Bytes)
	}
	if o.Memory > 0 {
		text += " (" + advisor.Bytes(o.Memory) + " hashed on each)"
	}
	if !o.Allowed {
		text += " (not allowed: " + o.Why + ")"
	}
	return text
}

// BreakEvenNodes is the smallest whole number of nodes on which a broadcast moves more than a redistribution; 0 where there is none
// below a million.
func (c *Cost) BreakEvenNodes() int64 {
	if c.BreakEven <= 0 || c.BreakEven >= 1e6 {
		return 0
	}
	return int64(math.Floor(c.BreakEven)) + 1
}
