package explain

import "strings"

// maxComputeOperators are the names of operators that documentation and plans print; others are told by their number
// ("StreamLineRead1").
var maxComputeOperators = map[string]bool{
	"TS": true, "FIL": true, "SEL": true, "RS": true, "FS": true, "LIM": true, "JOIN": true, "MAPJOIN": true,
	"HASHJOIN": true, "MERGEJOIN": true, "AGGREGATE": true, "GBY": true, "UNION": true, "UNIONALL": true, "SORT": true,
	"WINDOW": true, "VALUES": true, "LATERALVIEW": true, "DFP": true, "DFC": true,
	"TableScan": true, "MergeJoin": true, "HashJoin": true, "TableSink": true, "DynamicFilterConsumer": true,
	"DynamicFilterProducer": true, "DppDynamicProducer": true, "DppProducer": true,
}

// splitMaxComputeOperator takes "FIL: ISNOTNULL(a)" or "DynamicFilterConsumer1 (a)" apart. Attributes start with a
// small letter or have no number ("keys:", "UDAF:").
func splitMaxComputeOperator(text string) (name, rest string, ok bool) {
	end := 0
	for end < len(text) && isWordByte(text[end]) {
		end++
	}
	name, rest = text[:end], text[end:]
	switch {
	case rest == "", rest[0] == ':', rest[0] == '(', rest[0] == '[', strings.HasPrefix(rest, " ("), strings.HasPrefix(rest, " ["), strings.HasPrefix(rest, " {"), strings.HasPrefix(rest, " :"):
	default:
		return name, rest, false // "StreamLineRead1 INNERJOIN StreamLineRead2"
	}
	rest = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(rest), ":"))
	kind := trimNumber(name)
	if maxComputeOperators[kind] || maxComputeRoles[strings.ToLower(kind)] != "" {
		return name, rest, true
	}
	numbered := len(kind) < len(name) && len(kind) > 2 && !strings.Contains(name, "_")
	return name, rest, numbered && name[0] >= 'A' && name[0] <= 'Z'
}

// trimNumber takes the number off "DynamicFilterConsumer1".
func trimNumber(name string) string {
	return strings.TrimRight(name, "0123456789")
}

// cutMaxComputeJob reads "job0 is root job", "job1 depends on: job0" and "In Job job0:".
func cutMaxComputeJob(text string) (name, rest string, ok bool) {
	if in, found := cutFold(text, "in job "); found {
		name, _, ok = strings.Cut(in, ":")
		return strings.TrimSpace(name), "", ok && isMaxComputeJob(strings.TrimSpace(name))
	}
	name, rest, _ = strings.Cut(text, " ")
	if !isMaxComputeJob(name) {
		return "", "", false
	}
	if rest == "is root job" {
		return name, rest, true
	}
	rest, ok = strings.CutPrefix(rest, "depends on: ")
	return name, rest, ok
}

func isMaxComputeJob(name string) bool {
	number, ok := strings.CutPrefix(name, "job")
	return ok && isPosition(number)
}

// cutInTask reads "In Task M1_Stg1:".
func cutInTask(text string) (string, bool) {
	rest, ok := cutFold(text, "in task ")
	if !ok {
		return "", false
	}
	name, _, ok := strings.Cut(rest, ":")
	name = strings.TrimSpace(name)
	return name, ok && name != "" && !strings.Contains(name, " ")
}

// cutFold is strings.CutPrefix that takes no note of case; prefix is in lower case.
func cutFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// isMaxComputeTask tells names such as M1, R2_1, J3_1_2_Stg1, M1_U0: a letter and a number, then parts after underscores.
func isMaxComputeTask(name string) bool {
	head, _, _ := strings.Cut(name, "_")
	return len(head) > 1 && maxComputeTaskKind(head) != MaxComputeOther && !strings.ContainsAny(name, " :,.")
}

func maxComputeTaskKind(name string) MaxComputeTaskKind {
	if len(name) < 2 || name[1] < '0' || name[1] > '9' {
		return MaxComputeOther
	}
	switch name[0] {
	case 'M':
		return MaxComputeMap
	case 'R':
		return MaxComputeReduce
	case 'J':
		return MaxComputeJoin
	}
	return MaxComputeOther
}

// nameList splits "M1, M2".
func nameList(list string) []string {
	var names []string
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part != "" {
			names = append(names, part)
		}
	}
	return names
}
