package explain

import "strings"

// Lines that open a section of a plan.
const (
	headOptimizedSQL     = "OPTIMIZED SQL:"
	headCBOPlan          = "CBO PLAN:"
	headAST              = "ABSTRACT SYNTAX TREE:"
	headDependencies     = "STAGE DEPENDENCIES:"
	headPlans            = "STAGE PLANS:"
	headVectorization    = "PLAN VECTORIZATION:"
	headVertexDependency = "Vertex dependency in "
	headLocks            = "LOCK INFORMATION:"
	headInputs           = "INPUTS:"
	headRewritten        = "Rewritten Query:"
)

// Parse reads the output of EXPLAIN in any of its forms, as Hive returns it or as people paste it. The error, if any,
// is a *SyntaxError.
func Parse(text string) (*Plan, error) {
	lines := cleanLines(text)
	if len(lines) == 0 {
		return nil, syntaxErrorf(1, "no plan: the text is empty")
	}
	form, at := detect(lines)
	if err := onlyOne(lines, at); err != nil {
		return nil, err
	}
	switch form {
	case FormFormatted:
		return parseFormatted(lines[at:])
	case FormPlain, FormExtended:
		return parseStages(form, lines, at)
	case FormUser:
		return parseUser(lines, at)
	case FormCBO, FormAST, FormDependency, FormAuthorization, FormLocks, FormRewrite, FormVectorization:
		return &Plan{Form: form, Engine: EngineNone}, nil
	}
	if at, ok := maxComputeStart(lines); ok {
		return nil, syntaxErrorf(lines[at].no, "a plan of MaxCompute, none of Hive's: it has no join strategies to read")
	}
	return nil, syntaxErrorf(lines[0].no, "no plan: none of Hive's EXPLAIN forms starts here or below")
}

// onlyOne finds a second plan below what a client prints after the first: that it was not read must not go unnoticed.
func onlyOne(lines []line, at int) error {
	for i := planEnd(lines, at); i < len(lines); i++ {
		if l := lines[i]; l.text == headPlans || strings.HasPrefix(l.text, headVertexDependency) {
			return syntaxErrorf(l.no, "a second plan starts here: one can be read at a time")
		}
	}
	return nil
}

// detect tells the form of a text and the index of the first line of its plan. The form is empty when there is none.
func detect(lines []line) (Form, int) {
	other, otherAt := Form(""), 0
	for i, l := range lines {
		switch {
		case l.text == headDependencies, l.text == headPlans:
			return textForm(lines[i:], other), i
		case isUserHead(l):
			return FormUser, i
		case strings.HasPrefix(l.text, `{"`) && other == "":
			switch {
			case strings.HasPrefix(l.text, `{"input_`):
				other, otherAt = FormDependency, i
			case strings.HasPrefix(l.text, `{"INPUTS"`) && !strings.Contains(l.text, `"STAGE PLANS"`):
				other, otherAt = FormAuthorization, i
			default:
				return FormFormatted, i
			}
		case other != "":
		case l.text == headCBOPlan:
			other, otherAt = FormCBO, i
		case l.text == headAST:
			other, otherAt = FormAST, i
		case l.text == headLocks:
			other, otherAt = FormLocks, i
		case l.text == headInputs:
			other, otherAt = FormAuthorization, i
		case l.text == headRewritten:
			other, otherAt = FormRewrite, i
		case l.text == headVectorization:
			other, otherAt = FormVectorization, i
		case strings.HasPrefix(l.text, headOptimizedSQL):
			other = FormExtended // EXPLAIN EXTENDED of Hive 4; its plan follows
		}
	}
	if other == FormExtended {
		return "", 0
	}
	return other, otherAt
}

// isUserHead tells the lines a user-level plan starts with.
func isUserHead(l line) bool {
	return l.indent == 0 && (strings.HasPrefix(l.text, headVertexDependency) || isStageName(l.text))
}

func isStageName(s string) bool {
	number, ok := strings.CutPrefix(s, "Stage-")
	return ok && isPosition(number)
}

// textForm tells EXTENDED from plain text by the attributes only EXTENDED prints.
func textForm(lines []line, seen Form) Form {
	if seen == FormExtended {
		return FormExtended
	}
	for _, l := range lines {
		for _, mark := range [...]string{"GatherStats:", "isSamplingPred:", "Path -> ", "tag:", "Position of Big Table:", "GlobalTableId:"} {
			if strings.HasPrefix(l.text, mark) {
				return FormExtended
			}
		}
	}
	return FormPlain
}
