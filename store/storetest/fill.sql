-- A busy installation, made from fill.tables and fill.statements (a day, for fill.days days): see Fill. Keys are those of an empty
-- database. Foreign keys are not checked while it is filled.

INSERT INTO hs2proxy.upstreams (name, hive_version, first_seen)
SELECT 'hive-' || i, '4.0.1', now() - interval '1 year' FROM generate_series(1, 2) i;

INSERT INTO hs2proxy.settings (upstream_id, name, value, hive_default, read_at)
SELECT u.id, 'hive.setting.' || i, i::text, (i / 10 * 10)::text, now() FROM hs2proxy.upstreams u, generate_series(1, 70) i;

-- Tables: each tenth has a hundred partitions.
INSERT INTO hs2proxy.tables (upstream_id, name, first_seen, used_at, join_columns, other_columns, plan_basic, plan_column, baseline_rows, baseline_bytes,
    baseline_columns, baseline_at, writes_rows, writes_counted, writes_last_at, health, checked_at, plan_rows, known_rows, known_rows_from, known_bytes,
    known_bytes_from, columns_needed, columns_covered)
SELECT 1 + i % 2, 'db' || i % 50 || '.table_' || i, now() - interval '90 days', now() - random() * interval '2 days', '{id,customer_id}', '{created,amount}',
       'COMPLETE', 'PARTIAL', n.rows, n.rows * 80, '{id,customer_id}', now() - random() * interval '20 days', (n.rows * random() * 0.4)::bigint, i % 40,
       now() - random() * interval '1 day', CASE WHEN i % 7 > 0 THEN random() END, now() - random() * interval '10 minutes', n.rows, n.rows,
       'WIRE', n.rows * 80, 'METASTORE', '{id,customer_id,created}', '{id,customer_id}'
FROM generate_series(1, current_setting('fill.tables')::int) i, LATERAL (SELECT (10 ^ (2 + i % 8) * (1 + random()))::bigint AS rows) n;

INSERT INTO hs2proxy.partitions (table_id, name, baseline_rows, baseline_bytes, baseline_at, read_at)
SELECT t.id, 'ds=' || (current_date - p), 1000, 80000, now() - interval '3 days', now() - random() * interval '1 day'
FROM hs2proxy.tables t, generate_series(1, 100) p WHERE t.id % 10 = 0;

-- Snapshots of statistics: three of each table, one of each partition, five columns in each.
INSERT INTO hs2proxy.table_stats (table_id, partition_name, content_hash, kind, num_rows, raw_data_size, total_size, num_files, num_partitions,
    basic_accurate, columns_accurate, transactional, storage_handler, detail, columns_read, first_read_at, read_at)
SELECT t.id, x.part, md5(t.id || x.part || x.age), 'MANAGED_TABLE', t.baseline_rows, t.baseline_bytes * 2, t.baseline_bytes, 20, CASE WHEN t.id % 10 = 0 THEN 100 END,
       true, '{id,customer_id}', false, '', jsonb_build_object('parameters', jsonb_build_object('numRows', t.baseline_rows, 'transient_lastDdlTime', '1700000000')),
       '{id,customer_id,created,amount,state}', now() - (x.age + 1) * interval '2 days', now() - x.age * interval '2 days'
FROM hs2proxy.tables t
CROSS JOIN LATERAL (SELECT '' AS part, g AS age FROM generate_series(0, 2) g
                    UNION ALL SELECT p.name, 0 FROM hs2proxy.partitions p WHERE p.table_id = t.id) x;

INSERT INTO hs2proxy.column_stats (table_stats_id, column_name, ndv, nulls, avg_len, max_len, low, high)
SELECT s.id, c.name, s.num_rows / 3, 0, 8, 12, '1', '99999' FROM hs2proxy.table_stats s, unnest(ARRAY['id', 'customer_id', 'created', 'amount', 'state']) c(name);

-- Queries, two for each table; three in four have plans, half of these a second one, and plans have one to three joins.
INSERT INTO hs2proxy.queries (fingerprint, kind, normalized, first_seen, last_seen, runs)
SELECT md5('query ' || i), CASE WHEN i % 10 = 0 THEN 'INSERT' ELSE 'SELECT' END,
       'SELECT a.id, sum(b.amount) FROM table_' || i || ' a JOIN table_' || i + 1 || ' b ON a.id = b.customer_id WHERE a.created > ? AND b.state IN (?) GROUP BY a.id'
       || repeat(' -- a longer text', i % 20),
       now() - interval '60 days', now() - random() * interval '3 days', 100 + i
FROM generate_series(1, 2 * current_setting('fill.tables')::int) i;

INSERT INTO hs2proxy.plans (upstream_id, fingerprint, database_name, settings_hash, plan_hash, hive_version, settings, cause, first_explained_at, explained_at,
    explains, explain_time)
SELECT 1 + i % 2, md5('query ' || i), 'db' || i % 50, 's1', 'p' || g, '4.0.1', (SELECT jsonb_object_agg('hive.setting.' || k, k::text) FROM generate_series(1, 70) k),
       CASE g WHEN 0 THEN 'FIRST' ELSE 'STATISTICS' END, now() - (30 - 20 * g) * interval '1 day', now() - (10 - 10 * g) * interval '1 day' * CASE WHEN i % 4 = 2 THEN 0.1 ELSE 1 END,
       20, interval '0.2 seconds'
FROM generate_series(1, 2 * current_setting('fill.tables')::int) i, generate_series(0, 1) g WHERE i % 4 > 0 AND (g = 0 OR i % 4 <> 2)
ORDER BY g, i;

INSERT INTO hs2proxy.plan_tables (plan_id, table_id, partitions, partitions_read, build)
SELECT DISTINCT ON (p.id, x.id) p.id, x.id, CASE WHEN x.id % 10 = 0 THEN ARRAY['ds=' || (current_date - 1)] ELSE '{}' END, CASE WHEN x.id % 10 = 0 THEN 1 ELSE 0 END, g = 1
FROM hs2proxy.plans p, generate_series(0, 2) g,
     LATERAL (SELECT 1 + (current_setting('fill.tables')::int * power(random(), 2) + p.id * 0)::bigint % current_setting('fill.tables')::int AS id) x;

INSERT INTO hs2proxy.joins (plan_id, ordinal, operator_id, vertex, join_types, tables, planned, simulated, expected, agrees, big_table, big_table_name, budget_bytes,
    small_bytes, input_rows, input_bytes, bytes_moved, output_rows, output_bytes, margin_factor, margin_next, reason, uncertain, inputs, attempts, detail,
    witnessed, witnessed_budget, witnessed_sizes, simulated_sizes, witnessed_entries, simulated_entries)
SELECT p.id, o, 'MAPJOIN_' || 20 + o, 'Map ' || o, '{INNER}', n.names, s.planned, s.simulated, CASE WHEN p.id % 20 = 0 THEN 'MERGE_JOIN' ELSE s.planned END,
       s.planned = s.simulated, CASE WHEN s.planned = 'MAP_JOIN' THEN 0 ELSE -1 END, n.names[1], 10000000, 9000000 + o * 1000, 1000000, 80000000, 80000000, 50000, 4000000,
       1.1, 'MERGE_JOIN', 'the hashed side needs 8.6 MB of hash table, the budget is 9.5 MB', '{}',
       (SELECT jsonb_agg(jsonb_build_object('position', k, 'tables', jsonb_build_array(n.names[k + 1]), 'rows', 1000000, 'data_size', 80000000, 'basic_stats', 'COMPLETE',
               'column_stats', 'COMPLETE', 'keys', jsonb_build_array(jsonb_build_object('expr', 'id (type: bigint)', 'type', 'bigint', 'table', n.names[k + 1], 'column', 'id', 'ndv', 500)),
               'columns', jsonb_build_array('_col0', '_col1', '_col2'))) FROM generate_series(0, 1) k),
       '[{"strategy": "MAP_JOIN", "check": "size", "ok": true, "left": 9000000, "right": 10000000}]', '{"operator": "Map Join Operator"}',
       s.planned, 10000000 + CASE WHEN p.id % 50 = 0 THEN 1 ELSE 0 END, ARRAY[9000000 + CASE WHEN p.id % 30 = 0 THEN 90000 ELSE 0 END, NULL]::bigint[],
       ARRAY[9000000, NULL]::bigint[], ARRAY[500, NULL]::bigint[], ARRAY[500, NULL]::bigint[]
FROM hs2proxy.plans p
CROSS JOIN LATERAL (SELECT array_agg(t.name ORDER BY t.id) AS names FROM hs2proxy.plan_tables x JOIN hs2proxy.tables t ON t.id = x.table_id WHERE x.plan_id = p.id) n
CROSS JOIN LATERAL generate_series(0, (p.id % 3)::int) o
CROSS JOIN LATERAL (SELECT CASE WHEN (p.id + o) % 3 = 0 THEN 'MERGE_JOIN' ELSE 'MAP_JOIN' END AS planned,
                           CASE WHEN (p.id + o) % 3 = 0 OR p.id % 100 = 0 THEN 'MERGE_JOIN' ELSE 'MAP_JOIN' END AS simulated) s;

CREATE TEMP TABLE latest AS SELECT DISTINCT ON (p.fingerprint) p.fingerprint, p.id FROM hs2proxy.plans p ORDER BY p.fingerprint, p.id DESC;
CREATE TEMP TABLE numbered AS SELECT row_number() OVER (ORDER BY q.fingerprint) AS number, q.fingerprint, q.kind, l.id AS plan
FROM hs2proxy.queries q LEFT JOIN latest l ON l.fingerprint = q.fingerprint;
CREATE UNIQUE INDEX ON numbered (number);

INSERT INTO hs2proxy.plan_uses (plan_id, day, uses)
SELECT n.plan, (now() AT TIME ZONE 'UTC')::date - d, 1 + 2 * current_setting('fill.statements')::bigint / n.number / 10
FROM numbered n, generate_series(0, current_setting('fill.days')::int - 1) d WHERE n.plan IS NOT NULL;

-- Fifty statements in a session.
INSERT INTO hs2proxy.sessions (id, upstream_id, user_name, client_addr, auth, client_protocol, client_name, configuration, settings, database_name, opened_at, closed_at)
SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid, 1 + i % 2, 'user' || i % 300, '10.0.0.7:' || i % 60000, 'SASL PLAIN', 10, 'beeline',
       '{"use:database": "db1"}', '{"hive.auto.convert.join": "true"}', 'db' || i % 50, x.at, x.at + interval '20 minutes'
FROM generate_series(0, current_setting('fill.days')::bigint * current_setting('fill.statements')::bigint / 50) i,
     LATERAL (SELECT now() - interval '1 day' * (current_setting('fill.days')::int - i * 50.0 / current_setting('fill.statements')::int) AS at) x;

-- The indexes of statements are made again behind the rows.
CREATE TEMP TABLE indexes AS SELECT pg_get_indexdef(i.indexrelid) AS def, i.indexrelid::regclass::text AS name
FROM pg_index i WHERE i.indrelid = 'hs2proxy.statements'::regclass AND NOT i.indisprimary;
DO $$
DECLARE r record;
BEGIN
    FOR r IN SELECT x.name FROM indexes x LOOP EXECUTE 'DROP INDEX ' || r.name; END LOOP;
END $$;

INSERT INTO hs2proxy.statements (id, session_id, operation_id, fingerprint, plan_id, kind, database_name, state, error_code, error_message, modified_rows,
    started_at, ended_at, analyzed_at)
SELECT (lpad(to_hex((extract(epoch FROM x.at) * 1000)::bigint), 12, '0') || '7' || substr(x.hash, 1, 3) || '8' || substr(x.hash, 4, 15))::uuid,
       ('00000000-0000-7000-8000-' || lpad(to_hex(x.i / 50), 12, '0'))::uuid, x.hash::uuid, n.fingerprint, n.plan, n.kind, 'db' || x.i % 50,
       CASE WHEN x.i % 50 = 0 THEN 'ERROR' WHEN x.i % 1000 = 1 THEN 'LOST' ELSE 'FINISHED' END, CASE WHEN x.i % 50 = 0 THEN 40000 ELSE 0 END,
       CASE WHEN x.i % 50 = 0 THEN 'Error while compiling statement: FAILED: ParseException' ELSE '' END, CASE WHEN n.kind = 'INSERT' THEN 1000 END,
       x.at, x.at + random() * interval '30 seconds', CASE WHEN n.plan IS NOT NULL THEN x.at END
FROM (SELECT i, md5(i::text) AS hash, now() - interval '1 day' * (current_setting('fill.days')::int - i::double precision / current_setting('fill.statements')::int) AS at,
             1 + (2 * (current_setting('fill.tables')::int - 1) * power(random(), 3))::bigint AS number
      FROM generate_series(0, current_setting('fill.days')::bigint * current_setting('fill.statements')::bigint - 1) i) x
JOIN numbered n ON n.number = x.number;

DO $$
DECLARE r record;
BEGIN
    FOR r IN SELECT x.def FROM indexes x LOOP EXECUTE r.def; END LOOP;
END $$;

INSERT INTO hs2proxy.table_writes (table_id, statement_id, op, written_rows, columns_changed, written_at)
SELECT 1 + (x.number * 7919) % current_setting('fill.tables')::bigint, x.id, 'INSERT', 1000, false, x.ended_at
FROM (SELECT s.id, s.ended_at, row_number() OVER () AS number FROM hs2proxy.statements s WHERE s.kind = 'INSERT' AND s.state = 'FINISHED') x;

INSERT INTO hs2proxy.analyzes (table_id, statement_id, partition, for_columns, columns, counts_rows, ended_at)
SELECT t.id, md5('analyze ' || t.id || g)::uuid, '', true, '{}', true, now() - g * interval '1 day' FROM hs2proxy.tables t, generate_series(1, 3) g WHERE t.id % 3 = 0;
INSERT INTO hs2proxy.foreign_writes (table_id, since, seen_at, bytes_before, bytes_after, files_before, files_after, followed, listed)
SELECT t.id, now() - (g + 1) * interval '1 day', now() - g * interval '1 day', 1000, 2000, 10, 20, false, false FROM hs2proxy.tables t, generate_series(1, 5) g WHERE t.id % 8 = 0;
INSERT INTO hs2proxy.contradictions (table_id, statement_id, kind, estimated_rows, actual_rows, at_least, certain, words, at)
SELECT t.id, md5('contradiction ' || t.id || g)::uuid, 'ROWS', 1000, 90000, true, true, '', now() - g * interval '1 day' FROM hs2proxy.tables t, generate_series(1, 3) g WHERE t.id % 9 = 0;

-- One table in four is stale, one in forty with twenty of its partitions.
INSERT INTO hs2proxy.staleness (table_id, partition_name, rule, level, reason, evidence, columns, since, seen_at, cleared_at)
SELECT t.id, x.part, x.rule, (ARRAY['SUSPECT', 'WATCH', 'STALE', 'HIGH', 'CRITICAL'])[1 + t.id % 5], 'the statistics counted 500 rows, 15000 were written since', '{"rows": 15000}', '{}',
       now() - interval '2 days', now(), CASE WHEN t.id % 16 = 4 THEN now() - interval '1 day' END
FROM hs2proxy.tables t
CROSS JOIN LATERAL (SELECT '' AS part, 'R' || 1 + t.id % 9 AS rule UNION ALL SELECT '', 'R' || 1 + (t.id + 4) % 9
                    UNION ALL SELECT p.name, 'R4' FROM (SELECT * FROM hs2proxy.partitions p WHERE p.table_id = t.id LIMIT 20) p) x
WHERE t.id % 4 = 0
ON CONFLICT DO NOTHING;

-- Each advisor's findings for one query in two, some of them muted; one about a server.
INSERT INTO hs2proxy.findings (upstream_id, fingerprint, kind, subject, severity, summary, evidence, advice, plan_id, first_seen, last_seen, times, advisor, doc, tables)
SELECT p.upstream_id, p.fingerprint, a.name || '_kind_' || p.id % 6, 'join 0', (ARRAY['INFO', 'LOW', 'MEDIUM', 'HIGH', 'CRITICAL'])[1 + p.id % 5],
       'the copied side had 98 million rows, the planner expected 8,000', '{"estimated_rows": 8000, "actual_rows": 98000000}', 'ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS', p.id,
       now() - interval '20 days', now() - random() * interval '5 days', 1 + p.id % 1000, a.name, 'docs/findings/README.md',
       ARRAY(SELECT t.name FROM hs2proxy.plan_tables x JOIN hs2proxy.tables t ON t.id = x.table_id WHERE x.plan_id = p.id)
FROM hs2proxy.plans p
JOIN latest l ON l.id = p.id
JOIN unnest(ARRAY['selector', 'outer_join', 'movement', 'dynamic_filter', 'anti_join']) WITH ORDINALITY a(name, n) ON (p.id + a.n) % 5 < 2;
INSERT INTO hs2proxy.findings (upstream_id, kind, subject, severity, summary, evidence, advice, first_seen, last_seen, times, advisor)
VALUES (1, 'fidelity_fell', 'server', 'HIGH', 'the agreement fell to 91 %', '{}', '', now() - interval '1 day', now(), 1, 'selector');
INSERT INTO hs2proxy.finding_mutes (kind, fingerprint, table_name, muted, reason, person, at)
SELECT 'selector_kind_' || i % 6, CASE WHEN i % 3 = 0 THEN md5('query ' || i) ELSE '' END, CASE WHEN i % 3 = 1 THEN 'db' || i % 50 || '.table_' || i WHEN i % 3 = 2 THEN 'db1.none' ELSE '' END,
       true, 'known', 'ana', now() - interval '1 hour'
FROM generate_series(1, 60) i;

-- Half of the tables were refreshed once; one in fifty waits, and each server runs one.
INSERT INTO hs2proxy.refreshes (upstream_id, table_name, mode, columns, reason, requested_by, requested_at, state, started_at, ended_at, claimed_by, lease_until,
    attempts, statements, before, after, effect, schedule, window_start)
SELECT t.upstream_id, t.name, 'COLUMNS', '{id}', 'R4', 'schedule nightly', x.at, s.state, CASE WHEN s.state <> 'REQUESTED' THEN x.at END,
       CASE WHEN s.state = 'DONE' THEN x.at + interval '1 minute' END, CASE WHEN s.state <> 'REQUESTED' THEN 'proxy1' END, CASE WHEN s.state = 'RUNNING' THEN now() + interval '2 minutes' END,
       1, ARRAY['ANALYZE TABLE ' || t.name || ' COMPUTE STATISTICS FOR COLUMNS id'], '{"rows": 500, "total_size": 40000}', '{"rows": 15000, "total_size": 1200000}',
       CASE WHEN s.state = 'DONE' THEN (ARRAY['EFFECTIVE', 'NO_CHANGE'])[1 + t.id % 2] END, 'nightly', date_trunc('day', x.at)
FROM hs2proxy.tables t
CROSS JOIN LATERAL (SELECT CASE WHEN t.id <= 2 THEN 'RUNNING' WHEN t.id % 50 = 0 THEN 'REQUESTED' ELSE 'DONE' END AS state) s
CROSS JOIN LATERAL (SELECT now() - CASE WHEN s.state = 'DONE' THEN 7 ELSE 0.1 END * random() * interval '1 day' - interval '1 hour' AS at) x
WHERE t.id <= 2 OR t.id % 50 = 0 OR t.id % 2 = 1;
INSERT INTO hs2proxy.refresh_requests (refresh_id, requested_by, reason, mode, columns, partitions, schedule, requested_at, created)
SELECT r.id, r.requested_by, r.reason, r.mode, r.columns, r.partitions, r.schedule, r.requested_at, true FROM hs2proxy.refreshes r;
INSERT INTO hs2proxy.refresh_attempts (refresh_id, attempt, claimed_by, started_at, ended_at, outcome, statements, analyze_seconds, priority, factors)
SELECT r.id, 1, r.claimed_by, r.started_at, r.ended_at, r.state, r.statements, CASE WHEN r.state = 'DONE' THEN 20 END, 100, '{"severity": 4}'
FROM hs2proxy.refreshes r WHERE r.state <> 'REQUESTED';
INSERT INTO hs2proxy.refresh_plans (refresh_id, position, fingerprint, ordinal, strategy_before, strategy_after)
SELECT r.id, g, md5('query ' || r.id * 2 + g), 0, 'MERGE_JOIN', (ARRAY['MERGE_JOIN', 'MAP_JOIN'])[1 + r.id % 2] FROM hs2proxy.refreshes r, generate_series(0, 9) g WHERE r.state = 'DONE';
INSERT INTO hs2proxy.refresh_predictions (refresh_id, position, fingerprint, ordinal, strategy_before, expected, basis, strategy_after, grade)
SELECT p.refresh_id, p.position, p.fingerprint, 0, p.strategy_before, 'MAP_JOIN', '15000 rows', p.strategy_after, CASE p.strategy_after WHEN 'MAP_JOIN' THEN 'RIGHT' ELSE 'WRONG' END
FROM hs2proxy.refresh_plans p;
INSERT INTO hs2proxy.refresh_proofs (refresh_id, predicted_at, prediction, restore, false_alarm, later_effect, judged_at)
SELECT r.id, r.started_at, 'RIGHT', ARRAY['ALTER TABLE t UPDATE STATISTICS SET (''numRows''=''500'')'], r.effect = 'NO_CHANGE', (ARRAY['IMPROVED', NULL])[1 + r.id % 2], now()
FROM hs2proxy.refreshes r WHERE r.state = 'DONE';
INSERT INTO hs2proxy.refresh_statistics (refresh_id, position, level, partition_name, column_name, name, before, after)
SELECT r.id, g, CASE WHEN g < 6 THEN 'TABLE' ELSE 'COLUMN' END, '', CASE WHEN g < 6 THEN '' ELSE 'column_' || g END, 'numRows', '500', '15000'
FROM hs2proxy.refreshes r, generate_series(0, 39) g WHERE r.state = 'DONE';
INSERT INTO hs2proxy.refresh_runtimes (refresh_id, fingerprint, runs_before, seconds_before, deviation_before, runs_after, seconds_after, effect)
SELECT p.refresh_id, p.fingerprint, 20, 12, 1, 30, 8, 'IMPROVED' FROM hs2proxy.refresh_plans p WHERE p.position < 5;
INSERT INTO hs2proxy.false_alarms (upstream_id, table_name, alarms, factor, stale_ratio, refresh_id, last_at, last_reason, seconds)
SELECT r.upstream_id, r.table_name, 1, 1.5, 0.3, r.id, r.ended_at, 'R4', 20 FROM hs2proxy.refreshes r WHERE r.effect = 'NO_CHANGE';
INSERT INTO hs2proxy.refresh_policies (table_pattern, reason, person, at) SELECT 'db' || i || '.*', 'by hand', 'ana', now() FROM generate_series(1, 50) i;

-- Eight operators of every second plan were counted, and fidelity every day.
INSERT INTO hs2proxy.operator_actuals (plan_id, operator_id, kind, vertex, source, estimated_rows, actual_rows, q_error, q_error_max, runs, first_counted_at, counted_at)
SELECT p.id, 'OP_' || g, (ARRAY['Map Join Operator', 'Filter Operator', 'Select Operator', 'Group By Operator'])[1 + g % 4], 'Map 1', 'COUNTERS', 1000, 1000 * power(10, x.e), power(10, x.e),
       power(10, x.e), 5, now() - interval '3 days', now() - random() * interval '2 days'
FROM hs2proxy.plans p, generate_series(1, 8) g, LATERAL (SELECT floor(random() * 4 + p.id * 0) AS e) x WHERE p.id % 2 = 0;
INSERT INTO hs2proxy.fidelity_days (upstream_id, hive_version, day, strategies, strategies_agree, budgets, budgets_agree, sizes, sizes_agree)
SELECT u.id, '4.0.1', current_date - d, 1000, 990, 1000, 999, 2000, 1998 FROM hs2proxy.upstreams u, generate_series(0, 6) d;
