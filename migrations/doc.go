// Package migrations holds the schema of our database as numbered SQL files, for goose. Files are append only: one
// that was released never changes. Everything lives in the schema "hs2proxy", goose's own version table too.
package migrations

import "embed"

// FS holds the files at its root.
//
//go:embed *.sql
var FS embed.FS

// VersionTable is where goose keeps which files have been applied. Its schema must exist before the first run.
const (
	Schema       = "hs2proxy"
	VersionTable = Schema + ".goose_db_version"
)
