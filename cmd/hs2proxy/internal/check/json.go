package check

import (
	"bytes"
	"encoding/json"
)

// indented is a value as JSON for people, without escapes for HTML.
func indented(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return out.Bytes(), err
}
