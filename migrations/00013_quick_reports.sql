-- +goose Up

-- Reports that took longer than a second with 10,000 tables and a million statements a day (docs/benchmarks.md).

-- The latest plan of a query, without reading the plans, whose settings are wide.
CREATE INDEX plans_latest ON hs2proxy.plans (upstream_id, fingerprint, database_name, explained_at DESC, id DESC);

-- Statements are read once, for all servers, and counted by session before they are joined.
CREATE OR REPLACE VIEW hs2proxy.report_health AS
SELECT u.name AS upstream, u.hive_version, coalesce(st.statements, 0)::bigint AS statements_24h, coalesce(st.failed, 0)::bigint AS failed_24h,
       coalesce(st.analyzed, 0)::bigint AS analyzed_24h, coalesce(st.explain_failed, 0)::bigint AS explain_failed_24h, st.last_statement,
       coalesce(j.joins, 0) AS joins, coalesce(j.unexplained, 0) AS joins_unexplained,
       coalesce(x.stale, 0) AS tables_stale, coalesce(r.open, 0) AS refreshes_open
FROM hs2proxy.upstreams u
LEFT JOIN (
    SELECT s.upstream_id, sum(c.statements) AS statements, sum(c.failed) AS failed, sum(c.analyzed) AS analyzed,
           sum(c.explain_failed) AS explain_failed, max(c.last_statement) AS last_statement
    FROM (SELECT t.session_id, count(*) AS statements, count(*) FILTER (WHERE t.state = 'ERROR') AS failed,
                 count(t.analyzed_at) AS analyzed, count(*) FILTER (WHERE t.explain_error <> '') AS explain_failed,
                 max(t.started_at) AS last_statement
          FROM hs2proxy.statements t WHERE t.started_at > now() - interval '1 day' GROUP BY t.session_id) c
    JOIN hs2proxy.sessions s ON s.id = c.session_id
    GROUP BY s.upstream_id) st ON st.upstream_id = u.id
LEFT JOIN (
    SELECT p.upstream_id, count(*) AS joins, count(*) FILTER (WHERE NOT k.agrees) AS unexplained
    FROM (SELECT DISTINCT ON (l.upstream_id, l.fingerprint, l.database_name) l.upstream_id, l.id
          FROM hs2proxy.plans l
          ORDER BY l.upstream_id, l.fingerprint, l.database_name, l.explained_at DESC, l.id DESC) p
    JOIN hs2proxy.joins k ON k.plan_id = p.id
    GROUP BY p.upstream_id) j ON j.upstream_id = u.id
LEFT JOIN (SELECT t.upstream_id, count(DISTINCT t.id) AS stale
           FROM hs2proxy.staleness s JOIN hs2proxy.tables t ON t.id = s.table_id WHERE s.cleared_at IS NULL GROUP BY t.upstream_id) x ON x.upstream_id = u.id
LEFT JOIN (SELECT f.upstream_id, count(*) AS open
           FROM hs2proxy.refreshes f WHERE f.state IN ('REQUESTED', 'RUNNING') GROUP BY f.upstream_id) r ON r.upstream_id = u.id
ORDER BY u.name;

-- Settings are compared only where their hashes differ.
CREATE OR REPLACE VIEW hs2proxy.report_plan_changes AS
SELECT p.first_explained_at AS changed_at, u.name AS upstream, p.database_name AS database, p.fingerprint,
       c.ordinal AS join_no, c.tables, c.strategy_before, c.strategy_after,
       array_remove(ARRAY[
           CASE WHEN c.rows_before IS DISTINCT FROM c.rows_after OR c.bytes_before IS DISTINCT FROM c.bytes_after THEN 'STATISTICS' END,
           CASE WHEN o.settings_hash <> p.settings_hash THEN 'SETTINGS' END,
           CASE WHEN o.hive_version <> p.hive_version AND o.hive_version <> '' AND p.hive_version <> '' THEN 'VERSION' END,
           CASE WHEN o.llap_nodes > 0 AND p.llap_nodes > 0 AND (o.llap_nodes, o.llap_executors) <> (p.llap_nodes, p.llap_executors) THEN 'CLUSTER' END], NULL) AS what_changed,
       c.rows_before, c.rows_after, c.bytes_before, c.bytes_after,
       CASE WHEN o.settings_hash = p.settings_hash THEN '{}'::text[]
            ELSE ARRAY(SELECT coalesce(a.key, b.key) || ': ' || coalesce(a.value, '(unset)') || ' → ' || coalesce(b.value, '(unset)')
                       FROM jsonb_each_text(o.settings) a FULL JOIN jsonb_each_text(p.settings) b ON a.key = b.key
                       WHERE a.value IS DISTINCT FROM b.value ORDER BY 1) END AS settings_changed,
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

-- What is sorted are keys and bytes, not words in a language's order.
CREATE OR REPLACE VIEW hs2proxy.report_estimate_errors AS
WITH counted AS (
    SELECT p.upstream_id, width_bucket(a.q_error, ARRAY[1, 1.000001, 2, 5, 10, 100, 1000]::double precision[]) AS class, a.kind COLLATE "C" AS kind,
           p.fingerprint COLLATE "C" AS fingerprint, count(*) AS operators, sum(a.runs)::bigint AS runs,
           count(*) FILTER (WHERE a.actual_rows > a.estimated_rows) AS underestimated, max(a.q_error) AS worst, max(a.counted_at) AS counted_at
    FROM hs2proxy.operator_actuals a
    JOIN hs2proxy.plans p ON p.id = a.plan_id
    GROUP BY 1, 2, 3, 4
), ranked AS (
    SELECT c.*, row_number() OVER (PARTITION BY c.upstream_id, c.class, c.kind ORDER BY c.worst DESC, c.fingerprint) AS place
    FROM counted c
)
SELECT u.name AS upstream, g.kind::text COLLATE "default" AS operator,
       (ARRAY['1', 'up to 2', '2 to 5', '5 to 10', '10 to 100', '100 to 1000', '1000 and more'])[g.class] AS q_error,
       g.operators, g.queries, g.runs, g.underestimated, g.worst, g.worst_fingerprints, g.last_counted
FROM (SELECT r.upstream_id, r.kind, r.class, sum(r.operators)::bigint AS operators, count(*) AS queries, sum(r.runs)::bigint AS runs,
             sum(r.underestimated)::bigint AS underestimated, round(max(r.worst)::numeric, 1)::double precision AS worst,
             (array_agg(r.fingerprint ORDER BY r.place) FILTER (WHERE r.place <= 5)) COLLATE "default" AS worst_fingerprints, max(r.counted_at) AS last_counted
      FROM ranked r
      GROUP BY r.upstream_id, r.class, r.kind) g
JOIN hs2proxy.upstreams u ON u.id = g.upstream_id
ORDER BY u.name, g.kind, g.class DESC;

-- Uses are added up by plan before plans are looked up.
CREATE OR REPLACE VIEW hs2proxy.query_uses AS
SELECT p.upstream_id, p.fingerprint, p.database_name, sum(u.uses)::bigint AS uses
FROM (SELECT d.plan_id, sum(d.uses) AS uses FROM hs2proxy.plan_uses d WHERE d.day > (now() AT TIME ZONE 'UTC')::date - 7 GROUP BY d.plan_id) u
JOIN hs2proxy.plans p ON p.id = u.plan_id
GROUP BY p.upstream_id, p.fingerprint, p.database_name;

CREATE OR REPLACE VIEW hs2proxy.table_uses AS
SELECT t.table_id, sum(u.uses)::bigint AS uses
FROM (SELECT d.plan_id, sum(d.uses) AS uses FROM hs2proxy.plan_uses d WHERE d.day > (now() AT TIME ZONE 'UTC')::date - 7 GROUP BY d.plan_id) u
JOIN hs2proxy.plan_tables t ON t.plan_id = u.plan_id
WHERE EXISTS (SELECT 1 FROM hs2proxy.joins j WHERE j.plan_id = u.plan_id)
GROUP BY t.table_id;
