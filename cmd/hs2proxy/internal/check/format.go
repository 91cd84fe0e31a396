package check

import (
	"fmt"
	"io"
)

// Format is a form of the report.
type Format string

// Formats.
const (
	FormatText     Format = "text"
	FormatMarkdown Format = "markdown"
	FormatJUnit    Format = "junit"
	FormatSARIF    Format = "sarif"
	FormatJSON     Format = "json"
)

// Write writes the report in a format; version is that of the program, which SARIF names.
func (r *Report) Write(w io.Writer, f Format, version string) error {
	var text []byte
	var err error
	switch f {
	case FormatText:
		text = r.text()
	case FormatMarkdown:
		text = r.markdown()
	case FormatJUnit:
		text, err = r.junit()
	case FormatSARIF:
		text, err = r.sarif(version)
	case FormatJSON:
		text, err = indented(r)
	default:
		err = fmt.Errorf("there is no format %q", f)
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	_, err = w.Write(text)
	return err
}
