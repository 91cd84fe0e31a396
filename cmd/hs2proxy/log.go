package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/store"
)

// newLogger logs to standard error.
func newLogger(c config.Log) zerolog.Logger { return redactedLogger(c, nil) }

// redactedLogger is newLogger without what the redactor takes out. The level is the process's, so that a reload can change it.
func redactedLogger(c config.Log, redact *store.Redactor) zerolog.Logger {
	setLevel(c)
	zerolog.DurationFieldUnit = time.Second
	zerolog.TimeFieldFormat = time.RFC3339Nano
	var out io.Writer = os.Stderr
	if c.Format == "console" {
		out = zerolog.ConsoleWriter{Out: os.Stderr, TimeFormat: time.TimeOnly, NoColor: !terminal(os.Stderr)}
	}
	return zerolog.New(redactingWriter{out, redact}).With().Timestamp().Logger()
}

func setLevel(c config.Log) {
	level, err := zerolog.ParseLevel(c.Level)
	if err != nil { // Validate has refused it before
		level = zerolog.InfoLevel
	}
	zerolog.SetGlobalLevel(level)
}

// redactingWriter takes log lines, JSON objects, and replaces in their texts what nobody is to read.
type redactingWriter struct {
	to     io.Writer
	redact *store.Redactor
}

// Write implements io.Writer.
func (w redactingWriter) Write(p []byte) (int, error) {
	line := p
	if w.redact.Active() {
		line = redactLine(p, w.redact)
	}
	if _, err := w.to.Write(line); err != nil {
		return 0, err
	}
	return len(p), nil
}

// ownWords are the fields whose values are the proxy's own words.
var ownWords = map[string]bool{zerolog.LevelFieldName: true, zerolog.TimestampFieldName: true, zerolog.MessageFieldName: true}

// redactLine replaces texts in a JSON object and leaves its keys, its numbers and its own words. Bytes between them stay.
func redactLine(line []byte, redact *store.Redactor) []byte {
	out := make([]byte, 0, len(line))
	depth, key := 0, ""
	for i := 0; i < len(line); {
		c := line[i]
		if c != '"' {
			switch c {
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			out = append(out, c)
			i++
			continue
		}
		end := stringEnd(line, i)
		token := line[i:end]
		i = end
		if rest := bytes.TrimLeft(line[end:], " \t"); len(rest) > 0 && rest[0] == ':' {
			if depth == 1 {
				key = string(bytes.Trim(token, `"`))
			}
		} else if depth > 1 || !ownWords[key] {
			token = redactString(token, redact)
		}
		out = append(out, token...)
	}
	return out
}

// stringEnd is behind the closing quote of the string that starts at i, or the end of the line.
func stringEnd(line []byte, i int) int {
	for i++; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(line)
}

func redactString(token []byte, redact *store.Redactor) []byte {
	var text string
	if err := json.Unmarshal(token, &text); err != nil { // no string after all
		return token
	}
	changed := redact.Text(text)
	if changed == text {
		return token
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(changed); err != nil { // a string always has a form
		return []byte(`"***"`)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
