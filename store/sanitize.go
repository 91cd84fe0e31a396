package store

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// maxMessage bounds an error message, in bytes.
const maxMessage = 16 << 10

// hidden stands for a value that is not stored.
const hidden = "(hidden)"

// text makes a string storable: Postgres takes neither NUL nor invalid UTF-8.
func text(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return s
}

func texts(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = text(s)
	}
	return out
}

// message is text cut to maxMessage at a rune's border.
func message(s string) string {
	s = text(s)
	if len(s) <= maxMessage {
		return s
	}
	cut := maxMessage
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// stamp is a time as Postgres keeps it.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// stampOr is nil for the zero time.
func stampOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = stamp(t)
	return &t
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// asJSON is v for a jsonb column: without \u0000, which jsonb refuses.
func asJSON(v any) (json.RawMessage, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%w: encode: %w", ErrData, err)
	}
	return withoutNUL(b), nil
}

// withoutNUL replaces each escape \u0000 (and not an escaped backslash before u0000) in JSON text.
func withoutNUL(b []byte) []byte {
	if !strings.Contains(string(b), `\u0000`) {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 == len(b) {
			out = append(out, b[i])
			continue
		}
		if string(b[i:min(i+6, len(b))]) == `\u0000` {
			out = append(out, `\ufffd`...)
			i += 5
			continue
		}
		out = append(out, b[i], b[i+1])
		i++
	}
	return out
}

// evidence is a finding's numbers; what JSON cannot hold becomes text.
func evidence(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			v = fmt.Sprint(f)
		}
		out[k] = v
	}
	return out
}

var secretName = regexp.MustCompile(`(?i)passw|secret|token|credential|(access|account|private|api|auth|encryption)[._-]?key|keytab`)

// settingsOf is a copy of settings of Hive's own, in which values of names that sound like secrets are replaced.
func settingsOf(settings map[string]string) map[string]string {
	out := make(map[string]string, len(settings))
	for k, v := range settings {
		out[text(k)] = settingValue(k, v)
	}
	return out
}

func settingValue(name, value string) string {
	if value != "" && secretSetting(name) {
		return hidden
	}
	return text(value)
}

// secretSettings remembers what secretName says of a setting: every statement has those that decide joins.
var secretSettings, _ = lru.New[string, bool](4096) // fails for no size only

func secretSetting(name string) bool {
	secret, known := secretSettings.Get(name)
	if !known {
		secret = secretName.MatchString(name)
		secretSettings.Add(name, secret)
	}
	return secret
}

// sessionMap is a copy of what a client sent: anything that is not plainly a setting of Hive's is replaced.
func sessionMap(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		if v != "" && k != "use:database" && hiveql.Secret(strings.TrimPrefix(k, "set:"), v) {
			v = hidden
		}
		out[text(k)] = text(v)
	}
	return out
}

// secretLiteral finds a property such as 'hive.sql.dbcp.password'='…' inside a statement.
var secretLiteral = regexp.MustCompile(`(?i)['"][^'"]*(passw|secret|token|credential|(access|account|private|api|auth)[._-]?key)[^'"]*['"]\s*[=,:]`)

// literal matches string and number literals as HiveQL writes them.
var literal = regexp.MustCompile(`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\b\d[\w.]*`)

// withoutLiterals takes the literals of sql out of a message about it: Hive quotes what it complains about.
func withoutLiterals(msg, sql, normalized string) string {
	if msg == "" || sql == "" {
		return msg
	}
	msg = strings.ReplaceAll(msg, strings.TrimSpace(sql), normalized)
	for _, l := range literal.FindAllString(sql, -1) {
		inner := l
		if l[0] == '\'' || l[0] == '"' {
			msg = strings.ReplaceAll(msg, l, "?")
			inner = l[1 : len(l)-1]
		}
		if inner != "" {
			msg = strings.ReplaceAll(msg, "'"+inner+"'", "?")
			msg = strings.ReplaceAll(msg, `"`+inner+`"`, "?")
		}
	}
	return msg
}

var quoted = regexp.MustCompile(`'(?:[^'\\]|\\.)*'`)

// withoutQuoted takes string literals out of an expression as a plan prints it.
func withoutQuoted(expr string) string { return quoted.ReplaceAllString(expr, "?") }
