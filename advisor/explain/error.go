package explain

import "fmt"

// SyntaxError says where a text stops being a plan.
type SyntaxError struct {
	// Line is the 1-based line of the text as given.
	Line int
	Msg  string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d: %s", e.Line, e.Msg)
}

func syntaxErrorf(line int, format string, args ...any) error {
	return &SyntaxError{Line: line, Msg: fmt.Sprintf(format, args...)}
}
