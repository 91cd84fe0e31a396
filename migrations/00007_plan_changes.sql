-- +goose Up

-- The LLAP cluster a plan was made for: a resize changes plans although no setting differs.

ALTER TABLE hs2proxy.plans
    ADD COLUMN llap_nodes     bigint NOT NULL DEFAULT 0 CHECK (llap_nodes >= 0),
    ADD COLUMN llap_executors bigint NOT NULL DEFAULT 0 CHECK (llap_executors >= 0);
COMMENT ON COLUMN hs2proxy.plans.llap_nodes IS 'LLAP nodes when it was last seen; 0 when unknown or without LLAP.';
COMMENT ON COLUMN hs2proxy.plans.llap_executors IS 'Executors of an LLAP node at that time; 0 when unknown.';

CREATE OR REPLACE VIEW hs2proxy.report_plan_changes AS
SELECT p.first_explained_at AS changed_at, u.name AS upstream, p.database_name AS database, p.fingerprint,
       c.ordinal AS join_no, c.tables, c.strategy_before, c.strategy_after,
       array_remove(ARRAY[
           CASE WHEN c.rows_before IS DISTINCT FROM c.rows_after OR c.bytes_before IS DISTINCT FROM c.bytes_after THEN 'STATISTICS' END,
           CASE WHEN o.settings_hash <> p.settings_hash THEN 'SETTINGS' END,
           CASE WHEN o.hive_version <> p.hive_version AND o.hive_version <> '' AND p.hive_version <> '' THEN 'VERSION' END,
           CASE WHEN o.llap_nodes > 0 AND p.llap_nodes > 0 AND (o.llap_nodes, o.llap_executors) <> (p.llap_nodes, p.llap_executors) THEN 'CLUSTER' END], NULL) AS what_changed,
       c.rows_before, c.rows_after, c.bytes_before, c.bytes_after,
       ARRAY(SELECT coalesce(a.key, b.key) || ': ' || coalesce(a.value, '(unset)') || ' → ' || coalesce(b.value, '(unset)')
             FROM jsonb_each_text(o.settings) a FULL JOIN jsonb_each_text(p.settings) b ON a.key = b.key
             WHERE a.value IS DISTINCT FROM b.value ORDER BY 1) AS settings_changed,
       o.hive_version AS version_before, p.hive_version AS version_after, p.cause, c.reason, q.normalized AS query
FROM hs2proxy.plans p
JOIN LATERAL (
    SELECT e.id, e.settings_hash, e.settings, e.hive_version, e.llap_nodes, e.llap_executors
    FROM hs2proxy.plans e
    WHERE e.upstream_id = p.upstream_id AND e.fingerprint = p.fingerprint AND e.database_name = p.database_name
      AND (e.first_explained_at, e.id) < (p.first_explained_at, p.id)
    ORDER BY (e.settings_hash = p.settings_hash) DESC, e.first_explained_at DESC, e.id DESC
    LIMIT 1) o ON true
JOIN LATERAL (
    SELECT coalesce(a.ordinal, b.ordinal) AS ordinal, coalesce(b.tables, a.tables) AS tables,
           a.planned AS strategy_before, b.planned AS strategy_after, a.input_rows AS rows_before, b.input_rows AS rows_after,
           a.input_bytes AS bytes_before, b.input_bytes AS bytes_after, b.reason
    FROM (SELECT x.* FROM hs2proxy.joins x WHERE x.plan_id = o.id) a
    FULL JOIN (SELECT x.* FROM hs2proxy.joins x WHERE x.plan_id = p.id) b ON a.ordinal = b.ordinal
    WHERE a.planned IS DISTINCT FROM b.planned OR a.big_table_name IS DISTINCT FROM b.big_table_name) c ON true
JOIN hs2proxy.upstreams u ON u.id = p.upstream_id
JOIN hs2proxy.queries q ON q.fingerprint = p.fingerprint
ORDER BY p.first_explained_at DESC, p.id DESC, c.ordinal;
COMMENT ON VIEW hs2proxy.report_plan_changes IS 'Which queries changed their join strategy, when, and what had changed: statistics, settings, the version or the cluster?';
COMMENT ON COLUMN hs2proxy.report_plan_changes.what_changed IS 'STATISTICS (the inputs'' rows or bytes), SETTINGS, VERSION, CLUSTER (LLAP nodes or executors); may be several, or none. report_findings has what of it changed the strategy (plan_change_…).';
