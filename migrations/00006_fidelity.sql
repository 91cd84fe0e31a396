-- +goose Up

-- The planner's own numbers beside the simulated ones, how far they agree, and what tells that the agreement fell.

ALTER TABLE hs2proxy.joins
    ADD COLUMN witnessed         text CHECK (witnessed IN ('MAP_JOIN', 'BUCKET_MAP_JOIN', 'DPHJ', 'SMB', 'MERGE_JOIN', 'UNKNOWN')),
    ADD COLUMN witnessed_budget  bigint,
    ADD COLUMN witnessed_sizes   bigint[],
    ADD COLUMN simulated_sizes   bigint[],
    ADD COLUMN witnessed_entries bigint[],
    ADD COLUMN simulated_entries bigint[],
    ADD COLUMN witnessed_nodes   bigint CHECK (witnessed_nodes > 0),
    ADD COLUMN simulated_nodes   bigint CHECK (simulated_nodes > 0),
    ADD CONSTRAINT joins_witnessed CHECK (
        (witnessed IS NULL) = (witnessed_budget IS NULL)
        AND (witnessed IS NULL) = (witnessed_sizes IS NULL)
        AND (witnessed IS NULL) = (witnessed_entries IS NULL)
        AND (witnessed IS NOT NULL OR witnessed_nodes IS NULL)),
    ADD CONSTRAINT joins_witnessed_pairs CHECK (
        cardinality(witnessed_sizes) IS NOT DISTINCT FROM cardinality(simulated_sizes)
        AND cardinality(witnessed_entries) IS NOT DISTINCT FROM cardinality(simulated_entries)
        AND (witnessed_nodes IS NULL) = (simulated_nodes IS NULL));
COMMENT ON COLUMN hs2proxy.joins.witnessed IS 'Strategy that the planner''s own log tells, UNKNOWN where it breaks off before; NULL when the server logged nothing of this join (Hive 3, explain.witness off).';
COMMENT ON COLUMN hs2proxy.joins.witnessed_budget IS 'maxJoinMemory as the planner logged it, beside budget_bytes.';
COMMENT ON COLUMN hs2proxy.joins.witnessed_sizes IS 'onlineDataSize as the planner logged it, one element an input; NULL for an input it did not measure before it decided.';
COMMENT ON COLUMN hs2proxy.joins.simulated_sizes IS 'The same as simulated, NULL where the planner logged none.';
COMMENT ON COLUMN hs2proxy.joins.witnessed_entries IS 'Distinct keys as the planner logged them, one element an input; NULL for an input whose keys it did not test.';
COMMENT ON COLUMN hs2proxy.joins.simulated_entries IS 'The same as simulated, NULL where the planner logged none or the number is not known.';
COMMENT ON COLUMN hs2proxy.joins.witnessed_nodes IS 'LLAP nodes that the planner compared network costs with; NULL when it compared none, or nothing but its log tells the number.';
COMMENT ON COLUMN hs2proxy.joins.simulated_nodes IS 'LLAP nodes by the settings or the configuration.';

CREATE TABLE hs2proxy.fidelity_days (
    upstream_id      bigint NOT NULL REFERENCES hs2proxy.upstreams ON DELETE CASCADE,
    hive_version     text   NOT NULL,
    day              date   NOT NULL,
    strategies       bigint NOT NULL CHECK (strategies >= 0),
    strategies_agree bigint NOT NULL CHECK (strategies_agree BETWEEN 0 AND strategies),
    budgets          bigint NOT NULL CHECK (budgets >= 0),
    budgets_agree    bigint NOT NULL CHECK (budgets_agree BETWEEN 0 AND budgets),
    sizes            bigint NOT NULL CHECK (sizes >= 0),
    sizes_agree      bigint NOT NULL CHECK (sizes_agree BETWEEN 0 AND sizes),
    PRIMARY KEY (upstream_id, hive_version, day)
);
COMMENT ON TABLE hs2proxy.fidelity_days IS 'How often simulation and planner agreed, by day: what a finding about falling agreement is judged by. Every EXPLAIN counts.';
COMMENT ON COLUMN hs2proxy.fidelity_days.upstream_id IS 'Server.';
COMMENT ON COLUMN hs2proxy.fidelity_days.hive_version IS 'Version of the server that explained; empty when unknown.';
COMMENT ON COLUMN hs2proxy.fidelity_days.day IS 'Day of the EXPLAINs, UTC.';
COMMENT ON COLUMN hs2proxy.fidelity_days.strategies IS 'Joins explained.';
COMMENT ON COLUMN hs2proxy.fidelity_days.strategies_agree IS 'Those where the simulation gives the plan''s strategy and streamed side.';
COMMENT ON COLUMN hs2proxy.fidelity_days.budgets IS 'Budgets that the planner logged.';
COMMENT ON COLUMN hs2proxy.fidelity_days.budgets_agree IS 'Those that the simulation gives.';
COMMENT ON COLUMN hs2proxy.fidelity_days.sizes IS 'Sizes of inputs that the planner logged.';
COMMENT ON COLUMN hs2proxy.fidelity_days.sizes_agree IS 'Those that the simulation gives within 1 %.';

-- A finding may be about a server instead of a query, and may be over.
ALTER TABLE hs2proxy.findings
    ALTER COLUMN fingerprint DROP NOT NULL,
    ADD COLUMN cleared_at timestamptz,
    ADD CONSTRAINT findings_cleared CHECK (cleared_at IS NULL OR fingerprint IS NULL AND cleared_at >= first_seen);
CREATE UNIQUE INDEX findings_upstream ON hs2proxy.findings (upstream_id, kind, subject) WHERE fingerprint IS NULL;
COMMENT ON TABLE hs2proxy.findings IS 'What is worth telling about a query or a server; seen again, the same finding counts up.';
COMMENT ON COLUMN hs2proxy.findings.fingerprint IS 'The query; NULL for a finding about the server.';
COMMENT ON COLUMN hs2proxy.findings.subject IS 'What it is about: a join, a table, the statement, the server.';
COMMENT ON COLUMN hs2proxy.findings.times IS 'Analysed statements that showed it; for a server how often it began.';
COMMENT ON COLUMN hs2proxy.findings.cleared_at IS 'When a finding about a server was found to hold no longer; NULL while it holds, and for queries.';

CREATE OR REPLACE VIEW hs2proxy.report_findings AS
SELECT u.name AS upstream, f.severity, f.kind, f.subject, f.summary, f.advice, f.times, f.first_seen, f.last_seen, f.fingerprint,
       f.evidence, q.normalized AS query
FROM hs2proxy.findings f
JOIN hs2proxy.upstreams u ON u.id = f.upstream_id
LEFT JOIN hs2proxy.queries q ON q.fingerprint = f.fingerprint
WHERE f.cleared_at IS NULL
ORDER BY array_position(ARRAY['CRITICAL', 'HIGH', 'MEDIUM', 'LOW', 'INFO'], f.severity), f.last_seen DESC, f.id DESC;
COMMENT ON VIEW hs2proxy.report_findings IS 'What is worth telling the owner of a query or of a server, and what would help?';
COMMENT ON COLUMN hs2proxy.report_findings.times IS 'Analysed statements that showed it; for a server how often it began.';
COMMENT ON COLUMN hs2proxy.report_findings.fingerprint IS 'The query; empty for a finding about the server.';

CREATE VIEW hs2proxy.join_fidelity AS
SELECT j.plan_id, j.ordinal, j.agrees AS strategy_equal, j.witnessed IS NOT NULL AS witnessed,
       j.witnessed_budget = j.budget_bytes AS budget_equal,
       abs(j.witnessed_budget::numeric - j.budget_bytes) * 100 <= abs(j.witnessed_budget::numeric) AS budget_near,
       s.sizes, s.sizes_equal, s.sizes_near, round(s.off, 2)::double precision AS size_off_percent,
       e.entries, e.entries_equal, e.entries_near,
       j.witnessed_nodes = j.simulated_nodes AS nodes_equal
FROM hs2proxy.joins j
CROSS JOIN LATERAL (
    SELECT count(x.w) AS sizes, count(*) FILTER (WHERE x.w = x.s) AS sizes_equal,
           count(*) FILTER (WHERE abs(x.w::numeric - x.s) * 100 <= abs(x.w::numeric)) AS sizes_near,
           max(abs(x.w::numeric - x.s) * 100 / greatest(abs(x.w::numeric), 1)) AS off
    FROM unnest(j.witnessed_sizes, j.simulated_sizes) x(w, s)) s
CROSS JOIN LATERAL (
    SELECT count(x.w) AS entries, count(*) FILTER (WHERE x.w = x.s) AS entries_equal,
           count(*) FILTER (WHERE abs(x.w::numeric - x.s) * 100 <= abs(x.w::numeric)) AS entries_near
    FROM unnest(j.witnessed_entries, j.simulated_entries) x(w, s)) e
WHERE j.planned <> 'UNKNOWN';
COMMENT ON VIEW hs2proxy.join_fidelity IS 'Simulation against planner, for each join of a plan that has a strategy.';
COMMENT ON COLUMN hs2proxy.join_fidelity.plan_id IS 'The plan.';
COMMENT ON COLUMN hs2proxy.join_fidelity.ordinal IS 'Number of the join in the plan.';
COMMENT ON COLUMN hs2proxy.join_fidelity.strategy_equal IS 'The simulation gives the plan''s strategy and streamed side.';
COMMENT ON COLUMN hs2proxy.join_fidelity.witnessed IS 'The planner logged numbers of the join.';
COMMENT ON COLUMN hs2proxy.join_fidelity.budget_equal IS 'The budgets are equal; NULL when none was logged.';
COMMENT ON COLUMN hs2proxy.join_fidelity.budget_near IS 'The budgets are within 1 %; NULL when none was logged.';
COMMENT ON COLUMN hs2proxy.join_fidelity.sizes IS 'Sizes that the planner logged.';
COMMENT ON COLUMN hs2proxy.join_fidelity.sizes_equal IS 'Those that the simulation gives.';
COMMENT ON COLUMN hs2proxy.join_fidelity.sizes_near IS 'Those that it gives within 1 %.';
COMMENT ON COLUMN hs2proxy.join_fidelity.size_off_percent IS 'Largest difference of a size, in percent of the planner''s.';
COMMENT ON COLUMN hs2proxy.join_fidelity.entries IS 'Numbers of distinct keys that the planner logged.';
COMMENT ON COLUMN hs2proxy.join_fidelity.entries_equal IS 'Those that the simulation gives.';
COMMENT ON COLUMN hs2proxy.join_fidelity.entries_near IS 'Those that it gives within 1 %.';
COMMENT ON COLUMN hs2proxy.join_fidelity.nodes_equal IS 'The node counts are equal; NULL when there are not two.';

CREATE VIEW hs2proxy.fidelity_plans AS
SELECT DISTINCT ON (p.upstream_id, p.hive_version, p.fingerprint, p.database_name, p.settings_hash)
       p.id, p.upstream_id, p.hive_version, p.fingerprint, p.database_name, p.explained_at
FROM hs2proxy.plans p
ORDER BY p.upstream_id, p.hive_version, p.fingerprint, p.database_name, p.settings_hash, p.explained_at DESC, p.id DESC;
COMMENT ON VIEW hs2proxy.fidelity_plans IS 'The plan seen last for each query under each version of Hive, database and settings.';
COMMENT ON COLUMN hs2proxy.fidelity_plans.id IS 'Key in plans.';
COMMENT ON COLUMN hs2proxy.fidelity_plans.upstream_id IS 'Server.';
COMMENT ON COLUMN hs2proxy.fidelity_plans.hive_version IS 'Version of the server.';
COMMENT ON COLUMN hs2proxy.fidelity_plans.fingerprint IS 'The query.';
COMMENT ON COLUMN hs2proxy.fidelity_plans.database_name IS 'Current database.';
COMMENT ON COLUMN hs2proxy.fidelity_plans.explained_at IS 'When it was last seen.';

-- Percentages are cut, not rounded: 100 means all.
CREATE VIEW hs2proxy.report_fidelity AS
SELECT u.name AS upstream, c.hive_version,
       c.joins, c.strategy_equal, trunc(100.0 * c.strategy_equal / c.joins, 2)::double precision AS strategy_percent, c.witnessed,
       c.budgets, c.budget_equal, trunc(100.0 * c.budget_equal / nullif(c.budgets, 0), 2)::double precision AS budget_percent,
       c.budget_near, trunc(100.0 * c.budget_near / nullif(c.budgets, 0), 2)::double precision AS budget_near_percent,
       c.sizes, c.size_equal, trunc(100.0 * c.size_equal / nullif(c.sizes, 0), 2)::double precision AS size_percent,
       c.size_near, trunc(100.0 * c.size_near / nullif(c.sizes, 0), 2)::double precision AS size_near_percent,
       c.entries, c.entries_equal, trunc(100.0 * c.entries_equal / nullif(c.entries, 0), 2)::double precision AS entries_percent,
       c.entries_near, trunc(100.0 * c.entries_near / nullif(c.entries, 0), 2)::double precision AS entries_near_percent,
       c.nodes, c.nodes_equal,
       EXISTS (SELECT 1 FROM hs2proxy.findings f
               WHERE f.upstream_id = c.upstream_id AND f.fingerprint IS NULL AND f.kind = 'fidelity_fell' AND f.cleared_at IS NULL) AS fell,
       c.last_explained
FROM (SELECT p.upstream_id, p.hive_version, count(*) AS joins, count(*) FILTER (WHERE f.strategy_equal) AS strategy_equal,
             count(*) FILTER (WHERE f.witnessed) AS witnessed,
             count(f.budget_equal) AS budgets, count(*) FILTER (WHERE f.budget_equal) AS budget_equal, count(*) FILTER (WHERE f.budget_near) AS budget_near,
             sum(f.sizes)::bigint AS sizes, sum(f.sizes_equal)::bigint AS size_equal, sum(f.sizes_near)::bigint AS size_near,
             sum(f.entries)::bigint AS entries, sum(f.entries_equal)::bigint AS entries_equal, sum(f.entries_near)::bigint AS entries_near,
             count(f.nodes_equal) AS nodes, count(*) FILTER (WHERE f.nodes_equal) AS nodes_equal, max(p.explained_at) AS last_explained
      FROM hs2proxy.fidelity_plans p
      JOIN hs2proxy.join_fidelity f ON f.plan_id = p.id
      GROUP BY p.upstream_id, p.hive_version) c
JOIN hs2proxy.upstreams u ON u.id = c.upstream_id
ORDER BY u.name, c.last_explained DESC, c.hive_version;
COMMENT ON VIEW hs2proxy.report_fidelity IS 'How far does the simulation agree with each server''s own planner: strategies, budgets, sizes?';
COMMENT ON COLUMN hs2proxy.report_fidelity.upstream IS 'Server.';
COMMENT ON COLUMN hs2proxy.report_fidelity.hive_version IS 'Version that explained; empty when unknown.';
COMMENT ON COLUMN hs2proxy.report_fidelity.joins IS 'Joins in the latest plan of each query, database and settings.';
COMMENT ON COLUMN hs2proxy.report_fidelity.strategy_equal IS 'Those where the simulation gives the plan''s strategy and streamed side.';
COMMENT ON COLUMN hs2proxy.report_fidelity.strategy_percent IS 'The same in percent of joins; like all percentages cut, not rounded.';
COMMENT ON COLUMN hs2proxy.report_fidelity.witnessed IS 'Joins whose numbers the planner logged; 0 before Hive 4.';
COMMENT ON COLUMN hs2proxy.report_fidelity.budgets IS 'Budgets logged.';
COMMENT ON COLUMN hs2proxy.report_fidelity.budget_equal IS 'Those simulated to the byte.';
COMMENT ON COLUMN hs2proxy.report_fidelity.budget_percent IS 'The same in percent; empty when none was logged.';
COMMENT ON COLUMN hs2proxy.report_fidelity.budget_near IS 'Those simulated within 1 %.';
COMMENT ON COLUMN hs2proxy.report_fidelity.budget_near_percent IS 'The same in percent.';
COMMENT ON COLUMN hs2proxy.report_fidelity.sizes IS 'Hash-table sizes of inputs logged.';
COMMENT ON COLUMN hs2proxy.report_fidelity.size_equal IS 'Those simulated to the byte.';
COMMENT ON COLUMN hs2proxy.report_fidelity.size_percent IS 'The same in percent.';
COMMENT ON COLUMN hs2proxy.report_fidelity.size_near IS 'Those simulated within 1 %.';
COMMENT ON COLUMN hs2proxy.report_fidelity.size_near_percent IS 'The same in percent.';
COMMENT ON COLUMN hs2proxy.report_fidelity.entries IS 'Numbers of distinct keys logged.';
COMMENT ON COLUMN hs2proxy.report_fidelity.entries_equal IS 'Those simulated exactly.';
COMMENT ON COLUMN hs2proxy.report_fidelity.entries_percent IS 'The same in percent.';
COMMENT ON COLUMN hs2proxy.report_fidelity.entries_near IS 'Those simulated within 1 %.';
COMMENT ON COLUMN hs2proxy.report_fidelity.entries_near_percent IS 'The same in percent.';
COMMENT ON COLUMN hs2proxy.report_fidelity.nodes IS 'LLAP node counts logged that a setting or the configuration names too.';
COMMENT ON COLUMN hs2proxy.report_fidelity.nodes_equal IS 'Those that are equal.';
COMMENT ON COLUMN hs2proxy.report_fidelity.fell IS 'The agreement with this server has fallen and not recovered: see the finding fidelity_fell.';
COMMENT ON COLUMN hs2proxy.report_fidelity.last_explained IS 'When a plan was last seen.';

CREATE VIEW hs2proxy.report_fidelity_differences AS
SELECT u.name AS upstream, p.hive_version, p.database_name AS database, p.fingerprint, j.ordinal AS join_no, j.tables,
       array_remove(ARRAY[
           CASE WHEN NOT f.strategy_equal THEN CASE WHEN j.planned = j.simulated THEN 'BIG_TABLE' ELSE 'STRATEGY' END END,
           CASE WHEN NOT f.budget_equal THEN 'BUDGET' END,
           CASE WHEN f.sizes_equal < f.sizes THEN 'SIZES' END,
           CASE WHEN f.entries_equal < f.entries THEN 'ENTRIES' END,
           CASE WHEN NOT f.nodes_equal THEN 'NODES' END], NULL) AS differs,
       j.planned, j.simulated, j.witnessed, j.witnessed_budget, j.budget_bytes AS simulated_budget,
       to_jsonb(j.witnessed_sizes) AS witnessed_sizes, to_jsonb(j.simulated_sizes) AS simulated_sizes, f.size_off_percent,
       to_jsonb(j.witnessed_entries) AS witnessed_entries, to_jsonb(j.simulated_entries) AS simulated_entries,
       j.witnessed_nodes, j.simulated_nodes, j.reason, j.uncertain, p.explained_at, q.normalized AS query
FROM hs2proxy.fidelity_plans p
JOIN hs2proxy.joins j ON j.plan_id = p.id
JOIN hs2proxy.join_fidelity f ON f.plan_id = j.plan_id AND f.ordinal = j.ordinal
JOIN hs2proxy.upstreams u ON u.id = p.upstream_id
JOIN hs2proxy.queries q ON q.fingerprint = p.fingerprint
WHERE NOT f.strategy_equal OR NOT f.budget_equal OR f.sizes_equal < f.sizes OR f.entries_equal < f.entries OR NOT f.nodes_equal
ORDER BY f.strategy_equal, f.size_off_percent DESC NULLS LAST, p.explained_at DESC, u.name, p.fingerprint, j.ordinal;
COMMENT ON VIEW hs2proxy.report_fidelity_differences IS 'Where does the simulation give another strategy, budget, size, number of keys or of nodes than the planner?';
COMMENT ON COLUMN hs2proxy.report_fidelity_differences.upstream IS 'Server.';
COMMENT ON COLUMN hs2proxy.report_fidelity_differences.hive_version IS 'Version that explained; empty when unknown.';
COMMENT ON COLUMN hs2proxy.report_fidelity_differences.database IS 'Current database of the sessions.';
COMMENT ON COLUMN hs2proxy.report_fidelity_differences.fingerprint IS 'The query.';
COMMENT ON COLUMN hs2proxy.report_fidelity_differences.join_no IS 'Number of the join in the plan, from 0.';
COMMENT ON COLUMN hs2proxy.report_fidelity_differences.tables IS 'Base tables, by input.';
COMMENT ON COLUMN hs2proxy.report_fidelity_differences.differs IS 'STRATEGY, BIG_TABLE (the strategy is the same), BUDGET, SIZES, ENTRIES, NODES.';
COMMENT ON COLUMN hs2proxy.report_fidelity_differences.planned IS 'Strategy in Hive''s plan.';
COMMENT ON COLUMN hs2proxy.report_fidelity_differences.simulated IS 'Strategy the selector chooses from the plan''s numbers.';
COMMENT ON COLUMN hs2proxy.report_fidelity_differences.witnessed IS 'Strategy by the planner''s log; other than planned when a later step of Hive changed it.';
COMMENT ON COLUMN hs2proxy.report_fidelity_differences.witnessed_budget IS 'Budget in bytes that the planner logged.';
COMMENT ON COLUMN hs2proxy.report_fidelity_differences.simulated_budget IS 'Budget in bytes as simulated.';
COMMENT ON COLUMN hs2proxy.report_fidelity_differences.witnessed_sizes IS 'Sizes in bytes that the planner logged, by input; null for one it did not measure.';
COMMENT ON COLUMN hs2proxy.report_fidelity_differences.simulated_sizes IS 'The same as simulated.';
COMMENT ON COLUMN hs2proxy.report_fidelity_differences.size_off_percent IS 'Largest difference of a size, in percent of the planner''s.';
COMMENT ON COLUMN hs2proxy.report_fidelity_differences.witnessed_entries IS 'Distinct keys that the planner logged, by input; null for one it did not test.';
COMMENT ON COLUMN hs2proxy.report_fidelity_differences.simulated_entries IS 'The same as simulated; null also when not known.';
COMMENT ON COLUMN hs2proxy.report_fidelity_differences.witnessed_nodes IS 'LLAP nodes that the planner logged.';
COMMENT ON COLUMN hs2proxy.report_fidelity_differences.simulated_nodes IS 'LLAP nodes by the settings or the configuration.';
COMMENT ON COLUMN hs2proxy.report_fidelity_differences.reason IS 'The deciding comparison of the simulation.';
COMMENT ON COLUMN hs2proxy.report_fidelity_differences.uncertain IS 'What it had to assume.';
COMMENT ON COLUMN hs2proxy.report_fidelity_differences.explained_at IS 'When the plan was last seen.';
COMMENT ON COLUMN hs2proxy.report_fidelity_differences.query IS 'Text without literals.';

-- +goose StatementBegin
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['hs2proxy_writer', 'hs2proxy_reader', 'hs2proxy_operator'] LOOP
        IF EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolname = name) THEN
            EXECUTE format('GRANT SELECT ON hs2proxy.report_fidelity, hs2proxy.report_fidelity_differences TO %I', name);
        END IF;
    END LOOP;
    IF EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolname = 'hs2proxy_writer') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON hs2proxy.fidelity_days TO hs2proxy_writer;
        GRANT SELECT ON hs2proxy.join_fidelity TO hs2proxy_writer;
    END IF;
END
$$;
-- +goose StatementEnd
