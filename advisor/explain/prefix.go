package explain

import "strings"

// prefix is what stands before each line of a plan that went through a log, a mail or a listing.
type prefix struct {
	// log: the plan's own lines have a level ("INFO  : "), which is taken off; otherwise lines with one are other
	// messages of the log and no part of the plan.
	log bool
	// shape is what else the plan's heads have before them: numbers in it may differ from line to line, and the blanks
	// before its first number. Empty when nothing is there.
	shape string
	// once: only the heads have it, as where a log's one message holds the plan.
	once bool
}

// planHeads are the texts that a plan's first lines start with; what stands before them is their prefix.
var planHeads = [...]string{
	headOptimizedSQL, headPlans, headDependencies, headVertexDependency, "Plan optimized by CBO", "Plan not optimized by CBO",
	`{"STAGE DEPENDENCIES"`, `{"optimizedSQL"`, `{"CBOPlan"`, `{"cboInfo"`, "job0 is root job",
}

// findPrefix looks at the heads of the plan.
func findPrefix(raw []rawLine) prefix {
	var p prefix
	at := 0
	for i, r := range raw {
		if r.text == "" {
			continue
		}
		if rest, found := cutLogPrefix(r.text); found && isAnchor(strings.TrimSpace(rest)) {
			return prefix{log: true}
		}
		if isHead(strings.TrimLeft(r.text, " \t|\"'")) {
			return p // nothing stands before it
		}
		if p.shape = headPrefix(r.text); p.shape != "" {
			at = i
			break
		}
	}
	if p.shape == "" {
		return stagePrefix(raw)
	}
	with, all := countShape(raw[at:], p.shape)
	p.once = with*2 < all
	return p
}

// stagePrefix is the prefix of a user-level plan that has no head but its stage: all lines below have it.
func stagePrefix(raw []rawLine) prefix {
	const head = "Stage-0"
	for _, r := range raw {
		s := strings.Trim(r.text, " \t|\"'")
		if s == head || s == headPlans || s == headDependencies || strings.HasPrefix(s, headVertexDependency) || strings.HasPrefix(s, `{"`) {
			return prefix{}
		}
	}
	for i, r := range raw {
		before, ok := strings.CutSuffix(strings.TrimRight(r.text, " \t|"), head)
		if j := strings.LastIndexByte(before, '|'); j >= 0 {
			before = before[:j] // the table's border
		}
		if !ok || strings.TrimSpace(before) == "" || strings.ContainsAny(before, "\"'=") {
			continue
		}
		if with, all := countShape(raw[i:], before); all > 1 && with*10 >= all*9 {
			return prefix{shape: before}
		}
	}
	return prefix{}
}

// countShape counts the lines that have a prefix, and all that are not empty.
func countShape(raw []rawLine, shape string) (with, all int) {
	for _, r := range raw {
		if strings.TrimSpace(r.text) == "" {
			continue
		}
		all++
		if _, ok := cutShape(r.text, shape); ok {
			with++
		}
	}
	return with, all
}

// isHead tells lines that a plan's first ones start with.
func isHead(s string) bool {
	for _, head := range planHeads {
		if strings.HasPrefix(s, head) {
			return true
		}
	}
	return false
}

// headPrefix is what stands before a head of a plan on its line, if it is more than blanks, borders and quotes.
func headPrefix(s string) string {
	for _, head := range planHeads {
		i := strings.Index(s, head)
		if i <= 0 || head == headPlans && len(strings.TrimRight(s[i:], " |\"'")) > len(head) {
			continue
		}
		before := s[:i]
		if j := strings.LastIndexByte(before, '|'); j >= 0 {
			before = before[:j] // the table's border
		}
		if strings.Trim(before, " \t\"'") == "" || strings.ContainsAny(before, "\"'`=") {
			continue
		}
		return before
	}
	return ""
}

// cut takes the prefix off. It is false for a line that is no part of the plan.
func (p prefix) cut(s string) (string, bool) {
	if p.shape != "" {
		if rest, ok := cutShape(s, p.shape); ok {
			return rest, true
		}
		if p.once {
			if before := headPrefix(s); before != "" {
				return s[len(before):], true
			}
		}
	}
	if rest, found := cutLogPrefix(s); found {
		return rest, p.log // without: a log line between the plan's own
	}
	return s, true
}

// cutShape takes a prefix of the given shape off s. A line that is nothing but the prefix can have lost its last blanks.
func cutShape(s, shape string) (string, bool) {
	i, j := 0, 0
	if first := strings.TrimLeft(shape, " "); first != "" && isDigit(first[0]) { // right-aligned numbers
		i, j = len(shape)-len(first), len(s)-len(strings.TrimLeft(s, " "))
	}
	for i < len(shape) {
		if isDigit(shape[i]) {
			if j == len(s) || !isDigit(s[j]) {
				return s, false
			}
			for i < len(shape) && isDigit(shape[i]) {
				i++
			}
			for j < len(s) && isDigit(s[j]) {
				j++
			}
			continue
		}
		if j == len(s) && strings.Trim(shape[i:], " \t") == "" {
			return "", true
		}
		if j == len(s) || s[j] != shape[i] {
			return s, false
		}
		i++
		j++
	}
	return s[j:], true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isAnchor tells the lines a plan can start with.
func isAnchor(s string) bool {
	switch {
	case s == headDependencies, s == headPlans, s == headVectorization, strings.HasPrefix(s, headVertexDependency):
		return true
	}
	if _, _, ok := cutMaxComputeJob(s); ok {
		return true
	}
	return isStageName(s)
}

// levels are the words a log line's level is printed as.
var levels = []string{"INFO", "WARN", "DEBUG", "ERROR", "TRACE"}

// cutLogPrefix takes off Beeline's "INFO  : " or a log4j prefix ("2026-01-31T12:00:00,123 INFO [main] ql.Driver: ").
func cutLogPrefix(s string) (string, bool) {
	if s == "" || s[0] == ' ' {
		return s, false
	}
	for _, level := range levels {
		if rest, ok := strings.CutPrefix(s, level); ok {
			rest = strings.TrimLeft(rest, " ")
			if after, ok := strings.CutPrefix(rest, ": "); ok {
				return after, true
			}
			return "", rest == ":"
		}
	}
	if !startsWithDate(s) {
		return s, false
	}
	for _, level := range levels {
		i := strings.Index(s, level)
		if i < 0 || i > 40 {
			continue
		}
		rest := strings.TrimLeft(s[i+len(level):], " ")
		if strings.HasPrefix(rest, "[") { // the thread's name can hold a colon
			if end := strings.Index(rest, "] "); end >= 0 {
				rest = rest[end+1:]
			}
		}
		if _, after, ok := strings.Cut(rest, ": "); ok {
			return after, true
		}
		return "", true
	}
	return s, false
}

// startsWithDate tells "2026-01-31 …", "2026-01-31T…" and Hadoop's "26/01/31 …".
func startsWithDate(s string) bool {
	for _, shape := range [...]string{"0000-00-00", "00/00/00"} {
		if len(s) > len(shape) && hasShape(s, shape) && (s[len(shape)] == ' ' || s[len(shape)] == 'T') {
			return true
		}
	}
	return false
}

func hasShape(s, shape string) bool {
	for i := range len(shape) {
		if shape[i] == '0' && !isDigit(s[i]) || shape[i] != '0' && s[i] != shape[i] {
			return false
		}
	}
	return true
}
