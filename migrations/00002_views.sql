-- +goose Up

-- The views below are what people read. The first line of each comment is the question it answers: `hs2proxy report`
-- lists it, so it is a question.

CREATE VIEW hs2proxy.latest_plans AS
SELECT DISTINCT ON (p.upstream_id, p.fingerprint, p.database_name)
       p.id, p.upstream_id, p.fingerprint, p.database_name, p.settings_hash, p.hive_version, p.explained_at, p.first_explained_at
FROM hs2proxy.plans p
ORDER BY p.upstream_id, p.fingerprint, p.database_name, p.explained_at DESC, p.id DESC;
COMMENT ON VIEW hs2proxy.latest_plans IS 'The plan seen last for each query on each upstream and database.';
COMMENT ON COLUMN hs2proxy.latest_plans.id IS 'Key in plans.';
COMMENT ON COLUMN hs2proxy.latest_plans.upstream_id IS 'Server.';
COMMENT ON COLUMN hs2proxy.latest_plans.fingerprint IS 'The query.';
COMMENT ON COLUMN hs2proxy.latest_plans.database_name IS 'Current database.';
COMMENT ON COLUMN hs2proxy.latest_plans.settings_hash IS 'Settings.';
COMMENT ON COLUMN hs2proxy.latest_plans.hive_version IS 'Version of the server.';
COMMENT ON COLUMN hs2proxy.latest_plans.explained_at IS 'When it was last seen.';
COMMENT ON COLUMN hs2proxy.latest_plans.first_explained_at IS 'When it was first seen.';

CREATE VIEW hs2proxy.query_uses AS
SELECT p.upstream_id, p.fingerprint, p.database_name, sum(u.uses)::bigint AS uses
FROM hs2proxy.plan_uses u
JOIN hs2proxy.plans p ON p.id = u.plan_id
WHERE u.day > (now() AT TIME ZONE 'UTC')::date - 7
GROUP BY p.upstream_id, p.fingerprint, p.database_name;
COMMENT ON VIEW hs2proxy.query_uses IS 'Analysed runs of each query in the last seven days, today included.';
COMMENT ON COLUMN hs2proxy.query_uses.upstream_id IS 'Server.';
COMMENT ON COLUMN hs2proxy.query_uses.fingerprint IS 'The query.';
COMMENT ON COLUMN hs2proxy.query_uses.database_name IS 'Current database.';
COMMENT ON COLUMN hs2proxy.query_uses.uses IS 'Runs.';

CREATE VIEW hs2proxy.table_uses AS
SELECT t.table_id, sum(u.uses)::bigint AS uses
FROM hs2proxy.plan_uses u
JOIN hs2proxy.plan_tables t ON t.plan_id = u.plan_id
WHERE u.day > (now() AT TIME ZONE 'UTC')::date - 7
  AND EXISTS (SELECT 1 FROM hs2proxy.joins j WHERE j.plan_id = u.plan_id)
GROUP BY t.table_id;
COMMENT ON VIEW hs2proxy.table_uses IS 'Runs of queries with joins that read a table, in the last seven days, today included.';
COMMENT ON COLUMN hs2proxy.table_uses.table_id IS 'Table.';
COMMENT ON COLUMN hs2proxy.table_uses.uses IS 'Runs.';

CREATE VIEW hs2proxy.report_joins AS
SELECT u.name AS upstream, p.database_name AS database, p.fingerprint, j.ordinal AS join_no, j.join_types, j.tables,
       j.planned, j.simulated, j.agrees, j.expected, j.big_table_name AS big_table, j.budget_bytes, j.small_bytes,
       round(j.margin_factor::numeric, 3)::double precision AS margin, j.margin_next, j.reason, j.uncertain, j.vertex,
       p.hive_version, p.explained_at, q.runs, q.last_seen AS last_run, q.normalized AS query
FROM hs2proxy.latest_plans p
JOIN hs2proxy.joins j ON j.plan_id = p.id
JOIN hs2proxy.upstreams u ON u.id = p.upstream_id
JOIN hs2proxy.queries q ON q.fingerprint = p.fingerprint
ORDER BY p.explained_at DESC, u.name, p.database_name, p.fingerprint, j.ordinal;
COMMENT ON VIEW hs2proxy.report_joins IS 'Which strategy has every join, what would Hive''s selector choose from the same numbers, and why?';
COMMENT ON COLUMN hs2proxy.report_joins.upstream IS 'Server.';
COMMENT ON COLUMN hs2proxy.report_joins.database IS 'Current database of the sessions.';
COMMENT ON COLUMN hs2proxy.report_joins.fingerprint IS 'The query.';
COMMENT ON COLUMN hs2proxy.report_joins.join_no IS 'Number of the join in the plan, from 0.';
COMMENT ON COLUMN hs2proxy.report_joins.join_types IS 'Join types.';
COMMENT ON COLUMN hs2proxy.report_joins.tables IS 'Base tables, by input.';
COMMENT ON COLUMN hs2proxy.report_joins.planned IS 'Strategy in Hive''s plan.';
COMMENT ON COLUMN hs2proxy.report_joins.simulated IS 'Strategy the selector chooses from the plan''s numbers.';
COMMENT ON COLUMN hs2proxy.report_joins.agrees IS 'The two are equal, big table included.';
COMMENT ON COLUMN hs2proxy.report_joins.expected IS 'Strategy from the best-known true numbers; empty when nothing better is known.';
COMMENT ON COLUMN hs2proxy.report_joins.big_table IS 'Tables of the streamed side.';
COMMENT ON COLUMN hs2proxy.report_joins.budget_bytes IS 'What a hash table may take.';
COMMENT ON COLUMN hs2proxy.report_joins.small_bytes IS 'What the hash tables would take.';
COMMENT ON COLUMN hs2proxy.report_joins.margin IS 'Factor by which the hashed side may grow (above 1) or must shrink (below 1) before the strategy flips.';
COMMENT ON COLUMN hs2proxy.report_joins.margin_next IS 'Strategy after the flip.';
COMMENT ON COLUMN hs2proxy.report_joins.reason IS 'The deciding comparison.';
COMMENT ON COLUMN hs2proxy.report_joins.uncertain IS 'What had to be assumed.';
COMMENT ON COLUMN hs2proxy.report_joins.vertex IS 'Tez vertex.';
COMMENT ON COLUMN hs2proxy.report_joins.hive_version IS 'Version of the server.';
COMMENT ON COLUMN hs2proxy.report_joins.explained_at IS 'When the plan was last seen.';
COMMENT ON COLUMN hs2proxy.report_joins.runs IS 'Runs of the query so far.';
COMMENT ON COLUMN hs2proxy.report_joins.last_run IS 'Start of its last run.';
COMMENT ON COLUMN hs2proxy.report_joins.query IS 'Text without literals.';

CREATE VIEW hs2proxy.report_strategy_mismatch AS
SELECT u.name AS upstream, p.database_name AS database, p.fingerprint, j.ordinal AS join_no,
       CASE WHEN NOT j.agrees THEN 'UNEXPLAINED' ELSE 'STALE_STATISTICS' END AS problem,
       j.tables, j.planned, j.simulated, j.expected, j.budget_bytes, j.small_bytes, j.reason, j.uncertain,
       p.hive_version, p.explained_at, q.runs, q.normalized AS query
FROM hs2proxy.latest_plans p
JOIN hs2proxy.joins j ON j.plan_id = p.id
JOIN hs2proxy.upstreams u ON u.id = p.upstream_id
JOIN hs2proxy.queries q ON q.fingerprint = p.fingerprint
WHERE NOT j.agrees OR j.expected <> j.planned
ORDER BY q.runs DESC, p.explained_at DESC, p.fingerprint, j.ordinal;
COMMENT ON VIEW hs2proxy.report_strategy_mismatch IS 'Which joins run otherwise than they should: by stale statistics, or for a reason we cannot explain?';
COMMENT ON COLUMN hs2proxy.report_strategy_mismatch.upstream IS 'Server.';
COMMENT ON COLUMN hs2proxy.report_strategy_mismatch.database IS 'Current database of the sessions.';
COMMENT ON COLUMN hs2proxy.report_strategy_mismatch.fingerprint IS 'The query.';
COMMENT ON COLUMN hs2proxy.report_strategy_mismatch.join_no IS 'Number of the join in the plan, from 0.';
COMMENT ON COLUMN hs2proxy.report_strategy_mismatch.problem IS 'UNEXPLAINED: the simulation differs from the plan; STALE_STATISTICS: true numbers would give another strategy.';
COMMENT ON COLUMN hs2proxy.report_strategy_mismatch.tables IS 'Base tables, by input.';
COMMENT ON COLUMN hs2proxy.report_strategy_mismatch.planned IS 'Strategy in Hive''s plan.';
COMMENT ON COLUMN hs2proxy.report_strategy_mismatch.simulated IS 'Strategy the selector chooses from the plan''s numbers.';
COMMENT ON COLUMN hs2proxy.report_strategy_mismatch.expected IS 'Strategy from the best-known true numbers.';
COMMENT ON COLUMN hs2proxy.report_strategy_mismatch.budget_bytes IS 'What a hash table may take.';
COMMENT ON COLUMN hs2proxy.report_strategy_mismatch.small_bytes IS 'What the hash tables would take.';
COMMENT ON COLUMN hs2proxy.report_strategy_mismatch.reason IS 'The deciding comparison.';
COMMENT ON COLUMN hs2proxy.report_strategy_mismatch.uncertain IS 'What had to be assumed.';
COMMENT ON COLUMN hs2proxy.report_strategy_mismatch.hive_version IS 'Version of the server.';
COMMENT ON COLUMN hs2proxy.report_strategy_mismatch.explained_at IS 'When the plan was last seen.';
COMMENT ON COLUMN hs2proxy.report_strategy_mismatch.runs IS 'Runs of the query so far.';
COMMENT ON COLUMN hs2proxy.report_strategy_mismatch.query IS 'Text without literals.';

CREATE VIEW hs2proxy.report_stale_tables AS
SELECT u.name AS upstream, t.name AS table_name, s.partition_name AS partition, s.rule, s.level, s.reason, s.columns, s.since,
       round(t.health::numeric, 3)::double precision AS health, t.baseline_rows, t.writes_rows AS rows_written,
       t.writes_uncounted AS writes_uncounted, t.writes_last_at AS last_write, t.baseline_at,
       coalesce(tu.uses, 0) AS joins_7d, r.state AS refresh_state, r.effect AS refresh_effect, r.at AS refresh_at, t.checked_at
FROM hs2proxy.staleness s
JOIN hs2proxy.tables t ON t.id = s.table_id
JOIN hs2proxy.upstreams u ON u.id = t.upstream_id
LEFT JOIN hs2proxy.table_uses tu ON tu.table_id = t.id
LEFT JOIN LATERAL (
    SELECT f.state, f.effect, coalesce(f.ended_at, f.started_at, f.requested_at) AS at
    FROM hs2proxy.refreshes f
    WHERE f.table_name = t.name AND (f.upstream_id = t.upstream_id OR f.upstream_id IS NULL)
    ORDER BY f.id DESC LIMIT 1) r ON true
WHERE s.cleared_at IS NULL
ORDER BY array_position(ARRAY['CRITICAL', 'HIGH', 'STALE', 'WATCH', 'SUSPECT'], s.level), coalesce(tu.uses, 0) DESC, u.name, t.name, s.partition_name, s.rule;
COMMENT ON VIEW hs2proxy.report_stale_tables IS 'Which tables have statistics not to be trusted, by which rule, and how much are they joined?';
COMMENT ON COLUMN hs2proxy.report_stale_tables.upstream IS 'Server.';
COMMENT ON COLUMN hs2proxy.report_stale_tables.table_name IS 'database.table.';
COMMENT ON COLUMN hs2proxy.report_stale_tables.partition IS 'Partition; empty for the table itself.';
COMMENT ON COLUMN hs2proxy.report_stale_tables.rule IS 'R1 corrupt, R2 no basic statistics, R3 columns, R4 rows written, R6 uncounted writes, …';
COMMENT ON COLUMN hs2proxy.report_stale_tables.level IS 'CRITICAL, HIGH, STALE, WATCH, SUSPECT.';
COMMENT ON COLUMN hs2proxy.report_stale_tables.reason IS 'One sentence with the numbers.';
COMMENT ON COLUMN hs2proxy.report_stale_tables.columns IS 'Columns without valid statistics.';
COMMENT ON COLUMN hs2proxy.report_stale_tables.since IS 'Since when the rule holds.';
COMMENT ON COLUMN hs2proxy.report_stale_tables.health IS 'Worth of the table''s statistics, 0 to 1; empty when unknown.';
COMMENT ON COLUMN hs2proxy.report_stale_tables.baseline_rows IS 'Rows at the last verified ANALYZE.';
COMMENT ON COLUMN hs2proxy.report_stale_tables.rows_written IS 'Rows counted since.';
COMMENT ON COLUMN hs2proxy.report_stale_tables.writes_uncounted IS 'Writes since whose rows are unknown.';
COMMENT ON COLUMN hs2proxy.report_stale_tables.last_write IS 'Last write seen since.';
COMMENT ON COLUMN hs2proxy.report_stale_tables.baseline_at IS 'When the last verified ANALYZE was.';
COMMENT ON COLUMN hs2proxy.report_stale_tables.joins_7d IS 'Analysed runs of joins over the table in seven days.';
COMMENT ON COLUMN hs2proxy.report_stale_tables.refresh_state IS 'State of its last refresh.';
COMMENT ON COLUMN hs2proxy.report_stale_tables.refresh_effect IS 'Effect of its last refresh.';
COMMENT ON COLUMN hs2proxy.report_stale_tables.refresh_at IS 'When its last refresh ended, began or was asked for.';
COMMENT ON COLUMN hs2proxy.report_stale_tables.checked_at IS 'When the rules last ran.';

CREATE VIEW hs2proxy.report_refreshes AS
SELECT r.id, u.name AS upstream, r.table_name, r.mode, r.columns, r.partitions, r.state, r.effect,
       (r.before ->> 'rows')::bigint AS rows_before, (r.after ->> 'rows')::bigint AS rows_after,
       (r.before ->> 'total_size')::bigint AS bytes_before, (r.after ->> 'total_size')::bigint AS bytes_after,
       coalesce(p.before, '{}') AS strategies_before, coalesce(p.after, '{}') AS strategies_after,
       coalesce(p.changed, 0) AS joins_changed, coalesce(p.checked, 0) AS joins_checked, coalesce(p.changes, '{}') AS changes,
       r.requested_by, r.reason, r.requested_at, r.started_at, r.ended_at,
       round(extract(epoch FROM r.ended_at - r.started_at), 3)::double precision AS seconds,
       r.attempts, r.claimed_by, r.statements, r.error
FROM hs2proxy.refreshes r
LEFT JOIN hs2proxy.upstreams u ON u.id = r.upstream_id
LEFT JOIN LATERAL (
    SELECT count(*) AS checked, count(*) FILTER (WHERE c.strategy_before <> c.strategy_after) AS changed,
           array_agg(c.strategy_before ORDER BY c.position) AS before, array_agg(c.strategy_after ORDER BY c.position) AS after,
           array_agg(c.fingerprint || ' join ' || c.ordinal || ': ' || c.strategy_before || ' → ' || c.strategy_after ORDER BY c.position)
               FILTER (WHERE c.strategy_before <> c.strategy_after) AS changes
    FROM hs2proxy.refresh_plans c WHERE c.refresh_id = r.id) p ON true
ORDER BY r.id DESC;
COMMENT ON VIEW hs2proxy.report_refreshes IS 'Which statistics were refreshed, on whose word, and what changed: rows, bytes, strategies?';
COMMENT ON COLUMN hs2proxy.report_refreshes.id IS 'Number of the request.';
COMMENT ON COLUMN hs2proxy.report_refreshes.upstream IS 'Server; empty: any.';
COMMENT ON COLUMN hs2proxy.report_refreshes.table_name IS 'database.table.';
COMMENT ON COLUMN hs2proxy.report_refreshes.mode IS 'BASIC or COLUMNS.';
COMMENT ON COLUMN hs2proxy.report_refreshes.columns IS 'Columns analysed; empty before it ran: those that joins read.';
COMMENT ON COLUMN hs2proxy.report_refreshes.partitions IS 'Partitions it is limited to; empty: the whole table.';
COMMENT ON COLUMN hs2proxy.report_refreshes.state IS 'REQUESTED, RUNNING, DONE, FAILED.';
COMMENT ON COLUMN hs2proxy.report_refreshes.effect IS 'EFFECTIVE, NO_CHANGE, INEFFECTIVE, FAILED; empty until it ended.';
COMMENT ON COLUMN hs2proxy.report_refreshes.rows_before IS 'numRows before; empty when Hive had none.';
COMMENT ON COLUMN hs2proxy.report_refreshes.rows_after IS 'numRows after.';
COMMENT ON COLUMN hs2proxy.report_refreshes.bytes_before IS 'totalSize before.';
COMMENT ON COLUMN hs2proxy.report_refreshes.bytes_after IS 'totalSize after.';
COMMENT ON COLUMN hs2proxy.report_refreshes.strategies_before IS 'Strategies of the joins that read the table, before.';
COMMENT ON COLUMN hs2proxy.report_refreshes.strategies_after IS 'The same, after, in the same order.';
COMMENT ON COLUMN hs2proxy.report_refreshes.joins_changed IS 'How many of them changed.';
COMMENT ON COLUMN hs2proxy.report_refreshes.joins_checked IS 'How many were explained again.';
COMMENT ON COLUMN hs2proxy.report_refreshes.changes IS 'Each change with its query.';
COMMENT ON COLUMN hs2proxy.report_refreshes.requested_by IS 'Schedule or person.';
COMMENT ON COLUMN hs2proxy.report_refreshes.reason IS 'Why.';
COMMENT ON COLUMN hs2proxy.report_refreshes.requested_at IS 'When it was asked for.';
COMMENT ON COLUMN hs2proxy.report_refreshes.started_at IS 'When it began.';
COMMENT ON COLUMN hs2proxy.report_refreshes.ended_at IS 'When it ended.';
COMMENT ON COLUMN hs2proxy.report_refreshes.seconds IS 'How long it took.';
COMMENT ON COLUMN hs2proxy.report_refreshes.attempts IS 'How often it was started.';
COMMENT ON COLUMN hs2proxy.report_refreshes.claimed_by IS 'Proxy that ran it.';
COMMENT ON COLUMN hs2proxy.report_refreshes.partitions IS 'Partitions it is limited to; empty: the whole table.';
COMMENT ON COLUMN hs2proxy.report_refreshes.statements IS 'HiveQL that ran.';
COMMENT ON COLUMN hs2proxy.report_refreshes.error IS 'Hive''s words when it failed.';

CREATE VIEW hs2proxy.report_plan_changes AS
SELECT p.first_explained_at AS changed_at, u.name AS upstream, p.database_name AS database, p.fingerprint,
       c.ordinal AS join_no, c.tables, c.strategy_before, c.strategy_after,
       array_remove(ARRAY[
           CASE WHEN c.rows_before IS DISTINCT FROM c.rows_after OR c.bytes_before IS DISTINCT FROM c.bytes_after THEN 'STATISTICS' END,
           CASE WHEN o.settings_hash <> p.settings_hash THEN 'SETTINGS' END,
           CASE WHEN o.hive_version <> p.hive_version AND o.hive_version <> '' AND p.hive_version <> '' THEN 'VERSION' END], NULL) AS what_changed,
       c.rows_before, c.rows_after, c.bytes_before, c.bytes_after,
       ARRAY(SELECT coalesce(a.key, b.key) || ': ' || coalesce(a.value, '(unset)') || ' → ' || coalesce(b.value, '(unset)')
             FROM jsonb_each_text(o.settings) a FULL JOIN jsonb_each_text(p.settings) b ON a.key = b.key
             WHERE a.value IS DISTINCT FROM b.value ORDER BY 1) AS settings_changed,
       o.hive_version AS version_before, p.hive_version AS version_after, p.cause, c.reason, q.normalized AS query
FROM hs2proxy.plans p
JOIN LATERAL (
    SELECT e.id, e.settings_hash, e.settings, e.hive_version
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
COMMENT ON VIEW hs2proxy.report_plan_changes IS 'Which queries changed their join strategy, when, and what had changed: statistics, settings or the version?';
COMMENT ON COLUMN hs2proxy.report_plan_changes.changed_at IS 'When the new plan was first seen.';
COMMENT ON COLUMN hs2proxy.report_plan_changes.upstream IS 'Server.';
COMMENT ON COLUMN hs2proxy.report_plan_changes.database IS 'Current database of the sessions.';
COMMENT ON COLUMN hs2proxy.report_plan_changes.fingerprint IS 'The query.';
COMMENT ON COLUMN hs2proxy.report_plan_changes.join_no IS 'Number of the join in the plan, from 0.';
COMMENT ON COLUMN hs2proxy.report_plan_changes.tables IS 'Base tables, by input.';
COMMENT ON COLUMN hs2proxy.report_plan_changes.strategy_before IS 'Strategy before; empty for a join that is new. Equal to the one after when only the streamed side changed.';
COMMENT ON COLUMN hs2proxy.report_plan_changes.strategy_after IS 'Strategy after; empty for a join that is gone.';
COMMENT ON COLUMN hs2proxy.report_plan_changes.what_changed IS 'STATISTICS (the inputs'' rows or bytes), SETTINGS, VERSION; may be several, or none.';
COMMENT ON COLUMN hs2proxy.report_plan_changes.rows_before IS 'Estimated rows of the inputs before.';
COMMENT ON COLUMN hs2proxy.report_plan_changes.rows_after IS 'Estimated rows of the inputs after.';
COMMENT ON COLUMN hs2proxy.report_plan_changes.bytes_before IS 'Estimated bytes of the inputs before.';
COMMENT ON COLUMN hs2proxy.report_plan_changes.bytes_after IS 'Estimated bytes of the inputs after.';
COMMENT ON COLUMN hs2proxy.report_plan_changes.settings_changed IS 'Settings that differ.';
COMMENT ON COLUMN hs2proxy.report_plan_changes.version_before IS 'Hive version before.';
COMMENT ON COLUMN hs2proxy.report_plan_changes.version_after IS 'Hive version after.';
COMMENT ON COLUMN hs2proxy.report_plan_changes.cause IS 'Why the query was explained again.';
COMMENT ON COLUMN hs2proxy.report_plan_changes.reason IS 'The deciding comparison of the new strategy.';
COMMENT ON COLUMN hs2proxy.report_plan_changes.query IS 'Text without literals.';

CREATE VIEW hs2proxy.report_top_joins AS
SELECT u.name AS upstream, p.database_name AS database, p.fingerprint, j.ordinal AS join_no, j.tables, j.planned, j.expected,
       coalesce(n.uses, 0) AS runs_7d, j.bytes_moved, j.input_rows, j.output_rows,
       least(j.bytes_moved::numeric * coalesce(n.uses, 0), 9223372036854775807)::bigint AS bytes_moved_7d,
       least(j.input_rows::numeric * coalesce(n.uses, 0), 9223372036854775807)::bigint AS rows_read_7d,
       j.reason, p.explained_at, q.normalized AS query
FROM hs2proxy.latest_plans p
JOIN hs2proxy.joins j ON j.plan_id = p.id
JOIN hs2proxy.upstreams u ON u.id = p.upstream_id
JOIN hs2proxy.queries q ON q.fingerprint = p.fingerprint
LEFT JOIN hs2proxy.query_uses n ON n.upstream_id = p.upstream_id AND n.fingerprint = p.fingerprint AND n.database_name = p.database_name
ORDER BY j.bytes_moved::numeric * coalesce(n.uses, 0) DESC NULLS LAST, j.input_rows::numeric * coalesce(n.uses, 0) DESC NULLS LAST,
         u.name, p.database_name, p.fingerprint, j.ordinal;
COMMENT ON VIEW hs2proxy.report_top_joins IS 'Which joins cost most: bytes that cross the network times runs in the last seven days?';
COMMENT ON COLUMN hs2proxy.report_top_joins.upstream IS 'Server.';
COMMENT ON COLUMN hs2proxy.report_top_joins.database IS 'Current database of the sessions.';
COMMENT ON COLUMN hs2proxy.report_top_joins.fingerprint IS 'The query.';
COMMENT ON COLUMN hs2proxy.report_top_joins.join_no IS 'Number of the join in the plan, from 0.';
COMMENT ON COLUMN hs2proxy.report_top_joins.tables IS 'Base tables, by input.';
COMMENT ON COLUMN hs2proxy.report_top_joins.planned IS 'Strategy in Hive''s plan.';
COMMENT ON COLUMN hs2proxy.report_top_joins.expected IS 'Strategy from the best-known true numbers; empty when nothing better is known.';
COMMENT ON COLUMN hs2proxy.report_top_joins.runs_7d IS 'Analysed runs in seven days.';
COMMENT ON COLUMN hs2proxy.report_top_joins.bytes_moved IS 'Estimated bytes over the network per run, at least.';
COMMENT ON COLUMN hs2proxy.report_top_joins.input_rows IS 'Estimated rows of the inputs per run.';
COMMENT ON COLUMN hs2proxy.report_top_joins.output_rows IS 'Estimated rows of the result per run.';
COMMENT ON COLUMN hs2proxy.report_top_joins.bytes_moved_7d IS 'Bytes times runs.';
COMMENT ON COLUMN hs2proxy.report_top_joins.rows_read_7d IS 'Rows times runs.';
COMMENT ON COLUMN hs2proxy.report_top_joins.reason IS 'Why it has its strategy.';
COMMENT ON COLUMN hs2proxy.report_top_joins.explained_at IS 'When the plan was last seen.';
COMMENT ON COLUMN hs2proxy.report_top_joins.query IS 'Text without literals.';

CREATE VIEW hs2proxy.report_settings AS
SELECT u.name AS upstream, s.name, s.value, s.hive_default,
       CASE WHEN s.hive_default IS NULL THEN NULL ELSE s.value <> s.hive_default END AS differs, s.read_at
FROM hs2proxy.settings s
JOIN hs2proxy.upstreams u ON u.id = s.upstream_id
ORDER BY u.name, CASE WHEN s.hive_default IS NULL THEN 1 WHEN s.value <> s.hive_default THEN 0 ELSE 2 END, s.name;
COMMENT ON VIEW hs2proxy.report_settings IS 'Which settings that decide join strategies are in force, and which differ from Hive''s defaults?';
COMMENT ON COLUMN hs2proxy.report_settings.upstream IS 'Server.';
COMMENT ON COLUMN hs2proxy.report_settings.name IS 'Setting.';
COMMENT ON COLUMN hs2proxy.report_settings.value IS 'Value of a new session.';
COMMENT ON COLUMN hs2proxy.report_settings.hive_default IS 'Hive''s default; empty when unknown.';
COMMENT ON COLUMN hs2proxy.report_settings.differs IS 'The two differ; empty when the default is unknown.';
COMMENT ON COLUMN hs2proxy.report_settings.read_at IS 'When it was read.';

CREATE VIEW hs2proxy.report_statements AS
SELECT t.started_at, u.name AS upstream, s.user_name, s.client_addr, t.kind, t.database_name AS database, t.state,
       round(extract(epoch FROM t.ended_at - t.started_at), 3)::double precision AS seconds, t.modified_rows,
       t.error_code, t.error_message AS error, t.analyzed_at IS NOT NULL AS analyzed, t.explain_error,
       ARRAY(SELECT j.planned FROM hs2proxy.joins j WHERE j.plan_id = t.plan_id ORDER BY j.ordinal) AS strategies,
       t.fingerprint, coalesce(t.sql_text, q.normalized) AS query, t.id AS statement_id, t.session_id, t.operation_id
FROM hs2proxy.statements t
JOIN hs2proxy.sessions s ON s.id = t.session_id
JOIN hs2proxy.upstreams u ON u.id = s.upstream_id
LEFT JOIN hs2proxy.queries q ON q.fingerprint = t.fingerprint
ORDER BY t.started_at DESC, t.id DESC;
COMMENT ON VIEW hs2proxy.report_statements IS 'What ran, by whom, with which outcome, and how long did it take?';
COMMENT ON COLUMN hs2proxy.report_statements.started_at IS 'When the call was seen.';
COMMENT ON COLUMN hs2proxy.report_statements.upstream IS 'Server.';
COMMENT ON COLUMN hs2proxy.report_statements.user_name IS 'User.';
COMMENT ON COLUMN hs2proxy.report_statements.client_addr IS 'Client.';
COMMENT ON COLUMN hs2proxy.report_statements.kind IS 'Kind of statement.';
COMMENT ON COLUMN hs2proxy.report_statements.database IS 'Current database.';
COMMENT ON COLUMN hs2proxy.report_statements.state IS 'Outcome; LOST: the connection ended first.';
COMMENT ON COLUMN hs2proxy.report_statements.seconds IS 'From the call to the final state as seen on the wire.';
COMMENT ON COLUMN hs2proxy.report_statements.modified_rows IS 'Rows written, where Hive told.';
COMMENT ON COLUMN hs2proxy.report_statements.error_code IS 'Hive''s error code; 0 without an error.';
COMMENT ON COLUMN hs2proxy.report_statements.error IS 'Hive''s message.';
COMMENT ON COLUMN hs2proxy.report_statements.analyzed IS 'EXPLAIN was asked.';
COMMENT ON COLUMN hs2proxy.report_statements.explain_error IS 'Hive''s words when EXPLAIN failed.';
COMMENT ON COLUMN hs2proxy.report_statements.strategies IS 'Strategies of its joins, in plan order.';
COMMENT ON COLUMN hs2proxy.report_statements.fingerprint IS 'The query.';
COMMENT ON COLUMN hs2proxy.report_statements.query IS 'Text; without literals unless they are kept.';
COMMENT ON COLUMN hs2proxy.report_statements.statement_id IS 'Our key.';
COMMENT ON COLUMN hs2proxy.report_statements.session_id IS 'Session, as in Hive''s log.';
COMMENT ON COLUMN hs2proxy.report_statements.operation_id IS 'Operation handle.';

CREATE VIEW hs2proxy.report_findings AS
SELECT u.name AS upstream, f.severity, f.kind, f.subject, f.summary, f.advice, f.times, f.first_seen, f.last_seen, f.fingerprint,
       f.evidence, q.normalized AS query
FROM hs2proxy.findings f
JOIN hs2proxy.upstreams u ON u.id = f.upstream_id
JOIN hs2proxy.queries q ON q.fingerprint = f.fingerprint
ORDER BY array_position(ARRAY['CRITICAL', 'HIGH', 'MEDIUM', 'LOW', 'INFO'], f.severity), f.last_seen DESC, f.id DESC;
COMMENT ON VIEW hs2proxy.report_findings IS 'What is worth telling the owner of a query, and what would help?';
COMMENT ON COLUMN hs2proxy.report_findings.upstream IS 'Server.';
COMMENT ON COLUMN hs2proxy.report_findings.severity IS 'CRITICAL, HIGH, MEDIUM, LOW, INFO.';
COMMENT ON COLUMN hs2proxy.report_findings.kind IS 'The rule.';
COMMENT ON COLUMN hs2proxy.report_findings.subject IS 'What it is about.';
COMMENT ON COLUMN hs2proxy.report_findings.summary IS 'One sentence with the numbers.';
COMMENT ON COLUMN hs2proxy.report_findings.advice IS 'SQL or a SET to try.';
COMMENT ON COLUMN hs2proxy.report_findings.times IS 'Analysed statements that showed it.';
COMMENT ON COLUMN hs2proxy.report_findings.first_seen IS 'When it was first seen.';
COMMENT ON COLUMN hs2proxy.report_findings.last_seen IS 'When it was last seen.';
COMMENT ON COLUMN hs2proxy.report_findings.fingerprint IS 'The query.';
COMMENT ON COLUMN hs2proxy.report_findings.evidence IS 'The numbers by name.';
COMMENT ON COLUMN hs2proxy.report_findings.query IS 'Text without literals.';

CREATE VIEW hs2proxy.report_health AS
SELECT u.name AS upstream, u.hive_version, st.statements_24h, st.failed_24h, st.analyzed_24h, st.explain_failed_24h, st.last_statement,
       coalesce(j.joins, 0) AS joins, coalesce(j.unexplained, 0) AS joins_unexplained,
       coalesce(x.stale, 0) AS tables_stale, coalesce(r.open, 0) AS refreshes_open
FROM hs2proxy.upstreams u
CROSS JOIN LATERAL (
    SELECT count(*) AS statements_24h, count(*) FILTER (WHERE t.state = 'ERROR') AS failed_24h,
           count(t.analyzed_at) AS analyzed_24h, count(*) FILTER (WHERE t.explain_error <> '') AS explain_failed_24h,
           max(t.started_at) AS last_statement
    FROM hs2proxy.statements t JOIN hs2proxy.sessions s ON s.id = t.session_id
    WHERE s.upstream_id = u.id AND t.started_at > now() - interval '1 day') st
LEFT JOIN (SELECT p.upstream_id, count(*) AS joins, count(*) FILTER (WHERE NOT k.agrees) AS unexplained
           FROM hs2proxy.latest_plans p JOIN hs2proxy.joins k ON k.plan_id = p.id GROUP BY p.upstream_id) j ON j.upstream_id = u.id
LEFT JOIN (SELECT t.upstream_id, count(DISTINCT t.id) AS stale
           FROM hs2proxy.staleness s JOIN hs2proxy.tables t ON t.id = s.table_id WHERE s.cleared_at IS NULL GROUP BY t.upstream_id) x ON x.upstream_id = u.id
LEFT JOIN (SELECT f.upstream_id, count(*) AS open
           FROM hs2proxy.refreshes f WHERE f.state IN ('REQUESTED', 'RUNNING') GROUP BY f.upstream_id) r ON r.upstream_id = u.id
ORDER BY u.name;
COMMENT ON VIEW hs2proxy.report_health IS 'Is everything observed: how many statements, how many analysed, how many joins explained, on each server?';
COMMENT ON COLUMN hs2proxy.report_health.upstream IS 'Server.';
COMMENT ON COLUMN hs2proxy.report_health.hive_version IS 'Its version.';
COMMENT ON COLUMN hs2proxy.report_health.statements_24h IS 'Statements started in the last 24 hours.';
COMMENT ON COLUMN hs2proxy.report_health.failed_24h IS 'Those that ended with an error of Hive''s.';
COMMENT ON COLUMN hs2proxy.report_health.analyzed_24h IS 'Those that were explained or took a verdict from memory.';
COMMENT ON COLUMN hs2proxy.report_health.explain_failed_24h IS 'Those whose EXPLAIN failed.';
COMMENT ON COLUMN hs2proxy.report_health.last_statement IS 'Start of the last of them.';
COMMENT ON COLUMN hs2proxy.report_health.joins IS 'Joins in the latest plans.';
COMMENT ON COLUMN hs2proxy.report_health.joins_unexplained IS 'Those where the simulation differs from the plan.';
COMMENT ON COLUMN hs2proxy.report_health.tables_stale IS 'Tables for which a rule holds.';
COMMENT ON COLUMN hs2proxy.report_health.refreshes_open IS 'Refreshes that wait or run.';
