package store

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// Redaction is a pattern (Go's regular expressions, RE2) and what stands in place of its matches; With may name groups, as $1 or
// ${name}.
type Redaction struct {
	Pattern string `koanf:"pattern"`
	With    string `koanf:"with"`
}

// Redactor replaces what an operator wants seen nowhere. Its work is linear in the text, whatever the patterns (RE2). The nil
// Redactor changes nothing. It is safe for use by several goroutines.
type Redactor struct {
	rules []compiled
}

type compiled struct {
	pattern *regexp.Regexp
	with    string
}

// NewRedactor compiles rules, which apply in their order. An error, a line for each fault, names the field below
// "redact".
func NewRedactor(rules []Redaction) (*Redactor, error) {
	r := &Redactor{}
	var errs []error
	for i, rule := range rules {
		re, err := regexp.Compile(rule.Pattern)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("redact[%d].pattern: %w", i, err))
			continue
		case re.MatchString(""):
			errs = append(errs, fmt.Errorf("redact[%d].pattern: %q matches nothing at all too, want a pattern that needs at least one character", i, rule.Pattern))
		}
		if name, ok := unknownGroup(re, rule.With); !ok {
			errs = append(errs, fmt.Errorf("redact[%d].with: %q names the group %q, which the pattern lacks; write ${1} before a letter or digit, $$ for a dollar", i, rule.With, name))
		}
		r.rules = append(r.rules, compiled{re, rule.With})
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if len(r.rules) == 0 {
		return nil, nil
	}
	return r, nil
}

// reference is what Regexp.Expand takes for a group, or for a dollar.
var reference = regexp.MustCompile(`\$(?:\$|(\w+)|\{(\w+)\})`)

// unknownGroup finds a reference that Expand would quietly replace by nothing.
func unknownGroup(re *regexp.Regexp, with string) (name string, ok bool) {
	for _, m := range reference.FindAllStringSubmatch(with, -1) {
		name := m[1] + m[2]
		n, err := strconv.Atoi(name)
		known := err == nil && n <= re.NumSubexp() || slices.Contains(re.SubexpNames(), name)
		if !known {
			return name, false
		}
	}
	return "", true
}

// Text is s without what the rules take out.
func (r *Redactor) Text(s string) string {
	if r == nil || s == "" {
		return s
	}
	for _, rule := range r.rules {
		s = rule.pattern.ReplaceAllString(s, rule.with)
	}
	return s
}
