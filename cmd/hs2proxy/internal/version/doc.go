// Package version names the build, from the build's own record.
package version
