package store

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"sync/atomic"
)

// Redaction is a pattern (Go's regular expressions, RE2) and what stands in place of its matches; With may name groups, as $1 or
// ${name}.
type Redaction struct {
	Pattern string `koanf:"pattern"`
	With    string `koanf:"with"`
}

// maxRedactions bounds the rules: each reads every text once.
const maxRedactions = 100

// Redactor replaces what an operator wants seen nowhere. Its work is linear in the text, whatever the patterns (RE2). The nil
// Redactor changes nothing. It is safe for use by several goroutines.
type Redactor struct {
	rules atomic.Pointer[[]compiled]
}

type compiled struct {
	pattern *regexp.Regexp
	with    string
}

// NewRedactor compiles rules, which apply in their order. An error, a line for each fault, names the field below
// "redact".
func NewRedactor(rules []Redaction) (*Redactor, error) {
	r := &Redactor{}
	return r, r.Set(rules)
}

// Set puts other rules in place, as NewRedactor takes them. With an error nothing changes.
func (r *Redactor) Set(rules []Redaction) error {
	var errs []error
	if len(rules) > maxRedactions {
		errs = append(errs, fmt.Errorf("redact: %d patterns, want at most %d", len(rules), maxRedactions))
	}
	out := make([]compiled, 0, len(rules))
	for i, rule := range rules {
		re, err := regexp.Compile(rule.Pattern)
		if err != nil {
			errs = append(errs, fmt.Errorf("redact[%d].pattern: %w", i, err))
			continue
		}
		if re.MatchString("") {
			errs = append(errs, fmt.Errorf("redact[%d].pattern: %q matches the empty text, want a pattern of at least one character", i, rule.Pattern))
		}
		if name, ok := unknownGroup(re, rule.With); !ok {
			errs = append(errs, fmt.Errorf("redact[%d].with: %q names the group %q, which the pattern lacks; write ${1} before a letter or digit, $$ for a dollar", i, rule.With, name))
		}
		out = append(out, compiled{re, rule.With})
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	r.rules.Store(&out)
	return nil
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

// Active reports whether there are rules.
func (r *Redactor) Active() bool { return len(r.list()) > 0 }

// Text is s without what the rules take out.
func (r *Redactor) Text(s string) string {
	if s == "" {
		return s
	}
	for _, rule := range r.list() {
		s = rule.pattern.ReplaceAllString(s, rule.with)
	}
	return s
}

func (r *Redactor) list() []compiled {
	if r == nil {
		return nil
	}
	if p := r.rules.Load(); p != nil {
		return *p
	}
	return nil
}

// values replaces the values of a map in place and returns it.
func (r *Redactor) values(m map[string]string) map[string]string {
	if r.Active() {
		for k, v := range m {
			m[k] = r.Text(v)
		}
	}
	return m
}

// all is a list without what the rules take out, itself where there are none.
func (r *Redactor) all(list []string) []string {
	if !r.Active() {
		return list
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = r.Text(s)
	}
	return out
}

// evidence is a copy of a finding's numbers whose texts, at any depth, went through the rules.
func (r *Redactor) evidence(m map[string]any) map[string]any {
	out := evidence(m)
	if r.Active() {
		for k, v := range out {
			out[k] = r.value(v)
		}
	}
	return out
}

func (r *Redactor) value(v any) any {
	switch v := v.(type) {
	case string:
		return r.Text(v)
	case []string:
		return r.all(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = r.value(v[i])
		}
		return out
	case map[string]any:
		return r.evidence(v)
	case map[string]string:
		return r.values(maps.Clone(v))
	default:
		return v
	}
}
