-- +goose Up

-- Roles belong to the whole server. They are made where the migrating role may; where it may not, an administrator
-- makes them and grants as below, or does without.

-- +goose StatementBegin
DO $$
DECLARE
    name text;
    v    text;
BEGIN
    FOREACH name IN ARRAY ARRAY['hs2proxy_writer', 'hs2proxy_reader', 'hs2proxy_operator'] LOOP
        IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolname = name) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', name);
            EXCEPTION
                WHEN insufficient_privilege THEN
                    RAISE NOTICE 'role % is not there and may not be created by %: its grants are left out', name, current_user;
                    CONTINUE;
                WHEN duplicate_object OR unique_violation THEN
                    NULL; -- another migration made it just now
            END;
        END IF;
        EXECUTE format('GRANT USAGE ON SCHEMA hs2proxy TO %I', name);
        FOR v IN SELECT c.relname FROM pg_catalog.pg_class c
                 WHERE c.relnamespace = 'hs2proxy'::regnamespace AND c.relkind = 'v' AND c.relname LIKE 'report\_%' LOOP
            EXECUTE format('GRANT SELECT ON hs2proxy.%I TO %I', v, name);
        END LOOP;
    END LOOP;

    IF EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolname = 'hs2proxy_operator') THEN
        GRANT EXECUTE ON FUNCTION hs2proxy.request_refresh TO hs2proxy_operator;
    END IF;
    IF EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolname = 'hs2proxy_writer') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA hs2proxy TO hs2proxy_writer;
        REVOKE INSERT, UPDATE, DELETE ON hs2proxy.goose_db_version FROM hs2proxy_writer;
        GRANT EXECUTE ON FUNCTION hs2proxy.enqueue_refresh, hs2proxy.request_refresh TO hs2proxy_writer;
    END IF;
END
$$;
-- +goose StatementEnd
