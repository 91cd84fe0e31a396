-- +goose Up

-- Refreshes in the order of what they are worth, within windows and budgets, under a policy for each table; canceled by people;
-- with every request and every attempt on record.

ALTER TABLE hs2proxy.refreshes
    DROP CONSTRAINT refreshes_mode_check,
    DROP CONSTRAINT refreshes_state_check,
    DROP CONSTRAINT refreshes_check1,
    ADD COLUMN scope               text             NOT NULL DEFAULT '',
    ADD COLUMN priority            double precision CHECK (priority >= 0 AND priority < 'Infinity'),
    ADD COLUMN schedule            text             NOT NULL DEFAULT '',
    ADD COLUMN window_start        timestamptz,
    ADD COLUMN budget_seconds      double precision CHECK (budget_seconds > 0),
    ADD COLUMN not_before          timestamptz,
    ADD COLUMN losses              integer          NOT NULL DEFAULT 0 CHECK (losses >= 0),
    ADD COLUMN put_backs           integer          NOT NULL DEFAULT 0 CHECK (put_backs >= 0),
    ADD COLUMN analyze_seconds     double precision CHECK (analyze_seconds >= 0),
    ADD COLUMN step                integer          NOT NULL DEFAULT 0,
    ADD COLUMN steps               integer          NOT NULL DEFAULT 0,
    ADD COLUMN doing               text             NOT NULL DEFAULT '',
    ADD COLUMN cancel_requested_at timestamptz,
    ADD COLUMN cancel_by           text             NOT NULL DEFAULT '',
    ADD COLUMN cancel_reason       text             NOT NULL DEFAULT '',
    ADD CONSTRAINT refreshes_mode CHECK (mode IN ('NOSCAN', 'BASIC', 'COLUMNS')),
    ADD CONSTRAINT refreshes_state CHECK (state IN ('REQUESTED', 'RUNNING', 'DONE', 'FAILED', 'CANCELED')),
    ADD CONSTRAINT refreshes_ended CHECK ((state IN ('DONE', 'FAILED', 'CANCELED')) = (ended_at IS NOT NULL)),
    ADD CONSTRAINT refreshes_progress CHECK (step BETWEEN 0 AND steps),
    ADD CONSTRAINT refreshes_window CHECK ((schedule = '') = (window_start IS NULL) AND (budget_seconds IS NULL OR schedule <> ''));
CREATE INDEX refreshes_schedule ON hs2proxy.refreshes (schedule, window_start) WHERE schedule <> '';
COMMENT ON COLUMN hs2proxy.refreshes.mode IS 'NOSCAN: sizes, and rows where files tell them; BASIC: rows and sizes; COLUMNS: column statistics too.';
COMMENT ON COLUMN hs2proxy.refreshes.state IS 'REQUESTED, RUNNING, DONE, FAILED, CANCELED.';
COMMENT ON COLUMN hs2proxy.refreshes.ended_at IS 'When it was done, failed or was canceled.';
COMMENT ON COLUMN hs2proxy.refreshes.error IS 'Hive''s words when it failed; why it was canceled, or why it was put back and waits.';
COMMENT ON COLUMN hs2proxy.refreshes.scope IS 'Which statements were chosen, and by which rule.';
COMMENT ON COLUMN hs2proxy.refreshes.priority IS 'Priority that a person gave in place of the computed one; NULL: none.';
COMMENT ON COLUMN hs2proxy.refreshes.schedule IS 'Schedule that asked; empty when a person did.';
COMMENT ON COLUMN hs2proxy.refreshes.window_start IS 'When the schedule''s window opened; not_after is its end.';
COMMENT ON COLUMN hs2proxy.refreshes.budget_seconds IS 'Seconds of ANALYZE that all refreshes of this window on one server may take together; NULL: no limit.';
COMMENT ON COLUMN hs2proxy.refreshes.not_before IS 'While it waits after it was put back: not run again before this time.';
COMMENT ON COLUMN hs2proxy.refreshes.losses IS 'How many of its attempts ended with their proxy.';
COMMENT ON COLUMN hs2proxy.refreshes.put_backs IS 'How many of its attempts were put back: a lock, or a server that could not be reached.';
COMMENT ON COLUMN hs2proxy.refreshes.analyze_seconds IS 'Seconds that the ANALYZE statements of the last attempt took.';
COMMENT ON COLUMN hs2proxy.refreshes.step IS 'Number of the statement that runs, from 1; 0 before the first.';
COMMENT ON COLUMN hs2proxy.refreshes.steps IS 'How many statements it takes; 0 until that is known.';
COMMENT ON COLUMN hs2proxy.refreshes.doing IS 'What it does just now.';
COMMENT ON COLUMN hs2proxy.refreshes.cancel_requested_at IS 'When somebody asked to cancel it; NULL: nobody did.';
COMMENT ON COLUMN hs2proxy.refreshes.cancel_by IS 'Who asked.';
COMMENT ON COLUMN hs2proxy.refreshes.cancel_reason IS 'Why.';
COMMENT ON COLUMN hs2proxy.report_refreshes.mode IS 'NOSCAN, BASIC or COLUMNS.';
COMMENT ON COLUMN hs2proxy.report_refreshes.state IS 'REQUESTED, RUNNING, DONE, FAILED, CANCELED.';
COMMENT ON COLUMN hs2proxy.report_refreshes.error IS 'Hive''s words when it failed; why it was canceled, or why it was put back and waits.';

CREATE TABLE hs2proxy.refresh_requests (
    id           bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    refresh_id   bigint           NOT NULL REFERENCES hs2proxy.refreshes ON DELETE CASCADE,
    requested_by text             NOT NULL,
    reason       text             NOT NULL,
    mode         text             NOT NULL CHECK (mode IN ('NOSCAN', 'BASIC', 'COLUMNS')),
    columns      text[]           NOT NULL,
    partitions   text[]           NOT NULL,
    priority     double precision,
    schedule     text             NOT NULL,
    requested_at timestamptz      NOT NULL,
    created      boolean          NOT NULL
);
CREATE INDEX refresh_requests_refresh ON hs2proxy.refresh_requests (refresh_id);
COMMENT ON TABLE hs2proxy.refresh_requests IS 'Who asked for a refresh, each time, also where an open one was returned instead of a new one.';
COMMENT ON COLUMN hs2proxy.refresh_requests.id IS 'Our key; rises with time.';
COMMENT ON COLUMN hs2proxy.refresh_requests.refresh_id IS 'The refresh it led to.';
COMMENT ON COLUMN hs2proxy.refresh_requests.requested_by IS 'Schedule or person.';
COMMENT ON COLUMN hs2proxy.refresh_requests.reason IS 'Why.';
COMMENT ON COLUMN hs2proxy.refresh_requests.mode IS 'NOSCAN, BASIC or COLUMNS, as asked for.';
COMMENT ON COLUMN hs2proxy.refresh_requests.columns IS 'Columns asked for; empty: those that queries use.';
COMMENT ON COLUMN hs2proxy.refresh_requests.partitions IS 'Partitions asked for; empty: the whole table.';
COMMENT ON COLUMN hs2proxy.refresh_requests.priority IS 'Priority given; NULL: none.';
COMMENT ON COLUMN hs2proxy.refresh_requests.schedule IS 'Schedule; empty for a person.';
COMMENT ON COLUMN hs2proxy.refresh_requests.requested_at IS 'When.';
COMMENT ON COLUMN hs2proxy.refresh_requests.created IS 'False when an open refresh was returned.';

CREATE TABLE hs2proxy.refresh_attempts (
    refresh_id      bigint           NOT NULL REFERENCES hs2proxy.refreshes ON DELETE CASCADE,
    attempt         integer          NOT NULL CHECK (attempt > 0),
    claimed_by      text             NOT NULL,
    started_at      timestamptz      NOT NULL,
    ended_at        timestamptz,
    outcome         text             NOT NULL CHECK (outcome IN ('RUNNING', 'DONE', 'FAILED', 'CANCELED', 'PUT_BACK', 'LOST')),
    reason          text             NOT NULL DEFAULT '',
    statements      text[]           NOT NULL DEFAULT '{}',
    analyze_seconds double precision CHECK (analyze_seconds >= 0),
    priority        double precision,
    factors         jsonb,
    PRIMARY KEY (refresh_id, attempt),
    CHECK ((outcome = 'RUNNING') = (ended_at IS NULL))
);
CREATE INDEX refresh_attempts_ended_at ON hs2proxy.refresh_attempts (ended_at DESC);
COMMENT ON TABLE hs2proxy.refresh_attempts IS 'Every start of a refresh, by which proxy, and how it ended.';
COMMENT ON COLUMN hs2proxy.refresh_attempts.refresh_id IS 'The refresh.';
COMMENT ON COLUMN hs2proxy.refresh_attempts.attempt IS 'Number of the start, from 1.';
COMMENT ON COLUMN hs2proxy.refresh_attempts.claimed_by IS 'Proxy.';
COMMENT ON COLUMN hs2proxy.refresh_attempts.started_at IS 'When the proxy took it.';
COMMENT ON COLUMN hs2proxy.refresh_attempts.ended_at IS 'When it ended; for LOST when another proxy noticed. NULL while it runs.';
COMMENT ON COLUMN hs2proxy.refresh_attempts.outcome IS 'RUNNING, DONE, FAILED, CANCELED; PUT_BACK: it waits again; LOST: its proxy was gone.';
COMMENT ON COLUMN hs2proxy.refresh_attempts.reason IS 'Why it did not end as DONE.';
COMMENT ON COLUMN hs2proxy.refresh_attempts.statements IS 'HiveQL that ran, in order.';
COMMENT ON COLUMN hs2proxy.refresh_attempts.analyze_seconds IS 'Seconds that its ANALYZE statements took; NULL when nobody knows.';
COMMENT ON COLUMN hs2proxy.refresh_attempts.priority IS 'Priority when it was taken.';
COMMENT ON COLUMN hs2proxy.refresh_attempts.factors IS 'The factors of the computed priority when it was taken.';

INSERT INTO hs2proxy.refresh_requests (refresh_id, requested_by, reason, mode, columns, partitions, schedule, requested_at, created)
SELECT r.id, r.requested_by, r.reason, r.mode, r.columns, r.partitions, '', r.requested_at, true FROM hs2proxy.refreshes r ORDER BY r.id;

-- What ran before this migration has no attempts on record; its last one is made from what is known.
INSERT INTO hs2proxy.refresh_attempts (refresh_id, attempt, claimed_by, started_at, ended_at, outcome, reason, statements, analyze_seconds)
SELECT r.id, greatest(r.attempts, 1), coalesce(r.claimed_by, ''), r.started_at, r.ended_at, r.state, r.error, r.statements,
       greatest(extract(epoch FROM r.ended_at - r.started_at), 0)
FROM hs2proxy.refreshes r WHERE r.started_at IS NOT NULL AND r.state IN ('RUNNING', 'DONE', 'FAILED');

CREATE TABLE hs2proxy.refresh_policies (
    id             bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    table_pattern  text        NOT NULL CHECK (table_pattern <> ''),
    removed        boolean     NOT NULL DEFAULT false,
    never          boolean     NOT NULL DEFAULT false,
    schedules      text[]      NOT NULL DEFAULT '{}',
    columns        text[]      NOT NULL DEFAULT '{}',
    partitions     text[]      NOT NULL DEFAULT '{}',
    cooldown       interval    CHECK (cooldown >= interval '0'),
    failures_since timestamptz,
    reason         text        NOT NULL CHECK (reason <> ''),
    person         text        NOT NULL CHECK (person <> ''),
    at             timestamptz NOT NULL
);
CREATE INDEX refresh_policies_table ON hs2proxy.refresh_policies (table_pattern, id DESC);
COMMENT ON TABLE hs2proxy.refresh_policies IS 'What people laid down for the refreshes of a table, one row for each change: the last one of a pattern holds.';
COMMENT ON COLUMN hs2proxy.refresh_policies.id IS 'Our key; rises with time.';
COMMENT ON COLUMN hs2proxy.refresh_policies.table_pattern IS 'database.table, lower case, with * for any characters and ? for one. A name goes before a pattern, the last pattern set before others.';
COMMENT ON COLUMN hs2proxy.refresh_policies.removed IS 'The policy was taken back.';
COMMENT ON COLUMN hs2proxy.refresh_policies.never IS 'No refresh, whoever asks.';
COMMENT ON COLUMN hs2proxy.refresh_policies.schedules IS 'Schedules that may refresh it; empty: any.';
COMMENT ON COLUMN hs2proxy.refresh_policies.columns IS 'Columns to analyse where a request names none; empty: those that queries use.';
COMMENT ON COLUMN hs2proxy.refresh_policies.partitions IS 'Partitions to analyse where a request names none, with * and ?; empty: the stale ones, else the whole table.';
COMMENT ON COLUMN hs2proxy.refresh_policies.cooldown IS 'Least time between two scheduled refreshes; NULL: the configuration''s.';
COMMENT ON COLUMN hs2proxy.refresh_policies.failures_since IS 'Failures before this time do not count: the table was switched on again.';
COMMENT ON COLUMN hs2proxy.refresh_policies.reason IS 'Why.';
COMMENT ON COLUMN hs2proxy.refresh_policies.person IS 'Who.';
COMMENT ON COLUMN hs2proxy.refresh_policies.at IS 'When.';

CREATE VIEW hs2proxy.active_refresh_policies AS
SELECT p.id, p.table_pattern, p.never, p.schedules, p.columns, p.partitions, p.cooldown, p.failures_since, p.reason, p.person, p.at
FROM (SELECT DISTINCT ON (l.table_pattern) l.* FROM hs2proxy.refresh_policies l ORDER BY l.table_pattern, l.id DESC) p
WHERE NOT p.removed
ORDER BY p.table_pattern ~ '[*?]', p.id DESC;
COMMENT ON VIEW hs2proxy.active_refresh_policies IS 'The policies that hold, names before patterns, the last one set first: the first that matches a table is the one.';
COMMENT ON COLUMN hs2proxy.active_refresh_policies.id IS 'Key in refresh_policies.';
COMMENT ON COLUMN hs2proxy.active_refresh_policies.table_pattern IS 'Table or pattern.';
COMMENT ON COLUMN hs2proxy.active_refresh_policies.never IS 'No refresh, whoever asks.';
COMMENT ON COLUMN hs2proxy.active_refresh_policies.schedules IS 'Schedules that may refresh it.';
COMMENT ON COLUMN hs2proxy.active_refresh_policies.columns IS 'Columns.';
COMMENT ON COLUMN hs2proxy.active_refresh_policies.partitions IS 'Partitions.';
COMMENT ON COLUMN hs2proxy.active_refresh_policies.cooldown IS 'Cooldown.';
COMMENT ON COLUMN hs2proxy.active_refresh_policies.failures_since IS 'Failures count from here.';
COMMENT ON COLUMN hs2proxy.active_refresh_policies.reason IS 'Why.';
COMMENT ON COLUMN hs2proxy.active_refresh_policies.person IS 'Who.';
COMMENT ON COLUMN hs2proxy.active_refresh_policies.at IS 'When.';

CREATE VIEW hs2proxy.refresh_factors AS
SELECT t.id AS table_id, t.upstream_id, t.name AS table_name, s.severity, u.joins_7d, s.uncertainty, p.flips, n.seconds,
       s.severity * u.joins_7d * CASE WHEN p.flips THEN 4 ELSE 1 END / n.seconds AS priority
FROM hs2proxy.tables t
CROSS JOIN LATERAL (
    SELECT coalesce(max(array_position(ARRAY['SUSPECT', 'WATCH', 'STALE', 'HIGH', 'CRITICAL'], h.level)), 0) AS severity,
           CASE WHEN bool_or(h.rule IN ('R1', 'R2', 'R3', 'R6', 'R8')) THEN 10
                ELSE greatest(1 + greatest(t.writes_rows, 0)::double precision / greatest(t.baseline_rows, 1),
                              CASE WHEN bool_or(h.rule = 'R5') THEN 3 ELSE 1 END) END AS uncertainty
    FROM hs2proxy.staleness h WHERE h.table_id = t.id AND h.cleared_at IS NULL) s
CROSS JOIN LATERAL (
    SELECT coalesce(sum(d.uses), 0)::bigint AS joins_7d
    FROM hs2proxy.plan_tables r
    JOIN hs2proxy.plan_uses d ON d.plan_id = r.plan_id AND d.day > (now() AT TIME ZONE 'UTC')::date - 7
    WHERE r.table_id = t.id AND EXISTS (SELECT 1 FROM hs2proxy.joins j WHERE j.plan_id = r.plan_id)) u
CROSS JOIN LATERAL (
    SELECT EXISTS (
        SELECT 1
        FROM hs2proxy.plan_tables r
        JOIN hs2proxy.plans q ON q.id = r.plan_id
        JOIN hs2proxy.joins j ON j.plan_id = r.plan_id
        WHERE r.table_id = t.id
          AND EXISTS (SELECT 1 FROM hs2proxy.plan_uses d WHERE d.plan_id = r.plan_id AND d.day > (now() AT TIME ZONE 'UTC')::date - 7)
          AND NOT EXISTS (SELECT 1 FROM hs2proxy.plans l
                          WHERE l.upstream_id = q.upstream_id AND l.fingerprint = q.fingerprint AND l.database_name = q.database_name
                            AND l.settings_hash = q.settings_hash AND (l.explained_at, l.id) > (q.explained_at, q.id))
          AND EXISTS (SELECT 1 FROM unnest(j.tables) WITH ORDINALITY AS i(names, n)
                      WHERE t.name = ANY (regexp_split_to_array(i.names, '[,[:space:]]+')) AND i.n - 1 <> j.big_table)
          AND (j.expected <> j.planned OR s.uncertainty > 1 AND j.margin_factor BETWEEN 1 / s.uncertainty AND s.uncertainty)) AS flips) p
CROSS JOIN LATERAL (
    SELECT greatest(1, coalesce(
        (SELECT avg(a.analyze_seconds)
         FROM (SELECT e.analyze_seconds
               FROM hs2proxy.refreshes f JOIN hs2proxy.refresh_attempts e ON e.refresh_id = f.id
               WHERE f.table_name = t.name AND f.upstream_id = t.upstream_id AND e.outcome = 'DONE' AND e.analyze_seconds IS NOT NULL
               ORDER BY f.id DESC LIMIT 3) a),
        5 + (SELECT x.total_size FROM hs2proxy.table_stats x WHERE x.table_id = t.id AND x.partition_name = ''
             ORDER BY x.read_at DESC, x.id DESC LIMIT 1) / 50e6,
        5))::double precision AS seconds) n;
COMMENT ON VIEW hs2proxy.refresh_factors IS 'What a refresh of each table is worth now: severity × joins in seven days × (4 when a strategy flips inside the uncertainty, else 1) ÷ predicted seconds.';
COMMENT ON COLUMN hs2proxy.refresh_factors.table_id IS 'Table.';
COMMENT ON COLUMN hs2proxy.refresh_factors.upstream_id IS 'Server.';
COMMENT ON COLUMN hs2proxy.refresh_factors.table_name IS 'database.table.';
COMMENT ON COLUMN hs2proxy.refresh_factors.severity IS 'Worst level that holds: 1 SUSPECT, 2 WATCH, 3 STALE, 4 HIGH, 5 CRITICAL; 0: none.';
COMMENT ON COLUMN hs2proxy.refresh_factors.joins_7d IS 'Analysed runs of joins over the table in seven days.';
COMMENT ON COLUMN hs2proxy.refresh_factors.uncertainty IS 'Factor by which the rows may be wrong: 1 + rows written ÷ baseline rows; 3 under R5; 10 where nobody knows (R1, R2, R3, R6, R8).';
COMMENT ON COLUMN hs2proxy.refresh_factors.flips IS 'A join that hashes or shuffles the table has another strategy by the true numbers, or gets one within the uncertainty.';
COMMENT ON COLUMN hs2proxy.refresh_factors.seconds IS 'Predicted seconds of ANALYZE: the mean of its last three, else 5 and one for every 50 MB; at least 1.';
COMMENT ON COLUMN hs2proxy.refresh_factors.priority IS 'The product.';

CREATE VIEW hs2proxy.refresh_windows AS
SELECT r.schedule, r.window_start, r.upstream_id, count(DISTINCT r.id) AS refreshes,
       coalesce(sum(coalesce(a.analyze_seconds, extract(epoch FROM coalesce(a.ended_at, clock_timestamp()) - a.started_at))), 0)::double precision AS seconds
FROM hs2proxy.refreshes r
JOIN hs2proxy.refresh_attempts a ON a.refresh_id = r.id
WHERE r.schedule <> ''
GROUP BY r.schedule, r.window_start, r.upstream_id;
COMMENT ON VIEW hs2proxy.refresh_windows IS 'Seconds of ANALYZE that were spent in each window of each schedule on each server, what runs included.';
COMMENT ON COLUMN hs2proxy.refresh_windows.schedule IS 'Schedule.';
COMMENT ON COLUMN hs2proxy.refresh_windows.window_start IS 'When the window opened.';
COMMENT ON COLUMN hs2proxy.refresh_windows.upstream_id IS 'Server.';
COMMENT ON COLUMN hs2proxy.refresh_windows.refreshes IS 'Refreshes that were started.';
COMMENT ON COLUMN hs2proxy.refresh_windows.seconds IS 'Seconds.';

CREATE VIEW hs2proxy.report_refresh_queue AS
SELECT row_number() OVER (ORDER BY r.state <> 'RUNNING', r.schedule <> '', coalesce(r.priority, f.priority, 0) DESC, r.requested_at, r.id) AS place,
       r.id, u.name AS upstream, r.table_name, r.state,
       round(coalesce(r.priority, f.priority, 0)::numeric, 3)::double precision AS priority,
       r.priority IS NOT NULL AS priority_given, f.severity, f.joins_7d, coalesce(f.flips, false) AS flips,
       round(f.uncertainty::numeric, 3)::double precision AS uncertainty, round(f.seconds::numeric, 1)::double precision AS predicted_seconds,
       r.mode, r.columns, r.partitions, r.scope, r.step, r.steps, r.doing,
       CASE WHEN r.state = 'RUNNING' THEN round(greatest(extract(epoch FROM clock_timestamp() - r.started_at), 0)::numeric, 1)::double precision END AS running_seconds,
       CASE
           WHEN r.cancel_requested_at IS NOT NULL THEN 'being canceled for ' || r.cancel_by || ': ' || r.cancel_reason
           WHEN r.state = 'RUNNING' AND r.lease_until < clock_timestamp() THEN 'its proxy ' || r.claimed_by || ' is gone; another takes it'
           WHEN r.state = 'RUNNING' THEN ''
           WHEN r.not_before > clock_timestamp() THEN 'put back until ' || to_char(r.not_before AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') || ': ' || r.error
           WHEN EXISTS (SELECT 1 FROM hs2proxy.refreshes o WHERE o.state = 'RUNNING' AND o.upstream_id IS NOT DISTINCT FROM r.upstream_id)
               THEN 'another refresh runs on the server'
           ELSE 'a proxy with statistics.refresh.enabled'
       END AS waits_for,
       r.requested_by, r.reason, r.requested_at, r.schedule, r.window_start, r.not_after, r.budget_seconds,
       round(w.seconds::numeric, 1)::double precision AS window_seconds, r.attempts, r.losses, r.claimed_by, r.error
FROM hs2proxy.refreshes r
LEFT JOIN hs2proxy.upstreams u ON u.id = r.upstream_id
LEFT JOIN LATERAL (SELECT x.severity, x.joins_7d, x.flips, x.uncertainty, x.seconds, x.priority FROM hs2proxy.refresh_factors x
                   WHERE x.table_name = r.table_name AND (r.upstream_id IS NULL OR x.upstream_id = r.upstream_id)
                   ORDER BY x.table_id LIMIT 1) f ON true
LEFT JOIN LATERAL (SELECT x.seconds FROM hs2proxy.refresh_windows x
                   WHERE x.schedule = r.schedule AND x.window_start = r.window_start AND x.upstream_id = r.upstream_id) w ON r.schedule <> ''
WHERE r.state IN ('REQUESTED', 'RUNNING')
ORDER BY place;
COMMENT ON VIEW hs2proxy.report_refresh_queue IS 'Which refreshes run or wait, in which order, and why in that order?';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.place IS 'Place in the order: what runs, then what people asked for, then schedules; within each the highest priority first.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.id IS 'Number of the request.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.upstream IS 'Server; empty: any.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.table_name IS 'database.table.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.state IS 'REQUESTED or RUNNING.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.priority IS 'severity × joins_7d × (4 when flips, else 1) ÷ predicted_seconds, or what a person gave.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.priority_given IS 'A person gave the priority.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.severity IS 'Worst level that holds: 1 SUSPECT, 2 WATCH, 3 STALE, 4 HIGH, 5 CRITICAL; 0: none; empty: the table was never seen.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.joins_7d IS 'Analysed runs of joins over the table in seven days.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.flips IS 'A join gets another strategy within the uncertainty.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.uncertainty IS 'Factor by which the rows may be wrong.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.predicted_seconds IS 'Seconds of ANALYZE expected.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.mode IS 'NOSCAN, BASIC or COLUMNS.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.columns IS 'Columns; empty: those that queries use.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.partitions IS 'Partitions; empty: the whole table.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.scope IS 'Which statements were chosen, and by which rule.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.step IS 'Number of the statement that runs.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.steps IS 'How many there are.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.doing IS 'What it does just now.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.running_seconds IS 'How long it has been running.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.waits_for IS 'What keeps it from running or is about to end it.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.requested_by IS 'Schedule or person that asked first.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.reason IS 'Why.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.requested_at IS 'When it was asked for.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.schedule IS 'Schedule; empty when a person asked.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.window_start IS 'When the schedule''s window opened.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.not_after IS 'When it ends.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.budget_seconds IS 'Seconds of ANALYZE that the window has.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.window_seconds IS 'Seconds of them that are spent.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.attempts IS 'How often it was started.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.losses IS 'How many of these starts ended with their proxy.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.claimed_by IS 'Proxy that runs it, or ran it last.';
COMMENT ON COLUMN hs2proxy.report_refresh_queue.error IS 'Why the last attempt was put back.';

CREATE VIEW hs2proxy.report_refresh_attempts AS
SELECT a.refresh_id AS id, u.name AS upstream, r.table_name, a.attempt, a.outcome, a.claimed_by, a.started_at, a.ended_at,
       round(a.analyze_seconds::numeric, 3)::double precision AS analyze_seconds, a.reason, a.priority, a.factors, a.statements, r.state
FROM hs2proxy.refresh_attempts a
JOIN hs2proxy.refreshes r ON r.id = a.refresh_id
LEFT JOIN hs2proxy.upstreams u ON u.id = r.upstream_id
ORDER BY a.started_at DESC, a.refresh_id DESC, a.attempt DESC;
COMMENT ON VIEW hs2proxy.report_refresh_attempts IS 'Which proxy started which refresh when, and how did each attempt end?';
COMMENT ON COLUMN hs2proxy.report_refresh_attempts.id IS 'Number of the request.';
COMMENT ON COLUMN hs2proxy.report_refresh_attempts.upstream IS 'Server.';
COMMENT ON COLUMN hs2proxy.report_refresh_attempts.table_name IS 'database.table.';
COMMENT ON COLUMN hs2proxy.report_refresh_attempts.attempt IS 'Number of the start, from 1.';
COMMENT ON COLUMN hs2proxy.report_refresh_attempts.outcome IS 'RUNNING, DONE, FAILED, CANCELED; PUT_BACK: it waits again; LOST: its proxy was gone.';
COMMENT ON COLUMN hs2proxy.report_refresh_attempts.claimed_by IS 'Proxy.';
COMMENT ON COLUMN hs2proxy.report_refresh_attempts.started_at IS 'When the proxy took it.';
COMMENT ON COLUMN hs2proxy.report_refresh_attempts.ended_at IS 'When it ended, or was found lost.';
COMMENT ON COLUMN hs2proxy.report_refresh_attempts.analyze_seconds IS 'Seconds of ANALYZE; empty when nobody knows.';
COMMENT ON COLUMN hs2proxy.report_refresh_attempts.reason IS 'Why it did not end as DONE.';
COMMENT ON COLUMN hs2proxy.report_refresh_attempts.priority IS 'Priority when it was taken.';
COMMENT ON COLUMN hs2proxy.report_refresh_attempts.factors IS 'Its factors then.';
COMMENT ON COLUMN hs2proxy.report_refresh_attempts.statements IS 'HiveQL that ran.';
COMMENT ON COLUMN hs2proxy.report_refresh_attempts.state IS 'State of the request now.';

CREATE VIEW hs2proxy.report_refresh_policies AS
SELECT p.table_pattern, p.never, p.schedules, p.columns, p.partitions, p.cooldown, p.failures_since, p.person AS set_by, p.reason, p.at AS set_at
FROM hs2proxy.active_refresh_policies p;
COMMENT ON VIEW hs2proxy.report_refresh_policies IS 'What is laid down for the refreshes of which tables, by whom and why?';
COMMENT ON COLUMN hs2proxy.report_refresh_policies.table_pattern IS 'Table, or pattern with * and ?.';
COMMENT ON COLUMN hs2proxy.report_refresh_policies.never IS 'No refresh, whoever asks.';
COMMENT ON COLUMN hs2proxy.report_refresh_policies.schedules IS 'Schedules that may refresh it; empty: any.';
COMMENT ON COLUMN hs2proxy.report_refresh_policies.columns IS 'Columns to analyse; empty: those that queries use.';
COMMENT ON COLUMN hs2proxy.report_refresh_policies.partitions IS 'Partitions to analyse; empty: the stale ones, else the whole table.';
COMMENT ON COLUMN hs2proxy.report_refresh_policies.cooldown IS 'Least time between two scheduled refreshes; empty: the configuration''s.';
COMMENT ON COLUMN hs2proxy.report_refresh_policies.failures_since IS 'Failures before this time do not count.';
COMMENT ON COLUMN hs2proxy.report_refresh_policies.set_by IS 'Who set it.';
COMMENT ON COLUMN hs2proxy.report_refresh_policies.reason IS 'Why.';
COMMENT ON COLUMN hs2proxy.report_refresh_policies.set_at IS 'When.';

-- +goose StatementBegin
CREATE FUNCTION hs2proxy.refresh_policy_of(for_table text) RETURNS SETOF hs2proxy.active_refresh_policies
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, hs2proxy, pg_temp
AS $$
    SELECT p.* FROM hs2proxy.active_refresh_policies p
    WHERE lower(for_table) LIKE replace(replace(replace(replace(replace(p.table_pattern, '\', '\\'), '_', '\_'), '%', '\%'), '*', '%'), '?', '_')
    ORDER BY p.table_pattern ~ '[*?]', p.id DESC LIMIT 1
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION hs2proxy.refresh_policy_of IS 'The policy that holds for a table: no row when there is none.';

DROP FUNCTION hs2proxy.request_refresh(text, text, text[], text, text);
DROP FUNCTION hs2proxy.enqueue_refresh(bigint, text, text, text[], text[], timestamptz, text, text, timestamptz);

-- +goose StatementBegin
CREATE FUNCTION hs2proxy.enqueue_refresh(
    for_upstream bigint, for_table text, for_mode text, for_columns text[], for_partitions text[], not_after timestamptz,
    for_reason text, for_person text, for_time timestamptz,
    for_priority double precision DEFAULT NULL, for_schedule text DEFAULT '', for_window timestamptz DEFAULT NULL,
    for_budget double precision DEFAULT NULL, for_scope text DEFAULT '',
    OUT id bigint, OUT created boolean)
    LANGUAGE plpgsql
    SET search_path = pg_catalog, hs2proxy, pg_temp
AS $$
DECLARE
    modes  text[] := ARRAY['NOSCAN', 'BASIC', 'COLUMNS'];
    clean  text := hs2proxy.table_name(for_table);
    wanted text[];
    parts  text[];
    used   text[];
    old    hs2proxy.refreshes;
    rule   hs2proxy.active_refresh_policies;
BEGIN
    IF for_mode IS NULL OR for_mode <> ALL (modes) THEN
        RAISE EXCEPTION 'not a mode: %', for_mode USING ERRCODE = 'invalid_parameter_value', HINT = 'Write NOSCAN, BASIC or COLUMNS.';
    END IF;
    IF for_priority < 0 OR for_priority >= 'Infinity' THEN
        RAISE EXCEPTION 'not a priority: %', for_priority USING ERRCODE = 'invalid_parameter_value', HINT = 'Write 0 or more; a greater one goes first.';
    END IF;
    IF cardinality(for_partitions) > 1000 THEN
        RAISE EXCEPTION '% partitions, at most 1000 in one request', cardinality(for_partitions)
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Name none for the whole table.';
    END IF;
    SELECT p.* INTO rule FROM hs2proxy.refresh_policy_of(clean) p;
    IF rule.never THEN
        RAISE EXCEPTION '% is never refreshed: %', clean, rule.reason USING ERRCODE = 'invalid_parameter_value',
            HINT = format('The policy %s of %s says so; report_refresh_policies has it, and drop_refresh_policy takes it back.', rule.table_pattern, rule.person);
    END IF;
    SELECT coalesce(array_agg(DISTINCT lower(c) ORDER BY lower(c)), '{}') INTO wanted
    FROM unnest(for_columns) c WHERE c <> '' AND for_mode = 'COLUMNS';
    SELECT coalesce(array_agg(DISTINCT p ORDER BY p), '{}') INTO parts FROM unnest(for_partitions) p WHERE p <> '';

    -- Requests for one table come one after the other, so that two do not both find none open.
    PERFORM pg_advisory_xact_lock(hashtextextended('hs2proxy.refresh ' || coalesce(for_upstream, 0) || ' ' || clean, 0));

    created := false;
    -- A running one counts when it does what is asked for.
    SELECT r.id INTO id FROM hs2proxy.refreshes r
    WHERE r.state = 'RUNNING' AND r.table_name = clean AND r.upstream_id IS NOT DISTINCT FROM for_upstream AND r.cancel_requested_at IS NULL
      AND array_position(modes, for_mode) <= array_position(modes, r.mode)
      AND (for_mode <> 'COLUMNS' OR CASE WHEN wanted = '{}' THEN r.columns = '{}' ELSE wanted <@ r.columns END)
      AND (r.partitions = '{}' OR (parts <> '{}' AND parts <@ r.partitions))
    ORDER BY r.id LIMIT 1;
    IF NOT FOUND THEN
        -- A waiting one is widened to cover both. No columns means those that joins read, no partitions the whole table,
        -- no end of a window any time. What a person asks for as well is bound by no window.
        SELECT r.* INTO old FROM hs2proxy.refreshes r
        WHERE r.state = 'REQUESTED' AND r.table_name = clean AND r.upstream_id IS NOT DISTINCT FROM for_upstream
        FOR UPDATE;
        IF FOUND THEN
            id := old.id;
            UPDATE hs2proxy.refreshes r SET
                not_after = CASE WHEN old.not_after IS NULL OR enqueue_refresh.not_after IS NULL THEN NULL ELSE greatest(old.not_after, enqueue_refresh.not_after) END,
                partitions = CASE WHEN old.partitions = '{}' OR parts = '{}' THEN '{}'
                                  ELSE ARRAY(SELECT DISTINCT p FROM unnest(old.partitions || parts) p ORDER BY p) END,
                mode = modes[greatest(array_position(modes, old.mode), array_position(modes, for_mode))],
                priority = greatest(old.priority, for_priority),
                schedule = CASE WHEN old.schedule = '' OR for_schedule = '' THEN '' ELSE for_schedule END,
                window_start = CASE WHEN old.schedule = '' OR for_schedule = '' THEN NULL ELSE for_window END,
                budget_seconds = CASE WHEN old.schedule = '' OR for_schedule = '' THEN NULL ELSE for_budget END,
                not_before = CASE WHEN for_schedule = '' THEN NULL ELSE old.not_before END,
                scope = concat_ws('; ', nullif(old.scope, ''), CASE WHEN position(for_scope IN old.scope) = 0 THEN nullif(for_scope, '') END)
            WHERE r.id = old.id;
            IF for_mode = 'COLUMNS' THEN
                IF old.mode = 'COLUMNS' AND (old.columns = '{}') <> (wanted = '{}') THEN
                    SELECT coalesce(array_agg(DISTINCT c), '{}') INTO used
                    FROM hs2proxy.tables t, unnest(t.join_columns) c
                    WHERE t.name = clean AND (t.upstream_id = for_upstream OR for_upstream IS NULL);
                    wanted := wanted || used;
                END IF;
                UPDATE hs2proxy.refreshes r SET columns = ARRAY(
                    SELECT DISTINCT c FROM unnest(wanted || CASE WHEN old.mode = 'COLUMNS' THEN old.columns ELSE '{}' END) c ORDER BY c)
                WHERE r.id = old.id;
            END IF;
        ELSE
            INSERT INTO hs2proxy.refreshes AS r (upstream_id, table_name, mode, columns, partitions, not_after, reason, requested_by, requested_at, state,
                priority, schedule, window_start, budget_seconds, scope)
            VALUES (for_upstream, clean, for_mode, wanted, parts, enqueue_refresh.not_after, for_reason, for_person, for_time, 'REQUESTED',
                for_priority, for_schedule, for_window, for_budget, for_scope)
            RETURNING r.id INTO id;
            created := true;
        END IF;
        PERFORM pg_notify('hs2proxy_refresh', id::text);
    END IF;
    INSERT INTO hs2proxy.refresh_requests (refresh_id, requested_by, reason, mode, columns, partitions, priority, schedule, requested_at, created)
    VALUES (enqueue_refresh.id, for_person, for_reason, for_mode, wanted, parts, for_priority, for_schedule, for_time, enqueue_refresh.created);
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION hs2proxy.enqueue_refresh IS 'Ask for a refresh on somebody''s behalf; an open request that covers it is returned instead of a new one.';

-- +goose StatementBegin
CREATE FUNCTION hs2proxy.request_refresh(
    table_name text, mode text DEFAULT 'COLUMNS', columns text[] DEFAULT NULL, reason text DEFAULT NULL, upstream text DEFAULT NULL,
    partitions text[] DEFAULT NULL, priority double precision DEFAULT NULL)
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
    RETURN (SELECT e.id FROM hs2proxy.enqueue_refresh(ids[1], clean, upper(coalesce(mode, 'COLUMNS')), columns, partitions, NULL,
        coalesce(nullif(btrim(reason), ''), 'asked for in SQL'), session_user::text, clock_timestamp(), priority) e);
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION hs2proxy.request_refresh IS 'Ask for a refresh of a table''s statistics: request_refresh(''db.table''), optionally mode NOSCAN, BASIC or COLUMNS, columns, reason, upstream, partitions, priority. Returns the number of the request (see report_refresh_queue, report_refreshes); an open request for the table is returned again.';

-- +goose StatementBegin
CREATE FUNCTION hs2proxy.stop_refresh(for_id bigint, for_reason text, for_person text, for_time timestamptz) RETURNS text
    LANGUAGE plpgsql
    SET search_path = pg_catalog, hs2proxy, pg_temp
AS $$
DECLARE
    why text := coalesce(nullif(btrim(for_reason), ''), 'no reason given');
    r   hs2proxy.refreshes;
BEGIN
    SELECT f.* INTO r FROM hs2proxy.refreshes f WHERE f.id = for_id FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no refresh has the number %', for_id USING ERRCODE = 'no_data_found', HINT = 'report_refresh_queue lists the open ones.';
    END IF;
    IF r.state NOT IN ('REQUESTED', 'RUNNING') THEN
        RAISE EXCEPTION 'refresh % is % already', for_id, r.state USING ERRCODE = 'no_data_found', HINT = 'report_refresh_queue lists the open ones.';
    END IF;
    UPDATE hs2proxy.refreshes f SET
        cancel_requested_at = coalesce(f.cancel_requested_at, for_time), cancel_by = CASE WHEN f.cancel_requested_at IS NULL THEN for_person ELSE f.cancel_by END,
        cancel_reason = CASE WHEN f.cancel_requested_at IS NULL THEN why ELSE f.cancel_reason END,
        state = CASE f.state WHEN 'REQUESTED' THEN 'CANCELED' ELSE f.state END,
        ended_at = CASE f.state WHEN 'REQUESTED' THEN for_time END,
        error = CASE f.state WHEN 'REQUESTED' THEN 'canceled by ' || for_person || ' before it ran: ' || why ELSE f.error END
    WHERE f.id = for_id RETURNING f.* INTO r;
    PERFORM pg_notify('hs2proxy_refresh', for_id::text);
    RETURN r.state;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION hs2proxy.stop_refresh IS 'Cancel a refresh in somebody''s name. Returns its state: CANCELED, or RUNNING while its proxy cancels it in Hive.';

-- +goose StatementBegin
CREATE FUNCTION hs2proxy.cancel_refresh(id bigint, reason text DEFAULT NULL) RETURNS text
    LANGUAGE sql SECURITY DEFINER
    SET search_path = pg_catalog, hs2proxy, pg_temp
AS $$
    SELECT hs2proxy.stop_refresh(id, reason, session_user::text, clock_timestamp())
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION hs2proxy.cancel_refresh IS 'Cancel a refresh by its number: one that waits at once, one that runs in Hive too. Returns its state: CANCELED, or RUNNING until its proxy has done so.';

-- +goose StatementBegin
CREATE FUNCTION hs2proxy.record_refresh_policy(
    for_table text, remove boolean, is_never boolean, for_schedules text[], for_columns text[], for_partitions text[], for_cooldown interval,
    count_from timestamptz, for_reason text, for_person text, for_time timestamptz)
    RETURNS bigint
    LANGUAGE plpgsql
    SET search_path = pg_catalog, hs2proxy, pg_temp
AS $$
DECLARE
    clean text := lower(btrim(replace(for_table, '`', ''), E' \t\r\n'));
    part  text := '[^[:space:][:cntrl:].;''"\\/()<>]{1,128}';
    made  bigint;
BEGIN
    IF clean IS NULL OR clean <> '*' AND clean !~ ('^' || part || '\.' || part || '$') THEN
        RAISE EXCEPTION 'not a table or a pattern: %', left(for_table, 200) USING ERRCODE = 'invalid_parameter_value',
            HINT = 'Write database.table, with * and ? as wildcards.';
    END IF;
    IF coalesce(btrim(for_reason), '') = '' THEN
        RAISE EXCEPTION 'no reason was given' USING ERRCODE = 'invalid_parameter_value', HINT = 'Say why; it is kept on record.';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('hs2proxy.refresh_policies', 0));
    IF remove AND NOT EXISTS (SELECT 1 FROM hs2proxy.active_refresh_policies p WHERE p.table_pattern = clean) THEN
        RAISE EXCEPTION 'no policy for %', clean USING ERRCODE = 'no_data_found', HINT = coalesce(
            (SELECT 'There are: ' || string_agg(p.table_pattern, ', ' ORDER BY p.table_pattern) || '.' FROM hs2proxy.active_refresh_policies p), 'There is none.');
    END IF;
    INSERT INTO hs2proxy.refresh_policies AS p (table_pattern, removed, never, schedules, columns, partitions, cooldown, failures_since, reason, person, at)
    VALUES (clean, remove, coalesce(is_never, false), coalesce(for_schedules, '{}'),
        ARRAY(SELECT lower(c) FROM unnest(for_columns) c), coalesce(for_partitions, '{}'), for_cooldown,
        coalesce(count_from, (SELECT o.failures_since FROM hs2proxy.active_refresh_policies o WHERE o.table_pattern = clean)),
        btrim(for_reason), for_person, for_time)
    RETURNING p.id INTO made;
    RETURN made;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION hs2proxy.record_refresh_policy IS 'Set the policy of a table or pattern, or take it back, in somebody''s name. Returns the key in refresh_policies.';

-- +goose StatementBegin
CREATE FUNCTION hs2proxy.restart_refresh(for_table text, for_reason text, for_person text, for_time timestamptz) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path = pg_catalog, hs2proxy, pg_temp
AS $$
DECLARE
    clean text := hs2proxy.table_name(for_table);
    rule  hs2proxy.active_refresh_policies;
BEGIN
    SELECT p.* INTO rule FROM hs2proxy.refresh_policy_of(clean) p;
    RETURN hs2proxy.record_refresh_policy(clean, false, false, rule.schedules, rule.columns, rule.partitions, rule.cooldown,
        for_time, for_reason, for_person, for_time);
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION hs2proxy.restart_refresh IS 'Switch a table''s scheduled refreshes on again in somebody''s name: earlier failures count no more, and it is no longer never refreshed.';

-- +goose StatementBegin
CREATE FUNCTION hs2proxy.set_refresh_policy(
    table_name text, reason text, never boolean DEFAULT false, schedules text[] DEFAULT NULL, columns text[] DEFAULT NULL,
    partitions text[] DEFAULT NULL, cooldown interval DEFAULT NULL)
    RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path = pg_catalog, hs2proxy, pg_temp
AS $$
    SELECT hs2proxy.record_refresh_policy(table_name, false, never, schedules, columns, partitions, cooldown, NULL, reason, session_user::text, clock_timestamp())
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION hs2proxy.set_refresh_policy IS 'Lay down how a table (or a pattern with * and ?) is refreshed: never, or schedules, columns, partitions, cooldown. Takes the place of the policy before; the reason is kept on record.';

-- +goose StatementBegin
CREATE FUNCTION hs2proxy.drop_refresh_policy(table_name text, reason text) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path = pg_catalog, hs2proxy, pg_temp
AS $$
    SELECT hs2proxy.record_refresh_policy(table_name, true, false, NULL, NULL, NULL, NULL, NULL, reason, session_user::text, clock_timestamp())
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION hs2proxy.drop_refresh_policy IS 'Take back the policy of a table or pattern, as set_refresh_policy named it.';

-- +goose StatementBegin
CREATE FUNCTION hs2proxy.enable_refresh(table_name text, reason text) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path = pg_catalog, hs2proxy, pg_temp
AS $$
    SELECT hs2proxy.restart_refresh(table_name, reason, session_user::text, clock_timestamp())
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION hs2proxy.enable_refresh IS 'Switch the scheduled refreshes of a table on again that too many failures, or a policy of never, have switched off.';

REVOKE ALL ON FUNCTION hs2proxy.refresh_policy_of FROM PUBLIC;
REVOKE ALL ON FUNCTION hs2proxy.enqueue_refresh FROM PUBLIC;
REVOKE ALL ON FUNCTION hs2proxy.request_refresh FROM PUBLIC;
REVOKE ALL ON FUNCTION hs2proxy.stop_refresh FROM PUBLIC;
REVOKE ALL ON FUNCTION hs2proxy.cancel_refresh FROM PUBLIC;
REVOKE ALL ON FUNCTION hs2proxy.record_refresh_policy FROM PUBLIC;
REVOKE ALL ON FUNCTION hs2proxy.restart_refresh FROM PUBLIC;
REVOKE ALL ON FUNCTION hs2proxy.set_refresh_policy FROM PUBLIC;
REVOKE ALL ON FUNCTION hs2proxy.drop_refresh_policy FROM PUBLIC;
REVOKE ALL ON FUNCTION hs2proxy.enable_refresh FROM PUBLIC;

-- +goose StatementBegin
DO $$
DECLARE
    name text;
    v    text;
BEGIN
    FOREACH name IN ARRAY ARRAY['hs2proxy_writer', 'hs2proxy_reader', 'hs2proxy_operator'] LOOP
        IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolname = name) THEN
            CONTINUE; -- 00004_roles could not make it
        END IF;
        FOREACH v IN ARRAY ARRAY['report_refresh_queue', 'report_refresh_attempts', 'report_refresh_policies'] LOOP
            EXECUTE format('GRANT SELECT ON hs2proxy.%I TO %I', v, name);
        END LOOP;
    END LOOP;
    IF EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolname = 'hs2proxy_operator') THEN
        GRANT EXECUTE ON FUNCTION hs2proxy.request_refresh, hs2proxy.cancel_refresh, hs2proxy.set_refresh_policy, hs2proxy.drop_refresh_policy,
            hs2proxy.enable_refresh TO hs2proxy_operator;
    END IF;
    IF EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolname = 'hs2proxy_writer') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON hs2proxy.refresh_requests, hs2proxy.refresh_attempts, hs2proxy.refresh_policies TO hs2proxy_writer;
        GRANT SELECT ON hs2proxy.active_refresh_policies, hs2proxy.refresh_factors, hs2proxy.refresh_windows TO hs2proxy_writer;
        GRANT EXECUTE ON FUNCTION hs2proxy.refresh_policy_of, hs2proxy.enqueue_refresh, hs2proxy.request_refresh, hs2proxy.stop_refresh,
            hs2proxy.cancel_refresh, hs2proxy.record_refresh_policy, hs2proxy.restart_refresh, hs2proxy.set_refresh_policy,
            hs2proxy.drop_refresh_policy, hs2proxy.enable_refresh TO hs2proxy_writer;
    END IF;
END
$$;
-- +goose StatementEnd
