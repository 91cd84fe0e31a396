package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// What a refresh would run is what the server on record needs: one before Hive 3 is asked for the rows and for the columns.
func TestDryRunForTheServer(t *testing.T) {
	dsn := storetest.DSN(t)
	s, err := store.Open(t.Context(), dsn, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	db, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(t.Context()) }()
	const (
		rows    = "  ANALYZE TABLE `sales`.`orders` COMPUTE STATISTICS\n"
		columns = "  ANALYZE TABLE `sales`.`orders` COMPUTE STATISTICS FOR COLUMNS `id`\n"
		unsure  = "  a server before Hive 3 is asked for the rows too, by COMPUTE STATISTICS without columns: no version is on record yet\n"
	)
	for _, c := range []struct{ version, want string }{
		{"", columns + unsure},
		{"4.0.1 r3af4517eb8cfd9407ad34ed78a0b48b57dfaa264", columns},
		{"3.1.3", columns},
		{"2.3.9", rows + columns},
	} {
		if _, err := db.Exec(t.Context(), `INSERT INTO hs2proxy.upstreams (name, hive_version) VALUES ('prod', nullif($1, ''))
			ON CONFLICT (name) DO UPDATE SET hive_version = excluded.hive_version`, c.version); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := (refreshCmd{Table: "sales.orders", Columns: []string{"id"}}).dryRequest(t.Context(), &out, s, config.Default(), "prod", nil); err != nil {
			t.Fatal(err)
		}
		_, statements, _ := strings.Cut(out.String(), "\n") // behind the priority
		statements, _, _ = strings.Cut(statements, "  columns that Hive keeps")
		if statements != c.want {
			t.Errorf("version %q:\n%s\nwant\n%s", c.version, statements, c.want)
		}
	}
}
