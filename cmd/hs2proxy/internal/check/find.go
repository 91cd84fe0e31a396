package check

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Find lists the scripts (.sql and .hql) below a folder, as paths with slashes relative to it, in order. Folders and files whose
// names begin with a dot are left out.
func Find(folder fs.FS) ([]string, error) {
	var list []string
	err := fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.Type().IsRegular() && isScript(name):
			list = append(list, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for scripts: %w", err)
	}
	slices.Sort(list)
	return list, nil
}

func isScript(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".sql", ".hql":
		return true
	}
	return false
}

// ReadAll reads the statements of every script below a folder, in order. Each script has a session of its own, which begins as start.
func ReadAll(folder fs.FS, start Session) (list []Statement, files int, err error) {
	names, err := Find(folder)
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names {
		script, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, 0, fmt.Errorf("read a script: %w", err)
		}
		list = append(list, Read(name, string(script), start)...)
	}
	return list, len(names), nil
}

// Prefix is the path of a folder below the repository that it is in, with slashes, a slash at its end: what makes the path of a
// script one that GitHub and GitLab know. Outside of a repository it is relative to the current folder; "" when it is not below it.
func Prefix(folder string) (string, error) {
	at, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(at); err == nil {
		at = real
	}
	root, err := filepath.Abs(".")
	if err != nil {
		return "", err
	}
	for up := at; ; up = filepath.Dir(up) {
		if _, err := os.Lstat(filepath.Join(up, ".git")); err == nil {
			root = up
			break
		}
		if up == filepath.Dir(up) {
			break
		}
	}
	below, err := filepath.Rel(root, at)
	if err != nil || below == "." || below == ".." || strings.HasPrefix(below, ".."+string(filepath.Separator)) {
		return "", nil //nolint:nilerr // another volume is not below it either
	}
	return filepath.ToSlash(below) + "/", nil
}
