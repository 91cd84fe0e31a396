-- +goose Up

-- Refreshes are dispatched by River, whose tables its own migrations make in this schema after these files. Their rights and comments
-- are given here, each time River's migrations changed something.

-- +goose StatementBegin
CREATE FUNCTION hs2proxy.share_queue() RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, hs2proxy, pg_temp
AS $$
DECLARE
    name   text;
    writer boolean := EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolname = 'hs2proxy_writer');
BEGIN
    FOR name IN SELECT c.relname FROM pg_catalog.pg_class c
                WHERE c.relnamespace = 'hs2proxy'::regnamespace AND c.relkind = 'r' AND c.relname LIKE 'river\_%' LOOP
        EXECUTE format('COMMENT ON TABLE hs2proxy.%I IS %L', name, CASE name
            WHEN 'river_job' THEN 'River''s: attempts at refreshes (kind refresh), firings of schedules (fire_schedule), and the look for what waits (announce). What became of a refresh is in refreshes.'
            WHEN 'river_leader' THEN 'River''s: the proxy that keeps the queue.'
            WHEN 'river_queue' THEN 'River''s: queues, one for each server and kind.'
            WHEN 'river_migration' THEN 'River''s: which of its migrations are applied.'
            ELSE 'River''s own.' END);
        IF writer AND name = 'river_migration' THEN
            EXECUTE format('GRANT SELECT ON hs2proxy.%I TO hs2proxy_writer', name);
        ELSIF writer THEN
            EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON hs2proxy.%I TO hs2proxy_writer', name);
        END IF;
    END LOOP;
    FOR name IN SELECT p.oid::regprocedure FROM pg_catalog.pg_proc p
                WHERE p.pronamespace = 'hs2proxy'::regnamespace AND p.proname LIKE 'river\_%' LOOP
        EXECUTE format('COMMENT ON FUNCTION %s IS %L', name, 'River''s own.');
    END LOOP;
    IF writer THEN
        FOR name IN SELECT c.relname FROM pg_catalog.pg_class c
                    WHERE c.relnamespace = 'hs2proxy'::regnamespace AND c.relkind = 'S' AND c.relname LIKE 'river\_%' LOOP
            EXECUTE format('GRANT USAGE, SELECT ON SEQUENCE hs2proxy.%I TO hs2proxy_writer', name);
        END LOOP;
    END IF;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION hs2proxy.share_queue IS 'Give hs2proxy_writer what the job queue needs on River''s tables. hs2proxy migrate calls it; after the role was made by hand, the owner of the schema does.';
REVOKE ALL ON FUNCTION hs2proxy.share_queue FROM PUBLIC;
