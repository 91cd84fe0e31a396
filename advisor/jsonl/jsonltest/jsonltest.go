// Package jsonltest reads files of recorded plans and decisions for tests.
package jsonltest

import (
	"os" //nolint:depguard // for tests only
	"path/filepath"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor/jsonl"
)

// Read returns the objects of a file.
func Read[T any](t testing.TB, path string) []T {
	t.Helper()
	f, err := os.Open(path) //nolint:gosec // the test names it
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	var all []T
	if err := jsonl.Read(f, func(v *T) error { all = append(all, *v); return nil }); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return all
}

// Shared is Read of a file below the folder that HS2PROXY_SHARED names; the test is skipped without one.
func Shared[T any](t testing.TB, name string) []T {
	t.Helper()
	if !HasShared() {
		t.Skip("HS2PROXY_SHARED names no folder with " + name)
	}
	return Read[T](t, filepath.Join(os.Getenv("HS2PROXY_SHARED"), filepath.FromSlash(name))) //nolint:forbidigo // a switch of the tests
}

// HasShared reports whether there are files to share.
func HasShared() bool { return os.Getenv("HS2PROXY_SHARED") != "" } //nolint:forbidigo // a switch of the tests
