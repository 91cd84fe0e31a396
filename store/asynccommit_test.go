package store_test

import (
	"net/url"
	"testing"

	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// TestAsyncCommit: what was seen waits for Postgres' disk unless AsyncCommit is set; what somebody asked for always does.
func TestAsyncCommit(t *testing.T) {
	for async, want := range map[bool]string{false: "sessions on, refreshes on", true: "sessions off, refreshes on"} {
		f := &fixture{t: t, dsn: storetest.DSN(t), now: t0}
		u, err := url.Parse(f.dsn)
		f.ok(err)
		q := u.Query()
		q.Set("synchronous_commit", "on") // the tests' server is configured without
		u.RawQuery = q.Encode()
		f.dsn = u.String()
		f.Store, f.db = f.open(store.Options{AsyncCommit: async}), f.connect(f.dsn)
		f.exec("CREATE TABLE public.seen (line text)")
		f.exec(`CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS
			$$BEGIN INSERT INTO public.seen VALUES (TG_TABLE_NAME || ' ' || current_setting('synchronous_commit')); RETURN NEW; END$$`)
		for _, table := range []string{"sessions", "refreshes"} {
			f.exec("CREATE TRIGGER note AFTER INSERT ON hs2proxy." + table + " FOR EACH ROW EXECUTE FUNCTION public.note()")
		}
		f.ok(f.UpsertSession(t.Context(), session("hive-a")))
		f.exec("SELECT hs2proxy.request_refresh('shop.orders')")
		f.want(want, "SELECT string_agg(line, ', ' ORDER BY line DESC) FROM public.seen")
	}
}
