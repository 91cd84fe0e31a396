-- +goose Up

-- A write whose rows nobody knows raises R6 itself, and every rule that ends says by what. Checks of tables that fail are on record, and
-- wait longer each time. What counted rows tell of a plan counts once for a statement, however often its record comes.

ALTER TABLE hs2proxy.staleness ADD COLUMN cleared_by text NOT NULL DEFAULT '';
COMMENT ON COLUMN hs2proxy.staleness.cleared_by IS 'What showed that it holds no longer; empty while it holds.';

ALTER TABLE hs2proxy.tables
    ADD COLUMN check_failures  integer NOT NULL DEFAULT 0 CHECK (check_failures >= 0),
    ADD COLUMN check_failed_at timestamptz,
    ADD COLUMN check_error     text    NOT NULL DEFAULT '',
    ADD COLUMN check_again_at  timestamptz;
COMMENT ON COLUMN hs2proxy.tables.check_failures IS 'Checks in a row that failed; 0 after one that did not.';
COMMENT ON COLUMN hs2proxy.tables.check_failed_at IS 'When the last check failed; NULL when it did not.';
COMMENT ON COLUMN hs2proxy.tables.check_error IS 'Why; empty when it did not.';
COMMENT ON COLUMN hs2proxy.tables.check_again_at IS 'Not checked again before, by the proxy that failed; NULL when the last check did not fail.';

ALTER TABLE hs2proxy.statements ADD COLUMN counted_findings text[];
COMMENT ON COLUMN hs2proxy.statements.counted_findings IS 'Findings (kind, subject) that its counted rows have counted up; NULL for none.';

CREATE VIEW hs2proxy.report_stale_history AS
SELECT u.name AS upstream, t.name AS table_name, s.partition_name AS partition, s.rule, s.level, s.reason, s.since, s.seen_at, s.cleared_at, s.cleared_by
FROM hs2proxy.staleness s
JOIN hs2proxy.tables t ON t.id = s.table_id
JOIN hs2proxy.upstreams u ON u.id = t.upstream_id
ORDER BY s.cleared_at DESC NULLS FIRST, s.since DESC, u.name, t.name, s.partition_name, s.rule;
COMMENT ON VIEW hs2proxy.report_stale_history IS 'Which rule held for a table or partition, since when, until when, and what showed that it holds no longer?
The last time of each rule.';
COMMENT ON COLUMN hs2proxy.report_stale_history.upstream IS 'Server.';
COMMENT ON COLUMN hs2proxy.report_stale_history.table_name IS 'database.table.';
COMMENT ON COLUMN hs2proxy.report_stale_history.partition IS 'Partition; empty for the table itself.';
COMMENT ON COLUMN hs2proxy.report_stale_history.rule IS 'R1 corrupt, R2 no basic statistics, R3 columns, R4 rows written, R5 drift, R6 uncounted writes, R7 partitions read, R8 contradicted, R9 age.';
COMMENT ON COLUMN hs2proxy.report_stale_history.level IS 'CRITICAL, HIGH, STALE, WATCH, SUSPECT.';
COMMENT ON COLUMN hs2proxy.report_stale_history.reason IS 'One sentence with the numbers.';
COMMENT ON COLUMN hs2proxy.report_stale_history.since IS 'Since when it held without a break.';
COMMENT ON COLUMN hs2proxy.report_stale_history.seen_at IS 'When it was last found to hold.';
COMMENT ON COLUMN hs2proxy.report_stale_history.cleared_at IS 'When it was found to hold no longer; empty while it holds.';
COMMENT ON COLUMN hs2proxy.report_stale_history.cleared_by IS 'What showed that.';

-- report_stats_health tells of checks that failed, also where none has succeeded.
CREATE OR REPLACE VIEW hs2proxy.report_stats_health AS
SELECT u.name AS upstream, t.name AS table_name, round(t.health::numeric, 3)::double precision AS health, s.level, s.rules, s.reason,
       t.known_rows AS rows, t.known_rows_from AS rows_from, t.known_bytes AS bytes, t.known_bytes_from AS bytes_from,
       l.ended_at AS analyzed_at, l.who AS analyzed_by, t.columns_needed, t.columns_covered, coalesce(tu.uses, 0) AS joins_7d,
       t.writes_rows AS rows_written, t.writes_uncounted, coalesce(s.partitions, 0) AS partitions_stale, f.seen_at AS foreign_write_at, t.checked_at,
       t.check_failures, t.check_error, t.check_again_at
FROM hs2proxy.tables t
JOIN hs2proxy.upstreams u ON u.id = t.upstream_id
LEFT JOIN hs2proxy.table_uses tu ON tu.table_id = t.id
LEFT JOIN hs2proxy.last_analyzes l ON l.table_id = t.id
LEFT JOIN (SELECT x.table_id, array_agg(DISTINCT x.rule ORDER BY x.rule) AS rules,
                  count(DISTINCT x.partition_name) FILTER (WHERE x.partition_name <> '') AS partitions,
                  (array_agg(x.level ORDER BY x.place, x.rule, x.partition_name))[1] AS level,
                  (array_agg(x.reason ORDER BY x.place, x.rule, x.partition_name))[1] AS reason
           FROM (SELECT y.table_id, y.partition_name, y.rule, y.level, y.reason,
                        array_position(ARRAY['CRITICAL', 'HIGH', 'STALE', 'WATCH', 'SUSPECT'], y.level) AS place
                 FROM hs2proxy.staleness y WHERE y.cleared_at IS NULL) x
           GROUP BY x.table_id) s ON s.table_id = t.id
LEFT JOIN (SELECT w.table_id, max(w.seen_at) AS seen_at FROM hs2proxy.foreign_writes w GROUP BY w.table_id) f ON f.table_id = t.id
WHERE t.checked_at IS NOT NULL OR t.check_failed_at IS NOT NULL
ORDER BY t.health NULLS LAST, coalesce(tu.uses, 0) DESC, u.name, t.name;
COMMENT ON COLUMN hs2proxy.report_stats_health.check_failures IS 'Checks in a row that failed; 0 after one that did not.';
COMMENT ON COLUMN hs2proxy.report_stats_health.check_error IS 'Why the last check failed; empty when it did not.';
COMMENT ON COLUMN hs2proxy.report_stats_health.check_again_at IS 'When a table whose check failed is checked again; empty for others.';

-- +goose StatementBegin
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['hs2proxy_writer', 'hs2proxy_reader', 'hs2proxy_operator'] LOOP
        IF EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolname = name) THEN
            EXECUTE format('GRANT SELECT ON hs2proxy.report_stale_history TO %I', name);
        END IF;
    END LOOP;
END
$$;
-- +goose StatementEnd
