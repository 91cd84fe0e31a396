-- +goose Up

-- Estimates beside what operators really put out: from counters in the operation logs that clients fetch, from the rows that a
-- statement wrote, and from scheduled EXPLAIN ANALYZE.

CREATE TABLE hs2proxy.operator_actuals (
    plan_id          bigint           NOT NULL REFERENCES hs2proxy.plans ON DELETE CASCADE,
    operator_id      text             NOT NULL CHECK (operator_id <> ''),
    kind             text             NOT NULL CHECK (kind <> ''),
    vertex           text             NOT NULL,
    source           text             NOT NULL CHECK (source IN ('COUNTERS', 'ROWS_MODIFIED', 'EXPLAIN_ANALYZE')),
    statement_id     uuid,
    estimated_rows   bigint           NOT NULL CHECK (estimated_rows >= 0),
    actual_rows      bigint           NOT NULL CHECK (actual_rows >= 0),
    q_error          double precision NOT NULL CHECK (q_error >= 1),
    q_error_max      double precision NOT NULL CHECK (q_error_max >= q_error),
    runs             bigint           NOT NULL DEFAULT 1 CHECK (runs > 0),
    first_counted_at timestamptz      NOT NULL,
    counted_at       timestamptz      NOT NULL CHECK (counted_at >= first_counted_at),
    PRIMARY KEY (plan_id, operator_id)
);
COMMENT ON TABLE hs2proxy.operator_actuals IS 'What operators of a plan were estimated to put out, and put out the last time they were counted. One row for each operator of a plan, however often it runs.';
COMMENT ON COLUMN hs2proxy.operator_actuals.plan_id IS 'The plan.';
COMMENT ON COLUMN hs2proxy.operator_actuals.operator_id IS 'Hive''s identifier in the plan''s user-level text (MAPJOIN_25); WRITE for the rows a statement wrote.';
COMMENT ON COLUMN hs2proxy.operator_actuals.kind IS 'Operator as plans print it, such as Map Join Operator.';
COMMENT ON COLUMN hs2proxy.operator_actuals.vertex IS 'Vertex it runs in, such as Map 1; empty when unknown.';
COMMENT ON COLUMN hs2proxy.operator_actuals.source IS 'Where actual_rows comes from: COUNTERS of an operation log, ROWS_MODIFIED of a write, EXPLAIN_ANALYZE.';
COMMENT ON COLUMN hs2proxy.operator_actuals.statement_id IS 'Statement that was counted last, which retention may have deleted; NULL for EXPLAIN ANALYZE.';
COMMENT ON COLUMN hs2proxy.operator_actuals.estimated_rows IS 'Rows by the planner.';
COMMENT ON COLUMN hs2proxy.operator_actuals.actual_rows IS 'Rows it put out.';
COMMENT ON COLUMN hs2proxy.operator_actuals.q_error IS 'The larger of estimate over truth and truth over estimate, 0 rows taken for 1.';
COMMENT ON COLUMN hs2proxy.operator_actuals.q_error_max IS 'The largest q_error of all runs counted.';
COMMENT ON COLUMN hs2proxy.operator_actuals.runs IS 'Runs counted.';
COMMENT ON COLUMN hs2proxy.operator_actuals.first_counted_at IS 'When it was counted first.';
COMMENT ON COLUMN hs2proxy.operator_actuals.counted_at IS 'When it was counted last.';

CREATE VIEW hs2proxy.report_estimate_errors AS
WITH counted AS (
    SELECT u.name AS upstream, a.kind, width_bucket(a.q_error, ARRAY[1, 1.000001, 2, 5, 10, 100, 1000]::double precision[]) AS class,
           p.fingerprint, count(*) AS operators, sum(a.runs) AS runs, count(*) FILTER (WHERE a.actual_rows > a.estimated_rows) AS underestimated,
           max(a.q_error) AS worst, max(a.counted_at) AS counted_at
    FROM hs2proxy.operator_actuals a
    JOIN hs2proxy.plans p ON p.id = a.plan_id
    JOIN hs2proxy.upstreams u ON u.id = p.upstream_id
    GROUP BY 1, 2, 3, 4
), ranked AS (
    SELECT c.*, row_number() OVER (PARTITION BY c.upstream, c.kind, c.class ORDER BY c.worst DESC, c.fingerprint) AS place
    FROM counted c
)
SELECT r.upstream, r.kind AS operator,
       (ARRAY['1', 'up to 2', '2 to 5', '5 to 10', '10 to 100', '100 to 1000', '1000 and more'])[r.class] AS q_error,
       sum(r.operators)::bigint AS operators, count(*) AS queries, sum(r.runs)::bigint AS runs,
       sum(r.underestimated)::bigint AS underestimated, round(max(r.worst)::numeric, 1)::double precision AS worst,
       array_agg(r.fingerprint ORDER BY r.place) FILTER (WHERE r.place <= 5) AS worst_fingerprints, max(r.counted_at) AS last_counted
FROM ranked r
GROUP BY r.upstream, r.kind, r.class
ORDER BY r.upstream, r.kind, r.class DESC;
COMMENT ON VIEW hs2proxy.report_estimate_errors IS 'How far are the planner''s estimates from the rows counted, by server and kind of operator, and in which queries most?
Operators of every plan whose rows were counted; the last count of each.';
COMMENT ON COLUMN hs2proxy.report_estimate_errors.upstream IS 'Server that planned.';
COMMENT ON COLUMN hs2proxy.report_estimate_errors.operator IS 'Kind of operator, as plans print it.';
COMMENT ON COLUMN hs2proxy.report_estimate_errors.q_error IS 'Class of the histogram: how far estimate and truth are apart, as a factor. A border belongs to the class above it.';
COMMENT ON COLUMN hs2proxy.report_estimate_errors.operators IS 'Operators in the class.';
COMMENT ON COLUMN hs2proxy.report_estimate_errors.queries IS 'Queries they belong to.';
COMMENT ON COLUMN hs2proxy.report_estimate_errors.runs IS 'Runs in which they were counted, together.';
COMMENT ON COLUMN hs2proxy.report_estimate_errors.underestimated IS 'Those that put out more than was estimated.';
COMMENT ON COLUMN hs2proxy.report_estimate_errors.worst IS 'The largest q-error of the class.';
COMMENT ON COLUMN hs2proxy.report_estimate_errors.worst_fingerprints IS 'Up to five queries with the largest q-errors of the class, the worst first.';
COMMENT ON COLUMN hs2proxy.report_estimate_errors.last_counted IS 'When one of them was counted last.';

-- +goose StatementBegin
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['hs2proxy_writer', 'hs2proxy_reader', 'hs2proxy_operator'] LOOP
        IF EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolname = name) THEN
            EXECUTE format('GRANT SELECT ON hs2proxy.report_estimate_errors TO %I', name);
        END IF;
    END LOOP;
    IF EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolname = 'hs2proxy_writer') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON hs2proxy.operator_actuals TO hs2proxy_writer;
    END IF;
END
$$;
-- +goose StatementEnd
