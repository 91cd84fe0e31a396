package sample

import (
	"regexp"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

var (
	vertexLine = regexp.MustCompile(`(?m)^ *((?:Map|Reducer) \d+) *$`)
	joinLine   = regexp.MustCompile(`(?m)^( *)(Map Join|Merge Join) Operator *$`)
)

func classify(plan string) []advisor.Strategy {
	var found []advisor.Strategy
	for _, m := range joinLine.FindAllStringSubmatchIndex(plan, -1) {
		indent, kind := plan[m[2]:m[3]], plan[m[4]:m[5]]
		vertices := vertexLine.FindAllStringSubmatch(plan[:m[0]], -1)
		vertex := vertices[len(vertices)-1][1]
		body := operatorBody(plan[m[1]:], len(indent))
		switch {
		case kind == "Merge Join" && (strings.HasPrefix(vertex, "Map") || merged(plan, m[0])):
			found = append(found, advisor.SMB)
		case kind == "Merge Join":
			found = append(found, advisor.MergeJoin)
		case strings.Contains(body, "DynamicPartitionHashJoin: true"):
			found = append(found, advisor.DPHJ)
		case strings.Contains(body, "BucketMapJoin: true"):
			found = append(found, advisor.BucketMapJoin)
		default:
			found = append(found, advisor.MapJoin)
		}
	}
	return found
}

// merged: a Dummy Store in the vertex of a join keeps one side of a sort-merge-bucket join; in a reducer nothing else shows it.
func merged(plan string, at int) bool {
	begin, end := 0, len(plan)
	for _, v := range vertexLine.FindAllStringIndex(plan, -1) {
		if v[0] <= at {
			begin = v[0]
		} else {
			end = min(end, v[0])
		}
	}
	return strings.Contains(plan[begin:end], "Dummy Store")
}

// operatorBody is the text of an operator without the operators below it.
func operatorBody(rest string, indent int) string {
	var body strings.Builder
	for line := range strings.Lines(rest) {
		trimmed := strings.TrimLeft(line, " ")
		if strings.TrimSpace(line) != "" && (len(line)-len(trimmed) <= indent || strings.HasSuffix(strings.TrimSpace(line), " Operator")) {
			break
		}
		body.WriteString(line)
	}
	return body.String()
}
