package hiveql

import "strings"

// command splits a statement that HiveServer2 hands to a command processor into its first word, in lower case, and the
// rest without comments; false for HiveQL. The rule is ExecuteStatementOperation's and HiveCommand.find's: comments
// by lines are removed, the first word decides, ROLE or FROM or AUTOCOMMIT as the second makes it HiveQL after all.
func command(sql string) (name, args string, ok bool) {
	if !isCommand(firstWord(skipLines(sql))) {
		return "", "", false
	}
	name, args = cutWord(strings.Trim(stripComments(sql), javaBlanks))
	name = lowerASCII(name)
	switch lowerASCII(firstWord(args)) {
	case "role", "from":
		return "", "", false
	case "autocommit":
		if name == "set" {
			return "", "", false
		}
	}
	return name, args, true
}

// isCommand reports whether word names, in either case, a command of HiveCommand that is not for Hive's own tests alone.
func isCommand(word string) bool {
	for _, name := range commandNames {
		if equalASCII(name, word) {
			return true
		}
	}
	return false
}

var commandNames = [...]string{"set", "reset", "dfs", "add", "list", "reload", "delete", "compile", "llap"}

// firstWord is cutWord's word.
func firstWord(s string) string {
	for i := range len(s) {
		if isBlank(s[i]) {
			return s[:i]
		}
	}
	return s
}

// javaBlanks are the bytes Java's String.trim takes for blank, as far as texts hold them.
const javaBlanks = " \t\n\v\f\r\x00"

// cutWord cuts s behind its first word; the rest begins with the next.
func cutWord(s string) (word, rest string) {
	word = firstWord(s)
	return word, strings.Trim(s[len(word):], javaBlanks)
}

// skipLines cuts blanks and comment lines off the beginning: lines that begin with -- or #.
func skipLines(s string) string {
	for {
		s = strings.TrimLeft(s, javaBlanks)
		if !strings.HasPrefix(s, "--") && !strings.HasPrefix(s, "#") {
			return s
		}
		n := strings.IndexByte(s, '\n')
		if n < 0 {
			return ""
		}
		s = s[n+1:]
	}
}

// stripComments removes what HiveStringUtils.removeComments removes: lines that begin with # or --, and the rest of a
// line behind -- outside quotes. Lines are trimmed, empty ones dropped.
func stripComments(s string) string {
	var b strings.Builder
	var quote byte
	for line := range strings.SplitSeq(s, "\n") {
		if trimmed := strings.TrimLeft(line, javaBlanks); quote == 0 && (strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, "--")) {
			continue
		}
		end := len(line)
		for i := range len(line) {
			c := line[i]
			if quote == 0 && strings.HasPrefix(line[i:], "--") {
				end = i
				break
			}
			if (c == '\'' || c == '"') && (i == 0 || line[i-1] != '\\') {
				switch quote {
				case 0:
					quote = c
				case c:
					quote = 0
				}
			}
		}
		if line = strings.Trim(line[:end], javaBlanks); line != "" {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(line)
		}
	}
	return b.String()
}

// parseCommand reads the commands that change the session; the others are only named.
func parseCommand(name, args string) Info {
	info, text := readCommand(name, args)
	n := newNormalizer(text)
	n.raw(text)
	info.Normalized, info.Fingerprint = n.result()
	return info
}

// readCommand returns what a command does to the session, and its normalized text. Arguments of commands other than SET and
// RESET, which hold paths, options and sometimes secrets, do not reach the text.
func readCommand(name, args string) (info Info, text string) {
	info.Kind, text = KindOther, name
	switch name {
	case "set":
		info.Kind = KindSet
		text = parseSet(args, &info)
	case "reset":
		info.Reset = parseReset(args)
		for _, key := range info.Reset.Keys {
			text += " " + settingName(key)
		}
	default:
		if args != "" {
			text += " ?"
		}
	}
	return info, text
}

// parseSet reads the arguments of SET as SetProcessor does, fills info.Set and returns the normalized text.
func parseSet(args string, info *Info) string {
	key, value, assigned := strings.Cut(args, "=")
	if !assigned {
		switch args {
		case "":
			return "set"
		case "-v":
			return "set -v"
		}
		return "set " + settingName(args)
	}
	key = strings.TrimPrefix(strings.Trim(key, javaBlanks), "hiveconf:")
	value = strings.Trim(value, javaBlanks)
	info.Set = &Assignment{Key: key, Value: value}
	if Secret(key, value) {
		value = "?"
	}
	return "set " + settingName(key) + "=" + value
}

// parseReset reads the arguments of RESET: nothing, or keys with an optional -d before them (back to Hive's default).
func parseReset(args string) *Reset {
	keys := strings.Fields(args)
	if len(keys) > 0 && keys[0] == "-d" {
		keys = keys[1:]
	}
	if len(keys) == 0 {
		return &Reset{All: true}
	}
	return &Reset{Keys: keys}
}

// settingName is the name of a setting as it may be shown: ? for what is no name.
func settingName(s string) string {
	if s == "" || len(s) > maxSettingName || span(s, isSettingByte) < len(s) {
		return "?"
	}
	return s
}

// maxSettingName is longer than Hive's longest name.
const maxSettingName = 256

func isSettingByte(c byte) bool { return isCharsetByte(c) || c == '*' || c == '/' || c == '$' }

// Secret reports whether the value of the setting key must not be shown or stored: every key outside Hive, Tez and
// MapReduce, and those of theirs whose name, or whose value, speaks of a password, secret, token, credential or, unless
// the value is a number (hive.skewjoin.key=100000), key.
func Secret(key, value string) bool {
	key = strings.TrimPrefix(key, "hiveconf:")
	known := false
	for _, prefix := range []string{"hive.", "tez.", "mapreduce.", "mapred."} {
		known = known || strings.HasPrefix(key, prefix)
	}
	if !known {
		return true
	}
	key, value = lowerASCII(key), lowerASCII(value)
	for _, smell := range []string{"password", "passwd", "passphrase", "secret", "token", "credential"} {
		if strings.Contains(key, smell) || strings.Contains(value, smell) {
			return true
		}
	}
	return strings.Contains(key, "key") && span(value, isDigit) < len(value)
}
