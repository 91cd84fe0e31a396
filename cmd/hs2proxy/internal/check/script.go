package check

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"unicode"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// Session is what holds for a statement: the current database and the settings made so far, by name; variables are named
// "hivevar:x".
type Session struct {
	Database string
	Settings map[string]string
}

// Statement is one statement of a script.
type Statement struct {
	// File is the script's path below the folder, with slashes; Line counts its lines from 1.
	File string
	Line int
	SQL  string
	Info hiveql.Info
	Session
	// Ordinal counts the statements to explain of the script from 1; 0 for one that is skipped.
	Ordinal int
	// Skipped says why the statement is not explained; empty when it is.
	Skipped string
	// Unknown says why it cannot be, although it should; empty when it can.
	Unknown string
}

// Read cuts a script into its statements. SET, RESET and USE are not among them: they change the session of those behind them,
// which begins as start. Variables in their values (${hivevar:x}, ${hiveconf:x}, ${x}) are replaced where the session has them.
func Read(file, script string, start Session) []Statement {
	r := reader{file: file, session: Session{Database: start.Database, Settings: maps.Clone(start.Settings)}}
	var list []Statement
	for i, part := range hiveql.Split(script) {
		if i > 0 { // what stands behind a semicolon speaks of the statement before it
			_, part.Lead, _ = strings.Cut(part.Lead, "\n")
		}
		if st, ok := r.read(part); ok {
			list = append(list, st)
		}
	}
	return list
}

// reader is the state of a session while its script is read. Its settings are replaced, never changed: statements share them.
type reader struct {
	file    string
	session Session
	ordinal int
	unknown string // why the database is not known
}

func (r *reader) read(part hiveql.Statement) (Statement, bool) {
	st := Statement{File: r.file, Line: part.Line, SQL: part.Text}
	if part.Client {
		st.Skipped = "a command for the client"
		return st, true
	}
	st.Info = hiveql.Parse(part.Text)
	if r.apply(st.Info, part) {
		return st, false
	}
	st.Session = r.session
	if why, asked := skipAsked(part.Lead); asked {
		st.Skipped = why
		return st, true
	}
	if !st.Info.Explainable {
		st.Skipped = notExplainable(st.Info, part.Text)
		return st, true
	}
	r.ordinal++
	st.Ordinal, st.Unknown = r.ordinal, r.unknown
	return st, true
}

// apply changes the session as the statement does and reports whether it is one that does nothing else.
func (r *reader) apply(info hiveql.Info, part hiveql.Statement) bool {
	settings := maps.Clone(r.session.Settings)
	if settings == nil {
		settings = map[string]string{}
	}
	switch {
	case info.Set != nil:
		settings[info.Set.Key] = replaceVariables(info.Set.Value, r.session.Settings)
	case info.Reset != nil && info.Reset.All:
		maps.DeleteFunc(settings, func(name, _ string) bool { return !strings.HasPrefix(name, "hivevar:") })
	case info.Reset != nil:
		for _, name := range info.Reset.Keys {
			delete(settings, name)
		}
	case info.Kind == hiveql.KindUse:
		r.use(info.Use, part)
		return true
	default:
		return info.Kind == hiveql.KindSet // it asks for a value
	}
	r.session.Settings = settings
	return true
}

func (r *reader) use(database string, part hiveql.Statement) {
	if database == "" {
		database = hiveql.Parse(replaceVariables(part.Text, r.session.Settings)).Use
	}
	if database == "" {
		r.unknown = fmt.Sprintf("the database is not known: USE at line %d names a variable that is not set", part.Line)
		return
	}
	r.session.Database, r.unknown = database, ""
}

var variable = regexp.MustCompile(`\$\{(?:(hivevar|hiveconf):)?([^{}$'"\s]+)\}`)

// replaceVariables does once what Hive's VariableSubstitution does; what is not set stays as it is.
func replaceVariables(text string, settings map[string]string) string {
	return variable.ReplaceAllStringFunc(text, func(ref string) string {
		m := variable.FindStringSubmatch(ref)
		name := m[2]
		if m[1] != "hiveconf" {
			name = "hivevar:" + name
		}
		if value, ok := settings[name]; ok {
			return value
		}
		return ref
	})
}

var skipComment = regexp.MustCompile(`(?m)^[ \t]*--[ \t]*hs2proxy:[ \t]*skip\b(.*)$`)

// skipAsked reports whether a comment in a line before the statement ("-- hs2proxy: skip, its table is a temporary one") asks to leave it
// out, and why.
func skipAsked(lead string) (why string, asked bool) {
	m := skipComment.FindStringSubmatch(lead)
	if m == nil {
		return "", false
	}
	why = strings.TrimFunc(m[1], func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",:;-", r) })
	if why == "" {
		return "a comment says so", true
	}
	return "a comment says so: " + why, true
}

// notExplainable says why a statement is left out. Only its kind, or first word, is named: commands may hold secrets.
func notExplainable(info hiveql.Info, text string) string {
	switch info.Kind {
	case hiveql.KindSelect, hiveql.KindInsert, hiveql.KindMultiInsert, hiveql.KindCTAS:
		return string(info.Kind) + " reads no table"
	case hiveql.KindOther:
		word := strings.ToUpper(firstWord(text))
		if word == "" {
			return "no statement that Hive explains"
		}
		return word + " is not explained"
	default:
		return string(info.Kind) + " is not explained"
	}
}

// firstWord is the word of letters that a text begins with, cut after some.
func firstWord(text string) string {
	const most = 20
	for i, r := range text {
		if i >= most || !unicode.IsLetter(r) {
			return text[:i]
		}
	}
	return text
}
