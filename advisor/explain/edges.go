package explain

import (
	"strings"
)

// parseEdges reads "Map 1 <- Map 4 (BROADCAST_EDGE), Reducer 5 (SIMPLE_EDGE)".
func parseEdges(text string) ([]Edge, bool) {
	to, list, ok := strings.Cut(text, " <- ")
	if !ok {
		return nil, false
	}
	var edges []Edge
	for list != "" {
		from, rest, ok := strings.Cut(list, " (")
		if !ok || strings.Contains(from, ",") {
			return nil, false
		}
		kind, after, ok := strings.Cut(rest, ")")
		if !ok {
			return nil, false
		}
		e := Edge{From: strings.TrimSpace(from), To: strings.TrimSpace(to), Type: EdgeType(kind)}
		if e.Type == EdgeContains {
			e.From, e.To = e.To, e.From
		}
		edges = append(edges, e)
		list = strings.TrimPrefix(strings.TrimSpace(after), ",")
	}
	return edges, len(edges) > 0
}
