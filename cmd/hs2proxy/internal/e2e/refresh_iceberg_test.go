package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

// transactional are situations of ACID tables.
func transactional() []situation {
	full := "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
	insertOnly := "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only')"
	return []situation{
		{
			what: "rows of a full ACID table ×10 without statistics", table: "acid_grown", setup: filled("acid_grown", full), query: joined("acid_grown", "id"),
			stage: []string{noGather, "INSERT INTO acid_grown " + numbers(9000)},
			want:  "R2 R3(id) R4", mode: statscheck.ModeColumns, analyze: []string{forColumn("id")},
		},
		{
			what: "rows of an insert-only table ×10 without statistics", table: "only_grown", setup: filled("only_grown", insertOnly), query: joined("only_grown", "id"),
			stage: []string{noGather, "INSERT INTO only_grown " + numbers(9000)},
			want:  "R2 R3(id) R4", mode: statscheck.ModeColumns, analyze: []string{forColumn("id")},
		},
		{
			what: "an UPDATE of a column that no join uses", table: "acid_updated", setup: filled("acid_updated", full), query: joined("acid_updated", "id"),
			stage: []string{"UPDATE acid_updated SET grp = 11 WHERE id < 10"},
			want:  "R3(id)", mode: statscheck.ModeColumns, analyze: []string{forColumn("id")},
		},
		{
			what: "half of the rows deleted", table: "acid_deleted", setup: filled("acid_deleted", full), query: joined("acid_deleted", "id"),
			stage: []string{"DELETE FROM acid_deleted WHERE id >= 500"},
			want:  "R3(id)", mode: statscheck.ModeColumns, analyze: []string{forColumn("id")},
		},
	}
}

// iceberg are situations of Iceberg tables. Their rows are the snapshot's and always right; Hive drops the columns' flags with a write
// that gathers no statistics, and with every UPDATE, DELETE and MERGE.
func iceberg() []situation {
	const stored = "STORED BY ICEBERG"
	return []situation{
		{
			what: "an Iceberg table that grew with statistics", table: "ice_right", setup: filled("ice_right", stored), query: joined("ice_right", "id"),
			stage: []string{"INSERT INTO ice_right " + numbers(9000)},
		},
		{
			what: "an Iceberg table that grew without them", table: "ice_grown", setup: filled("ice_grown", stored), query: joined("ice_grown", "id"),
			stage: []string{noGather, noColumns, "INSERT INTO ice_grown " + numbers(9000)},
			want:  "R3(id)", mode: statscheck.ModeColumns, analyze: []string{forColumn("id")},
		},
		{
			what: "a partitioned Iceberg table updated", table: "ice_updated",
			setup: filled("ice_updated", "PARTITIONED BY SPEC (bucket(2, grp)) "+stored), query: joined("ice_updated", "id"),
			stage: []string{"UPDATE ice_updated SET grp = 11 WHERE id < 10"},
			want:  "R3(id)", mode: statscheck.ModeColumns, analyze: []string{forColumn("id")},
		},
	}
}

// ACID tables, and Iceberg's where HS2PROXY_ICEBERG_JARS has its handler, are flagged by the rules that hold and by no other,
// refreshed, and clear afterwards.
func TestRefreshOfTransactionalTables(t *testing.T) {
	if os.Getenv("HS2PROXY_E2E_FULL") != "1" {
		t.Skip("set HS2PROXY_E2E_FULL=1 too: minutes are not waited for each time")
	}
	p := situated(t)
	all := transactional()
	withIceberg := os.Getenv("HS2PROXY_ICEBERG_JARS") != ""
	if withIceberg {
		all = append(all, iceberg()...)
	}
	p.staged(t, all)
	if !withIceberg {
		t.Log("without HS2PROXY_ICEBERG_JARS Iceberg's tables are left out")
		return
	}
	// What Hive refuses for an Iceberg table, or does not heed, becomes what it takes, and the scope says so.
	for _, c := range []struct {
		name    string
		request store.RefreshRequest
		ran     string
		scope   string
	}{
		{"NOSCAN", store.RefreshRequest{Mode: statscheck.ModeNoScan}, basic, "BASIC instead of NOSCAN"},
		{"partitions", store.RefreshRequest{Mode: statscheck.ModeBasic, Partitions: []string{"grp_bucket=0"}}, basic, "Iceberg's ANALYZE takes no partitions"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := c.request
			r.Upstream, r.Table, r.Reason, r.RequestedBy = p.cfg.Upstream.Name, situationsDB+".ice_updated", "a test", "test"
			id, _, err := p.proxy.Store().RequestRefresh(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			done := p.ended(t, id)
			want := []string{"ANALYZE TABLE `" + situationsDB + "`.`ice_updated` " + c.ran}
			if done.State != statscheck.RefreshDone || !slices.Equal(done.Statements, want) || !strings.Contains(done.Scope, c.scope) {
				t.Errorf("%s %q, scope %q, %s; want %q with …%s…", done.State, done.Statements, done.Scope, done.Error, want, c.scope)
			}
		})
	}
}
