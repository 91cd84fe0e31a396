package intercept

import "strings"

// Redacted stands for the value of a setting whose name speaks of a secret.
const Redacted = "***"

// secretWords in a setting's name make its value a secret: Hadoop's, Hive's and the object stores' names of passwords, tokens
// and keys. A bare "key" does not: hive.hashtable.key.count.adjustment and its like decide joins.
var secretWords = []string{
	"password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "jaas", "authorization", "cookie",
	"accesskey", "access.key", "access-key", "access_key", "apikey", "api.key", "api-key", "api_key",
	"privatekey", "private.key", "private-key", "private_key", "encryption.key", "account.key", "accountkey", "sas.key",
}

// secretSetting reports whether the value of the setting must not be kept.
func secretSetting(name string) bool {
	name = strings.ToLower(name)
	for _, word := range secretWords {
		if strings.Contains(name, word) {
			return true
		}
	}
	return strings.HasSuffix(name, ".key") || name == "key"
}

// redact replaces the values of secrets in settings, which nobody else may hold, and returns them.
func redact(settings map[string]string) map[string]string {
	for name := range settings {
		if secretSetting(name) {
			settings[name] = Redacted
		}
	}
	return settings
}
