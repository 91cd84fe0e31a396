-- +goose Up

-- +goose StatementBegin
CREATE FUNCTION hs2proxy.table_name(name text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT
    SET search_path = pg_catalog
AS $$
DECLARE
    clean text := lower(btrim(replace(name, '`', ''), E' \t\r\n'));
    part  text := '[^[:space:][:cntrl:].;''"\\/()<>*?]{1,128}';
BEGIN
    IF clean !~ ('^' || part || '\.' || part || '$') THEN
        RAISE EXCEPTION 'not the name of a table: %', left(name, 200)
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Write database.table.';
    END IF;
    RETURN clean;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION hs2proxy.table_name IS 'The name as the metastore keeps it (lower case, without backticks), or an error.';

-- +goose StatementBegin
CREATE FUNCTION hs2proxy.enqueue_refresh(
    for_upstream bigint, for_table text, for_mode text, for_columns text[], for_partitions text[], not_after timestamptz,
    for_reason text, for_person text, for_time timestamptz,
    OUT id bigint, OUT created boolean)
    LANGUAGE plpgsql
    SET search_path = pg_catalog, hs2proxy, pg_temp
AS $$
DECLARE
    clean  text := hs2proxy.table_name(for_table);
    wanted text[];
    parts  text[];
    used   text[];
    old    hs2proxy.refreshes;
BEGIN
    IF for_mode IS NULL OR for_mode NOT IN ('BASIC', 'COLUMNS') THEN
        RAISE EXCEPTION 'not a mode: %', for_mode USING ERRCODE = 'invalid_parameter_value', HINT = 'Write BASIC or COLUMNS.';
    END IF;
    SELECT coalesce(array_agg(DISTINCT lower(c) ORDER BY lower(c)), '{}') INTO wanted
    FROM unnest(for_columns) c WHERE c <> '' AND for_mode = 'COLUMNS';
    SELECT coalesce(array_agg(DISTINCT p ORDER BY p), '{}') INTO parts FROM unnest(for_partitions) p WHERE p <> '';

    -- Requests for one table come one after the other, so that two do not both find none open.
    PERFORM pg_advisory_xact_lock(hashtextextended('hs2proxy.refresh ' || coalesce(for_upstream, 0) || ' ' || clean, 0));

    -- A running one counts when it does what is asked for.
    SELECT r.id INTO id FROM hs2proxy.refreshes r
    WHERE r.state = 'RUNNING' AND r.table_name = clean AND r.upstream_id IS NOT DISTINCT FROM for_upstream
      AND (for_mode = 'BASIC' OR (r.mode = 'COLUMNS' AND CASE WHEN wanted = '{}' THEN r.columns = '{}' ELSE wanted <@ r.columns END))
      AND (r.partitions = '{}' OR (parts <> '{}' AND parts <@ r.partitions))
    ORDER BY r.id LIMIT 1;
    IF FOUND THEN
        created := false;
        RETURN;
    END IF;

    -- A waiting one is widened to cover both. No columns means those that joins read, no partitions the whole table,
    -- no end of a window any time.
    SELECT r.* INTO old FROM hs2proxy.refreshes r
    WHERE r.state = 'REQUESTED' AND r.table_name = clean AND r.upstream_id IS NOT DISTINCT FROM for_upstream
    FOR UPDATE;
    IF FOUND THEN
        UPDATE hs2proxy.refreshes r SET
            not_after = CASE WHEN old.not_after IS NULL OR enqueue_refresh.not_after IS NULL THEN NULL ELSE greatest(old.not_after, enqueue_refresh.not_after) END,
            partitions = CASE WHEN old.partitions = '{}' OR parts = '{}' THEN '{}'
                              ELSE ARRAY(SELECT DISTINCT p FROM unnest(old.partitions || parts) p ORDER BY p) END
        WHERE r.id = old.id;
        IF for_mode = 'COLUMNS' THEN
            IF old.mode = 'COLUMNS' AND (old.columns = '{}') <> (wanted = '{}') THEN
                SELECT coalesce(array_agg(DISTINCT c), '{}') INTO used
                FROM hs2proxy.tables t, unnest(t.join_columns) c
                WHERE t.name = clean AND (t.upstream_id = for_upstream OR for_upstream IS NULL);
                wanted := wanted || used;
            END IF;
            UPDATE hs2proxy.refreshes r SET mode = 'COLUMNS', columns = ARRAY(
                SELECT DISTINCT c FROM unnest(wanted || CASE WHEN old.mode = 'COLUMNS' THEN old.columns ELSE '{}' END) c ORDER BY c)
            WHERE r.id = old.id;
        END IF;
        id := old.id;
        created := false;
        PERFORM pg_notify('hs2proxy_refresh', id::text);
        RETURN;
    END IF;

    INSERT INTO hs2proxy.refreshes AS r (upstream_id, table_name, mode, columns, partitions, not_after, reason, requested_by, requested_at, state)
    VALUES (for_upstream, clean, for_mode, wanted, parts, enqueue_refresh.not_after, for_reason, for_person, for_time, 'REQUESTED')
    RETURNING r.id INTO id;
    created := true;
    PERFORM pg_notify('hs2proxy_refresh', id::text);
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION hs2proxy.enqueue_refresh IS 'Ask for a refresh on somebody''s behalf; an open request that covers it is returned instead of a new one.';

-- +goose StatementBegin
CREATE FUNCTION hs2proxy.request_refresh(
    table_name text, mode text DEFAULT 'COLUMNS', columns text[] DEFAULT NULL, reason text DEFAULT NULL, upstream text DEFAULT NULL)
    RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, hs2proxy, pg_temp
AS $$
DECLARE
    clean text := hs2proxy.table_name(request_refresh.table_name);
    ids   bigint[];
BEGIN
    IF clean IS NULL THEN
        RAISE EXCEPTION 'no table was named' USING ERRCODE = 'invalid_parameter_value', HINT = 'Write database.table.';
    END IF;
    IF upstream IS NOT NULL THEN
        SELECT array_agg(u.id) INTO ids FROM hs2proxy.upstreams u WHERE u.name = request_refresh.upstream;
        IF ids IS NULL THEN
            RAISE EXCEPTION 'no such upstream: %', upstream USING ERRCODE = 'invalid_parameter_value',
                HINT = 'Known: ' || coalesce((SELECT string_agg(u.name, ', ' ORDER BY u.name) FROM hs2proxy.upstreams u), 'none') || '.';
        END IF;
    ELSE
        -- The upstream that knows the table, else the only one there is.
        SELECT array_agg(t.upstream_id) INTO ids FROM hs2proxy.tables t WHERE t.name = clean;
        IF ids IS NULL THEN
            SELECT array_agg(u.id) INTO ids FROM hs2proxy.upstreams u;
        END IF;
        IF cardinality(ids) > 1 THEN
            RAISE EXCEPTION 'several upstreams could be meant for %', clean USING ERRCODE = 'invalid_parameter_value',
                HINT = 'Add upstream => one of: ' || (SELECT string_agg(u.name, ', ' ORDER BY u.name) FROM hs2proxy.upstreams u WHERE u.id = ANY (ids)) || '.';
        END IF;
    END IF;
    RETURN (SELECT e.id FROM hs2proxy.enqueue_refresh(ids[1], clean, upper(coalesce(mode, 'COLUMNS')), columns, NULL, NULL,
        coalesce(nullif(btrim(reason), ''), 'asked for in SQL'), session_user::text, clock_timestamp()) e);
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION hs2proxy.request_refresh IS 'Ask for a refresh of a table''s statistics: request_refresh(''db.table''), optionally mode BASIC or COLUMNS, columns, reason, upstream. Returns the number of the request (see report_refreshes); an open request for the table is returned again.';

REVOKE ALL ON FUNCTION hs2proxy.enqueue_refresh FROM PUBLIC;
REVOKE ALL ON FUNCTION hs2proxy.request_refresh FROM PUBLIC;
