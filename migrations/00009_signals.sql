-- +goose Up

-- Signals of stale statistics for partitions, from other writers, from clients' ANALYZE and from what statements really moved.

ALTER TABLE hs2proxy.tables
    ADD COLUMN plan_rows        bigint CHECK (plan_rows >= 0),
    ADD COLUMN known_rows       bigint,
    ADD COLUMN known_rows_from  text   CHECK (known_rows_from IN ('METASTORE', 'ESTIMATED', 'WIRE', 'ANALYZE')),
    ADD COLUMN known_bytes      bigint,
    ADD COLUMN known_bytes_from text   CHECK (known_bytes_from IN ('METASTORE', 'FILES')),
    ADD COLUMN columns_needed   text[] NOT NULL DEFAULT '{}',
    ADD COLUMN columns_covered  text[] NOT NULL DEFAULT '{}' CHECK (columns_covered <@ columns_needed),
    ADD CHECK ((known_rows IS NULL) = (known_rows_from IS NULL)),
    ADD CHECK ((known_bytes IS NULL) = (known_bytes_from IS NULL));
COMMENT ON COLUMN hs2proxy.tables.plan_rows IS 'Rows that the last plan to scan the whole table took it for; NULL when none did.';
COMMENT ON COLUMN hs2proxy.tables.known_rows IS 'The best that is known of its rows; NULL when nothing is.';
COMMENT ON COLUMN hs2proxy.tables.known_rows_from IS 'Where known_rows comes from: METASTORE; ESTIMATED, the planner''s guess; WIRE, a baseline and the rows counted since; ANALYZE, the metastore after an ANALYZE that was seen.';
COMMENT ON COLUMN hs2proxy.tables.known_bytes IS 'The best that is known of its bytes; NULL when nothing is.';
COMMENT ON COLUMN hs2proxy.tables.known_bytes_from IS 'Where known_bytes comes from: METASTORE, or FILES, the file system itself.';
COMMENT ON COLUMN hs2proxy.tables.columns_needed IS 'Columns that joins, filters and groupings use, as far as Hive keeps statistics of them.';
COMMENT ON COLUMN hs2proxy.tables.columns_covered IS 'Those of columns_needed with valid statistics.';

ALTER TABLE hs2proxy.table_writes
    ADD COLUMN partitions text[]      NOT NULL DEFAULT '{""}' CHECK (cardinality(partitions) > 0),
    ADD COLUMN started_at timestamptz CHECK (started_at <= written_at);
COMMENT ON COLUMN hs2proxy.table_writes.partitions IS 'Partitions as the statement names them, columns by name; one that lacks columns stands for all with those values, the empty one for the whole table.';
COMMENT ON COLUMN hs2proxy.table_writes.started_at IS 'When the statement began; NULL when unknown.';
CREATE INDEX table_writes_of_table ON hs2proxy.table_writes (table_id, written_at DESC);

ALTER TABLE hs2proxy.plan_tables
    ADD COLUMN partitions      text[]  NOT NULL DEFAULT '{}',
    ADD COLUMN partitions_read integer NOT NULL DEFAULT 0 CHECK (partitions_read >= cardinality(partitions)),
    ADD COLUMN build           boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN hs2proxy.plan_tables.partitions IS 'Partitions the plan reads, the first 64; empty for a table without partitions.';
COMMENT ON COLUMN hs2proxy.plan_tables.partitions_read IS 'How many it reads.';
COMMENT ON COLUMN hs2proxy.plan_tables.build IS 'The table''s rows go into a join''s hash table.';

CREATE TABLE hs2proxy.partitions (
    table_id         bigint      NOT NULL REFERENCES hs2proxy.tables ON DELETE CASCADE,
    name             text        NOT NULL CHECK (name <> ''),
    baseline_rows    bigint,
    baseline_bytes   bigint,
    baseline_columns text[],
    baseline_at      timestamptz,
    read_at          timestamptz NOT NULL,
    PRIMARY KEY (table_id, name)
);
CREATE INDEX partitions_read_at ON hs2proxy.partitions (read_at);
COMMENT ON TABLE hs2proxy.partitions IS 'Partitions that queries read or statements wrote, with what their statistics started from. What was written since is in table_writes.';
COMMENT ON COLUMN hs2proxy.partitions.table_id IS 'Table.';
COMMENT ON COLUMN hs2proxy.partitions.name IS 'As SHOW PARTITIONS prints it.';
COMMENT ON COLUMN hs2proxy.partitions.baseline_rows IS 'Rows at the last verified ANALYZE; NULL when unknown.';
COMMENT ON COLUMN hs2proxy.partitions.baseline_bytes IS 'Bytes on disk at that time.';
COMMENT ON COLUMN hs2proxy.partitions.baseline_columns IS 'Columns with valid statistics at that time.';
COMMENT ON COLUMN hs2proxy.partitions.baseline_at IS 'When that was; NULL without a baseline.';
COMMENT ON COLUMN hs2proxy.partitions.read_at IS 'When its statistics were last read from Hive.';

CREATE TABLE hs2proxy.analyzes (
    table_id     bigint      NOT NULL REFERENCES hs2proxy.tables ON DELETE CASCADE,
    statement_id uuid        NOT NULL,
    partition    text        NOT NULL,
    for_columns  boolean     NOT NULL,
    columns      text[]      NOT NULL,
    counts_rows  boolean     NOT NULL,
    started_at   timestamptz,
    ended_at     timestamptz NOT NULL CHECK (ended_at >= started_at),
    PRIMARY KEY (table_id, statement_id)
);
CREATE INDEX analyzes_of_table ON hs2proxy.analyzes (table_id, ended_at DESC);
CREATE INDEX analyzes_ended_at ON hs2proxy.analyzes (ended_at);
COMMENT ON TABLE hs2proxy.analyzes IS 'Statistics that clients set themselves: ANALYZE TABLE, and ALTER TABLE … UPDATE STATISTICS.';
COMMENT ON COLUMN hs2proxy.analyzes.table_id IS 'Table.';
COMMENT ON COLUMN hs2proxy.analyzes.statement_id IS 'The statement; it may be older than what statements still holds.';
COMMENT ON COLUMN hs2proxy.analyzes.partition IS 'Partition as the statement names it, columns by name; empty for the whole table.';
COMMENT ON COLUMN hs2proxy.analyzes.for_columns IS 'FOR COLUMNS.';
COMMENT ON COLUMN hs2proxy.analyzes.columns IS 'The columns named; empty for all, and without FOR COLUMNS.';
COMMENT ON COLUMN hs2proxy.analyzes.counts_rows IS 'It counts rows, as NOSCAN and UPDATE STATISTICS do not.';
COMMENT ON COLUMN hs2proxy.analyzes.started_at IS 'When it began; NULL when unknown.';
COMMENT ON COLUMN hs2proxy.analyzes.ended_at IS 'When it ended.';

CREATE TABLE hs2proxy.foreign_writes (
    id             bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    table_id       bigint      NOT NULL REFERENCES hs2proxy.tables ON DELETE CASCADE,
    partition_name text        NOT NULL DEFAULT '',
    since          timestamptz NOT NULL,
    seen_at        timestamptz NOT NULL CHECK (seen_at > since),
    rows_before    bigint,
    rows_after     bigint,
    bytes_before   bigint,
    bytes_after    bigint,
    files_before   bigint,
    files_after    bigint,
    followed       boolean     NOT NULL,
    listed         boolean     NOT NULL,
    UNIQUE (table_id, partition_name, since, listed)
);
CREATE INDEX foreign_writes_seen_at ON hs2proxy.foreign_writes (seen_at);
COMMENT ON TABLE hs2proxy.foreign_writes IS 'Changes of files that no statement seen explains: somebody else writes.';
COMMENT ON COLUMN hs2proxy.foreign_writes.id IS 'Our key; rises with time.';
COMMENT ON COLUMN hs2proxy.foreign_writes.table_id IS 'Table.';
COMMENT ON COLUMN hs2proxy.foreign_writes.partition_name IS 'Partition; empty for the table itself.';
COMMENT ON COLUMN hs2proxy.foreign_writes.since IS 'The last reading without the change; for listed files when the youngest of them was written.';
COMMENT ON COLUMN hs2proxy.foreign_writes.seen_at IS 'The first reading with it.';
COMMENT ON COLUMN hs2proxy.foreign_writes.rows_before IS 'numRows before.';
COMMENT ON COLUMN hs2proxy.foreign_writes.rows_after IS 'numRows after.';
COMMENT ON COLUMN hs2proxy.foreign_writes.bytes_before IS 'totalSize before; for listed files the one the metastore has.';
COMMENT ON COLUMN hs2proxy.foreign_writes.bytes_after IS 'totalSize after, or the bytes listed.';
COMMENT ON COLUMN hs2proxy.foreign_writes.files_before IS 'numFiles before.';
COMMENT ON COLUMN hs2proxy.foreign_writes.files_after IS 'numFiles after, or the files listed.';
COMMENT ON COLUMN hs2proxy.foreign_writes.followed IS 'numRows moved with the files: the writer told the metastore.';
COMMENT ON COLUMN hs2proxy.foreign_writes.listed IS 'Only the file system shows it; the metastore was told nothing.';

CREATE TABLE hs2proxy.contradictions (
    table_id       bigint      NOT NULL REFERENCES hs2proxy.tables ON DELETE CASCADE,
    statement_id   uuid        NOT NULL,
    kind           text        NOT NULL CHECK (kind IN ('ROWS', 'MEMORY')),
    estimated_rows bigint,
    actual_rows    bigint,
    at_least       boolean     NOT NULL,
    certain        boolean     NOT NULL,
    words          text        NOT NULL,
    at             timestamptz NOT NULL,
    PRIMARY KEY (table_id, statement_id, kind)
);
CREATE INDEX contradictions_at ON hs2proxy.contradictions (at);
COMMENT ON TABLE hs2proxy.contradictions IS 'Statements that showed the planner''s numbers of a table to be wrong.';
COMMENT ON COLUMN hs2proxy.contradictions.table_id IS 'Table.';
COMMENT ON COLUMN hs2proxy.contradictions.statement_id IS 'The statement; it may be older than what statements still holds.';
COMMENT ON COLUMN hs2proxy.contradictions.kind IS 'ROWS: it moved other rows than estimated; MEMORY: a hash table of the table did not fit.';
COMMENT ON COLUMN hs2proxy.contradictions.estimated_rows IS 'What the planner took the table for.';
COMMENT ON COLUMN hs2proxy.contradictions.actual_rows IS 'What was there; NULL when the text told no number.';
COMMENT ON COLUMN hs2proxy.contradictions.at_least IS 'The table has actual_rows or more, not exactly so many.';
COMMENT ON COLUMN hs2proxy.contradictions.certain IS 'The error names the hash table; otherwise a task ran out of memory, whatever for.';
COMMENT ON COLUMN hs2proxy.contradictions.words IS 'Hive''s words for the memory error, in short.';
COMMENT ON COLUMN hs2proxy.contradictions.at IS 'When the statement ended.';

CREATE VIEW hs2proxy.last_analyzes AS
SELECT x.table_id, max(x.ended_at) AS ended_at, (array_agg(x.who ORDER BY x.ended_at DESC))[1] AS who
FROM (SELECT a.table_id, a.ended_at, 'CLIENT' AS who FROM hs2proxy.analyzes a WHERE a.counts_rows AND a.partition = ''
      UNION ALL
      SELECT t.id, r.ended_at, 'REFRESH'
      FROM hs2proxy.refreshes r
      JOIN hs2proxy.tables t ON t.name = r.table_name AND (t.upstream_id = r.upstream_id OR r.upstream_id IS NULL)
      WHERE r.state = 'DONE' AND r.ended_at IS NOT NULL AND cardinality(r.partitions) = 0) x
GROUP BY x.table_id;
COMMENT ON VIEW hs2proxy.last_analyzes IS 'The last ANALYZE seen of each whole table that counted its rows.';
COMMENT ON COLUMN hs2proxy.last_analyzes.table_id IS 'Table.';
COMMENT ON COLUMN hs2proxy.last_analyzes.ended_at IS 'When it ended.';
COMMENT ON COLUMN hs2proxy.last_analyzes.who IS 'REFRESH: we ran it; CLIENT: a client did.';

CREATE VIEW hs2proxy.report_foreign_writers AS
SELECT u.name AS upstream, t.name AS table_name, f.partition_name AS partition, f.seen_at, f.since,
       f.bytes_before, f.bytes_after, f.files_before, f.files_after, f.rows_before, f.rows_after, f.followed, f.listed,
       count(*) OVER (PARTITION BY f.table_id) AS changes_of_table, coalesce(tu.uses, 0) AS joins_7d
FROM hs2proxy.foreign_writes f
JOIN hs2proxy.tables t ON t.id = f.table_id
JOIN hs2proxy.upstreams u ON u.id = t.upstream_id
LEFT JOIN hs2proxy.table_uses tu ON tu.table_id = t.id
ORDER BY f.seen_at DESC, f.id DESC;
COMMENT ON VIEW hs2proxy.report_foreign_writers IS 'Which tables are written by somebody the proxy does not see, and do their statistics follow?';
COMMENT ON COLUMN hs2proxy.report_foreign_writers.upstream IS 'Server.';
COMMENT ON COLUMN hs2proxy.report_foreign_writers.table_name IS 'database.table.';
COMMENT ON COLUMN hs2proxy.report_foreign_writers.partition IS 'Partition; empty for the table itself.';
COMMENT ON COLUMN hs2proxy.report_foreign_writers.seen_at IS 'The first reading with the change.';
COMMENT ON COLUMN hs2proxy.report_foreign_writers.since IS 'The last reading without it; for listed files when the youngest of them was written.';
COMMENT ON COLUMN hs2proxy.report_foreign_writers.bytes_before IS 'Bytes before, by the metastore.';
COMMENT ON COLUMN hs2proxy.report_foreign_writers.bytes_after IS 'Bytes after, by the metastore or as listed.';
COMMENT ON COLUMN hs2proxy.report_foreign_writers.files_before IS 'Files before.';
COMMENT ON COLUMN hs2proxy.report_foreign_writers.files_after IS 'Files after.';
COMMENT ON COLUMN hs2proxy.report_foreign_writers.rows_before IS 'numRows before.';
COMMENT ON COLUMN hs2proxy.report_foreign_writers.rows_after IS 'numRows after.';
COMMENT ON COLUMN hs2proxy.report_foreign_writers.followed IS 'numRows moved with the files, so the statistics are as good as before.';
COMMENT ON COLUMN hs2proxy.report_foreign_writers.listed IS 'Only the file system shows the change.';
COMMENT ON COLUMN hs2proxy.report_foreign_writers.changes_of_table IS 'How many changes are on record for the table.';
COMMENT ON COLUMN hs2proxy.report_foreign_writers.joins_7d IS 'Analysed runs of joins over the table in seven days.';

CREATE VIEW hs2proxy.report_stats_health AS
SELECT u.name AS upstream, t.name AS table_name, round(t.health::numeric, 3)::double precision AS health, s.level, s.rules, s.reason,
       t.known_rows AS rows, t.known_rows_from AS rows_from, t.known_bytes AS bytes, t.known_bytes_from AS bytes_from,
       l.ended_at AS analyzed_at, l.who AS analyzed_by, t.columns_needed, t.columns_covered, coalesce(tu.uses, 0) AS joins_7d,
       t.writes_rows AS rows_written, t.writes_uncounted, coalesce(s.partitions, 0) AS partitions_stale, f.seen_at AS foreign_write_at, t.checked_at
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
WHERE t.checked_at IS NOT NULL
ORDER BY t.health NULLS LAST, coalesce(tu.uses, 0) DESC, u.name, t.name;
COMMENT ON VIEW hs2proxy.report_stats_health IS 'What are the statistics of each table worth, why, and where does each number come from?';
COMMENT ON COLUMN hs2proxy.report_stats_health.upstream IS 'Server.';
COMMENT ON COLUMN hs2proxy.report_stats_health.table_name IS 'database.table.';
COMMENT ON COLUMN hs2proxy.report_stats_health.health IS 'Worth of the statistics, 0 to 1; empty when unknown.';
COMMENT ON COLUMN hs2proxy.report_stats_health.level IS 'The worst level of the rules that hold; empty when none does.';
COMMENT ON COLUMN hs2proxy.report_stats_health.rules IS 'The rules that hold for the table or one of its partitions.';
COMMENT ON COLUMN hs2proxy.report_stats_health.reason IS 'The worst of them in one sentence.';
COMMENT ON COLUMN hs2proxy.report_stats_health.rows IS 'The best that is known of its rows.';
COMMENT ON COLUMN hs2proxy.report_stats_health.rows_from IS 'Where rows comes from: METASTORE, ESTIMATED, WIRE, ANALYZE.';
COMMENT ON COLUMN hs2proxy.report_stats_health.bytes IS 'The best that is known of its bytes.';
COMMENT ON COLUMN hs2proxy.report_stats_health.bytes_from IS 'Where bytes comes from: METASTORE, FILES.';
COMMENT ON COLUMN hs2proxy.report_stats_health.analyzed_at IS 'The last ANALYZE of the whole table that was seen.';
COMMENT ON COLUMN hs2proxy.report_stats_health.analyzed_by IS 'REFRESH: we ran it; CLIENT: a client did.';
COMMENT ON COLUMN hs2proxy.report_stats_health.columns_needed IS 'Columns that joins, filters and groupings use.';
COMMENT ON COLUMN hs2proxy.report_stats_health.columns_covered IS 'Those of them with valid statistics.';
COMMENT ON COLUMN hs2proxy.report_stats_health.joins_7d IS 'Analysed runs of joins over the table in seven days.';
COMMENT ON COLUMN hs2proxy.report_stats_health.rows_written IS 'Rows counted since the baseline.';
COMMENT ON COLUMN hs2proxy.report_stats_health.writes_uncounted IS 'Writes since whose rows are unknown.';
COMMENT ON COLUMN hs2proxy.report_stats_health.partitions_stale IS 'Partitions for which a rule holds.';
COMMENT ON COLUMN hs2proxy.report_stats_health.foreign_write_at IS 'The last change by a writer the proxy does not see.';
COMMENT ON COLUMN hs2proxy.report_stats_health.checked_at IS 'When the rules last ran.';

CREATE OR REPLACE VIEW hs2proxy.report_stale_tables AS
SELECT u.name AS upstream, t.name AS table_name, s.partition_name AS partition, s.rule, s.level, s.reason, s.columns, s.since,
       round(t.health::numeric, 3)::double precision AS health, t.baseline_rows, t.writes_rows AS rows_written,
       t.writes_uncounted AS writes_uncounted, t.writes_last_at AS last_write, t.baseline_at,
       coalesce(tu.uses, 0) AS joins_7d, r.state AS refresh_state, r.effect AS refresh_effect, r.at AS refresh_at, t.checked_at,
       t.known_rows AS rows, t.known_rows_from AS rows_from
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
COMMENT ON COLUMN hs2proxy.report_stale_tables.rows IS 'The best that is known of the table''s rows.';
COMMENT ON COLUMN hs2proxy.report_stale_tables.rows_from IS 'Where rows comes from: METASTORE, ESTIMATED, WIRE, ANALYZE.';
COMMENT ON COLUMN hs2proxy.report_stale_tables.rule IS 'R1 corrupt, R2 no basic statistics, R3 columns, R4 rows written, R5 drift, R6 uncounted writes, R7 partitions read, R8 contradicted, R9 age.';
COMMENT ON COLUMN hs2proxy.staleness.rule IS 'R1 corrupt, R2 no basic statistics, R3 columns, R4 rows written, R5 drift, R6 uncounted writes, R7 partitions read, R8 contradicted, R9 age.';

-- +goose StatementBegin
DO $$
DECLARE
    name text;
    v    text;
BEGIN
    FOREACH name IN ARRAY ARRAY['hs2proxy_writer', 'hs2proxy_reader', 'hs2proxy_operator'] LOOP
        IF EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolname = name) THEN
            FOREACH v IN ARRAY ARRAY['report_foreign_writers', 'report_stats_health'] LOOP
                EXECUTE format('GRANT SELECT ON hs2proxy.%I TO %I', v, name);
            END LOOP;
        END IF;
    END LOOP;
    IF EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolname = 'hs2proxy_writer') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON hs2proxy.partitions, hs2proxy.analyzes, hs2proxy.foreign_writes, hs2proxy.contradictions TO hs2proxy_writer;
        GRANT SELECT ON hs2proxy.last_analyzes TO hs2proxy_writer;
    END IF;
END
$$;
-- +goose StatementEnd
