-- +goose Up

-- Scheduled EXPLAIN ANALYZE: which firing a proxy took, and what became of each query.

CREATE TABLE hs2proxy.explain_analyze_runs (
    id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    upstream_id bigint      NOT NULL REFERENCES hs2proxy.upstreams ON DELETE CASCADE,
    fired_at    timestamptz NOT NULL,
    claimed_by  text        NOT NULL CHECK (claimed_by <> ''),
    started_at  timestamptz NOT NULL,
    lease_until timestamptz,
    ended_at    timestamptz,
    reason      text        NOT NULL DEFAULT '',
    UNIQUE (upstream_id, fired_at),
    CHECK ((lease_until IS NULL) = (ended_at IS NOT NULL))
);
CREATE INDEX explain_analyze_runs_fired_at ON hs2proxy.explain_analyze_runs (fired_at);
COMMENT ON TABLE hs2proxy.explain_analyze_runs IS 'Firings of the schedule of EXPLAIN ANALYZE, each taken by one proxy.';
COMMENT ON COLUMN hs2proxy.explain_analyze_runs.id IS 'Our key; rises with time.';
COMMENT ON COLUMN hs2proxy.explain_analyze_runs.upstream_id IS 'Server.';
COMMENT ON COLUMN hs2proxy.explain_analyze_runs.fired_at IS 'Time of the schedule, the same for every proxy.';
COMMENT ON COLUMN hs2proxy.explain_analyze_runs.claimed_by IS 'Proxy.';
COMMENT ON COLUMN hs2proxy.explain_analyze_runs.started_at IS 'When it took the firing.';
COMMENT ON COLUMN hs2proxy.explain_analyze_runs.lease_until IS 'While it runs: it is taken for gone after this time, unless it shows a sign of life.';
COMMENT ON COLUMN hs2proxy.explain_analyze_runs.ended_at IS 'When it ended; NULL while it runs.';
COMMENT ON COLUMN hs2proxy.explain_analyze_runs.reason IS 'Why it ended before all queries were through; empty otherwise.';

CREATE TABLE hs2proxy.explain_analyzes (
    run_id        bigint           NOT NULL REFERENCES hs2proxy.explain_analyze_runs ON DELETE CASCADE,
    fingerprint   text             NOT NULL CHECK (fingerprint <> ''),
    database_name text             NOT NULL,
    outcome       text             NOT NULL CHECK (outcome IN ('COUNTED', 'NO_COUNTS', 'REFUSED', 'CANCELED', 'FAILED')),
    reason        text             NOT NULL,
    operators     integer          NOT NULL CHECK (operators >= 0),
    started_at    timestamptz      NOT NULL,
    seconds       double precision NOT NULL CHECK (seconds >= 0),
    PRIMARY KEY (run_id, fingerprint, database_name),
    CHECK ((outcome = 'COUNTED') = (operators > 0))
);
COMMENT ON TABLE hs2proxy.explain_analyzes IS 'Queries of such a run, and what became of each.';
COMMENT ON COLUMN hs2proxy.explain_analyzes.run_id IS 'The run.';
COMMENT ON COLUMN hs2proxy.explain_analyzes.fingerprint IS 'The query; it may be older than what queries still holds.';
COMMENT ON COLUMN hs2proxy.explain_analyzes.database_name IS 'Current database of the sessions; empty for a query that nobody ran yet.';
COMMENT ON COLUMN hs2proxy.explain_analyzes.outcome IS 'COUNTED; NO_COUNTS: Hive printed none; REFUSED: not run, by our rules; CANCELED: in Hive too; FAILED.';
COMMENT ON COLUMN hs2proxy.explain_analyzes.reason IS 'Why it is not COUNTED; Hive''s words where it failed.';
COMMENT ON COLUMN hs2proxy.explain_analyzes.operators IS 'Operators whose rows were counted: see operator_actuals.';
COMMENT ON COLUMN hs2proxy.explain_analyzes.started_at IS 'When its turn came.';
COMMENT ON COLUMN hs2proxy.explain_analyzes.seconds IS 'How long it took, its EXPLAIN included.';

CREATE VIEW hs2proxy.report_explain_analyze AS
SELECT u.name AS upstream, e.started_at, e.fingerprint, e.database_name AS database, e.outcome, e.reason, e.operators,
       round(e.seconds::numeric, 3)::double precision AS seconds, w.worst, r.claimed_by, r.fired_at, q.normalized AS query
FROM hs2proxy.explain_analyzes e
JOIN hs2proxy.explain_analyze_runs r ON r.id = e.run_id
JOIN hs2proxy.upstreams u ON u.id = r.upstream_id
LEFT JOIN hs2proxy.queries q ON q.fingerprint = e.fingerprint
LEFT JOIN LATERAL (
    SELECT max(a.q_error) AS worst
    FROM hs2proxy.plans p JOIN hs2proxy.operator_actuals a ON a.plan_id = p.id
    WHERE p.upstream_id = r.upstream_id AND p.fingerprint = e.fingerprint AND p.database_name = e.database_name AND a.source = 'EXPLAIN_ANALYZE'
      AND e.outcome = 'COUNTED') w ON true
ORDER BY e.started_at DESC, e.run_id DESC, e.fingerprint, e.database_name;
COMMENT ON VIEW hs2proxy.report_explain_analyze IS 'Which queries were run under EXPLAIN ANALYZE by the schedule, and what became of each?';
COMMENT ON COLUMN hs2proxy.report_explain_analyze.upstream IS 'Server.';
COMMENT ON COLUMN hs2proxy.report_explain_analyze.started_at IS 'When its turn came.';
COMMENT ON COLUMN hs2proxy.report_explain_analyze.fingerprint IS 'The query.';
COMMENT ON COLUMN hs2proxy.report_explain_analyze.database IS 'Current database of the sessions.';
COMMENT ON COLUMN hs2proxy.report_explain_analyze.outcome IS 'COUNTED; NO_COUNTS: Hive printed none; REFUSED: not run, by our rules; CANCELED: in Hive too; FAILED.';
COMMENT ON COLUMN hs2proxy.report_explain_analyze.reason IS 'Why it is not COUNTED.';
COMMENT ON COLUMN hs2proxy.report_explain_analyze.operators IS 'Operators whose rows were counted.';
COMMENT ON COLUMN hs2proxy.report_explain_analyze.seconds IS 'How long it took.';
COMMENT ON COLUMN hs2proxy.report_explain_analyze.worst IS 'The largest q-error of the query''s operators as EXPLAIN ANALYZE counted them last.';
COMMENT ON COLUMN hs2proxy.report_explain_analyze.claimed_by IS 'Proxy that ran it.';
COMMENT ON COLUMN hs2proxy.report_explain_analyze.fired_at IS 'Time of the schedule.';
COMMENT ON COLUMN hs2proxy.report_explain_analyze.query IS 'Text without literals; empty for one that is not on record.';

-- +goose StatementBegin
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['hs2proxy_writer', 'hs2proxy_reader', 'hs2proxy_operator'] LOOP
        IF EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolname = name) THEN
            EXECUTE format('GRANT SELECT ON hs2proxy.report_explain_analyze TO %I', name);
        END IF;
    END LOOP;
    IF EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolname = 'hs2proxy_writer') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON hs2proxy.explain_analyze_runs, hs2proxy.explain_analyzes TO hs2proxy_writer;
    END IF;
END
$$;
-- +goose StatementEnd
