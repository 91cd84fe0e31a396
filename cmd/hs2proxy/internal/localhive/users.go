package localhive

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// usersClass is hive.server2.custom.authentication.class under AuthCustom.
const usersClass = "LocalUsers"

// usersProperty is the system property by which that class finds its file.
const usersProperty = "hs2proxy.users"

//go:embed templates/LocalUsers.java
var usersSource []byte

// plainWord is what a user's name and password may consist of, so that they need no escape in a properties file.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// checkUsers refuses what the file of users cannot hold.
func checkUsers(o Options) error {
	if o.Auth != AuthCustom {
		if len(o.Users) > 0 {
			return fmt.Errorf("users: authentication %s checks none, CUSTOM does", o.Auth)
		}
		return nil
	}
	if len(o.Users) == 0 {
		return fmt.Errorf("users: empty, but authentication %s lets nobody else in", o.Auth)
	}
	for name, password := range o.Users {
		if !plainWord.MatchString(name) || !plainWord.MatchString(password) {
			return fmt.Errorf("user %q: name and password must be letters, digits, dots, underscores and hyphens", name)
		}
	}
	return nil
}

// writeUsers writes the file of users and compiles the class that reads it, which takes a JDK.
func writeUsers(ctx context.Context, o Options, java Java) error {
	if o.Auth != AuthCustom {
		return nil
	}
	l := layout{o.Dir}
	if err := needCompiler(java, "authentication CUSTOM"); err != nil {
		return err
	}
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(o.Users)) {
		lines.WriteString(name + "=" + o.Users[name] + "\n")
	}
	if err := os.WriteFile(l.users(), []byte(lines.String()), 0o600); err != nil {
		return fmt.Errorf("write HiveServer2's users: %w", err)
	}
	source := filepath.Join(l.scratch(), usersClass+".java")
	if err := os.WriteFile(source, usersSource, 0o600); err != nil {
		return fmt.Errorf("write HiveServer2's password check: %w", err)
	}
	// Into the folder of the configuration, which is first on the class path.
	if err := compile(ctx, java, o.LibDir, l.conf(), source); err != nil {
		return fmt.Errorf("compile HiveServer2's password check: %w", err)
	}
	return nil
}
