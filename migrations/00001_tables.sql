-- +goose Up

COMMENT ON SCHEMA hs2proxy IS 'What hs2proxy saw of HiveServer2: statements, joins, table statistics, refreshes. Read the report_* views.';
COMMENT ON TABLE hs2proxy.goose_db_version IS 'Which migrations have been applied (kept by goose).';
COMMENT ON COLUMN hs2proxy.goose_db_version.id IS 'Order of application.';
COMMENT ON COLUMN hs2proxy.goose_db_version.version_id IS 'Number of the migration file; 0 marks the creation of this table.';
COMMENT ON COLUMN hs2proxy.goose_db_version.is_applied IS 'True when applied.';
COMMENT ON COLUMN hs2proxy.goose_db_version.tstamp IS 'When it was applied.';

CREATE TABLE hs2proxy.upstreams (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name         text        NOT NULL UNIQUE CHECK (name <> ''),
    hive_version text,
    first_seen   timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE hs2proxy.upstreams IS 'HiveServer2 instances (or groups) as the configuration names them.';
COMMENT ON COLUMN hs2proxy.upstreams.id IS 'Our key.';
COMMENT ON COLUMN hs2proxy.upstreams.name IS 'Name in the configuration.';
COMMENT ON COLUMN hs2proxy.upstreams.hive_version IS 'Version the server last reported; NULL until it was asked.';
COMMENT ON COLUMN hs2proxy.upstreams.first_seen IS 'When the first observation came in.';

CREATE TABLE hs2proxy.sessions (
    id              uuid        PRIMARY KEY,
    upstream_id     bigint      NOT NULL REFERENCES hs2proxy.upstreams ON DELETE CASCADE,
    user_name       text        NOT NULL,
    client_addr     text        NOT NULL,
    auth            text        NOT NULL,
    client_protocol integer     NOT NULL CHECK (client_protocol >= 0),
    client_name     text        NOT NULL,
    configuration   jsonb       NOT NULL,
    settings        jsonb       NOT NULL,
    database_name   text        NOT NULL,
    opened_at       timestamptz NOT NULL,
    closed_at       timestamptz
);
CREATE INDEX sessions_upstream ON hs2proxy.sessions (upstream_id);
CREATE INDEX sessions_opened_at ON hs2proxy.sessions (opened_at);
COMMENT ON TABLE hs2proxy.sessions IS 'HiveServer2 sessions seen by a proxy. The handle''s secret is never stored.';
COMMENT ON COLUMN hs2proxy.sessions.id IS 'GUID of the session handle, as in Hive''s own log.';
COMMENT ON COLUMN hs2proxy.sessions.upstream_id IS 'Server that owns the session.';
COMMENT ON COLUMN hs2proxy.sessions.user_name IS 'Authenticated user, or the one OpenSession named; empty when neither was readable.';
COMMENT ON COLUMN hs2proxy.sessions.client_addr IS 'Client''s host and port.';
COMMENT ON COLUMN hs2proxy.sessions.auth IS 'Authentication seen on the connection, such as SASL PLAIN.';
COMMENT ON COLUMN hs2proxy.sessions.client_protocol IS 'Protocol version the server answered (10 is V10); 0 when unknown.';
COMMENT ON COLUMN hs2proxy.sessions.client_name IS 'What the client calls itself; may be empty.';
COMMENT ON COLUMN hs2proxy.sessions.configuration IS 'OpenSession''s configuration; values of secret keys are replaced.';
COMMENT ON COLUMN hs2proxy.sessions.settings IS 'The session''s settings as last seen; values of secret keys are replaced.';
COMMENT ON COLUMN hs2proxy.sessions.database_name IS 'Current database as last seen.';
COMMENT ON COLUMN hs2proxy.sessions.opened_at IS 'When it was opened.';
COMMENT ON COLUMN hs2proxy.sessions.closed_at IS 'When it was closed; NULL while it lives or when its end was never seen.';

CREATE TABLE hs2proxy.queries (
    fingerprint text        PRIMARY KEY CHECK (fingerprint <> ''),
    kind        text        NOT NULL CHECK (kind <> ''),
    normalized  text        NOT NULL,
    sample_sql  text,
    first_seen  timestamptz NOT NULL,
    last_seen   timestamptz NOT NULL,
    runs        bigint      NOT NULL DEFAULT 0 CHECK (runs >= 0)
);
CREATE INDEX queries_last_seen ON hs2proxy.queries (last_seen);
COMMENT ON TABLE hs2proxy.queries IS 'One row per fingerprint: statements that differ only in literals, comments, white space and case.';
COMMENT ON COLUMN hs2proxy.queries.fingerprint IS 'Hash of the normalized text.';
COMMENT ON COLUMN hs2proxy.queries.kind IS 'Kind of statement: SELECT, INSERT, CTAS, …';
COMMENT ON COLUMN hs2proxy.queries.normalized IS 'Text with literals replaced by ?.';
COMMENT ON COLUMN hs2proxy.queries.sample_sql IS 'Last text as sent, literals included; NULL unless the configuration keeps literals.';
COMMENT ON COLUMN hs2proxy.queries.first_seen IS 'Start of the first run.';
COMMENT ON COLUMN hs2proxy.queries.last_seen IS 'Start of the last run.';
COMMENT ON COLUMN hs2proxy.queries.runs IS 'Statements seen, on all upstreams.';

CREATE TABLE hs2proxy.plans (
    id                bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    upstream_id       bigint      NOT NULL REFERENCES hs2proxy.upstreams ON DELETE CASCADE,
    fingerprint       text        NOT NULL REFERENCES hs2proxy.queries ON DELETE CASCADE,
    database_name     text        NOT NULL,
    settings_hash     text        NOT NULL,
    plan_hash         text        NOT NULL,
    hive_version      text        NOT NULL,
    settings          jsonb       NOT NULL,
    plan_text         bytea,
    cause             text        NOT NULL CHECK (cause IN ('FIRST', 'AGE', 'STATISTICS', 'SETTINGS', 'VERSION', 'REFRESH')),
    first_explained_at timestamptz NOT NULL,
    explained_at      timestamptz NOT NULL CHECK (explained_at >= first_explained_at),
    explains          bigint      NOT NULL DEFAULT 1 CHECK (explains > 0),
    explain_time      interval    NOT NULL
);
CREATE INDEX plans_query ON hs2proxy.plans (upstream_id, fingerprint, database_name, settings_hash, explained_at DESC);
CREATE INDEX plans_fingerprint ON hs2proxy.plans (fingerprint);
CREATE INDEX plans_explained_at ON hs2proxy.plans (explained_at);
COMMENT ON TABLE hs2proxy.plans IS 'What EXPLAIN showed for a query, per upstream, database and settings: a new row whenever strategies, big tables or tables differ from the row before.';
COMMENT ON COLUMN hs2proxy.plans.id IS 'Our key; rises with time.';
COMMENT ON COLUMN hs2proxy.plans.upstream_id IS 'Server that explained.';
COMMENT ON COLUMN hs2proxy.plans.fingerprint IS 'The query.';
COMMENT ON COLUMN hs2proxy.plans.database_name IS 'Current database of the session, against which names were resolved.';
COMMENT ON COLUMN hs2proxy.plans.settings_hash IS 'Hash of settings.';
COMMENT ON COLUMN hs2proxy.plans.plan_hash IS 'Hash of the joins'' shape: tables, types, strategies and verdicts, without sizes.';
COMMENT ON COLUMN hs2proxy.plans.hive_version IS 'Version of the server that explained; empty when unknown.';
COMMENT ON COLUMN hs2proxy.plans.settings IS 'Settings in force that matter to join strategies.';
COMMENT ON COLUMN hs2proxy.plans.plan_text IS 'Plan as Hive printed it last, gzip; NULL unless the configuration keeps literals.';
COMMENT ON COLUMN hs2proxy.plans.cause IS 'Why it was explained when this row began: FIRST, AGE, STATISTICS, SETTINGS, VERSION, REFRESH.';
COMMENT ON COLUMN hs2proxy.plans.first_explained_at IS 'When this plan was first seen.';
COMMENT ON COLUMN hs2proxy.plans.explained_at IS 'When it was last seen; sizes and reasons of its joins are of then.';
COMMENT ON COLUMN hs2proxy.plans.explains IS 'How many EXPLAINs gave this plan in a row.';
COMMENT ON COLUMN hs2proxy.plans.explain_time IS 'Duration of the last EXPLAIN.';

CREATE TABLE hs2proxy.plan_uses (
    plan_id bigint NOT NULL REFERENCES hs2proxy.plans ON DELETE CASCADE,
    day     date   NOT NULL,
    uses    bigint NOT NULL CHECK (uses > 0),
    PRIMARY KEY (plan_id, day)
);
COMMENT ON TABLE hs2proxy.plan_uses IS 'How many statements ran with a plan on each day (UTC), so that reports need not count statements.';
COMMENT ON COLUMN hs2proxy.plan_uses.plan_id IS 'The plan.';
COMMENT ON COLUMN hs2proxy.plan_uses.day IS 'Day of the statements'' start, UTC.';
COMMENT ON COLUMN hs2proxy.plan_uses.uses IS 'Statements.';

CREATE TABLE hs2proxy.joins (
    plan_id        bigint           NOT NULL REFERENCES hs2proxy.plans ON DELETE CASCADE,
    ordinal        integer          NOT NULL CHECK (ordinal >= 0),
    operator_id    text             NOT NULL,
    vertex         text             NOT NULL,
    join_types     text[]           NOT NULL,
    tables         text[]           NOT NULL,
    planned        text             NOT NULL CHECK (planned IN ('MAP_JOIN', 'BUCKET_MAP_JOIN', 'DPHJ', 'SMB', 'MERGE_JOIN', 'UNKNOWN')),
    simulated      text             NOT NULL CHECK (simulated IN ('MAP_JOIN', 'BUCKET_MAP_JOIN', 'DPHJ', 'SMB', 'MERGE_JOIN', 'UNKNOWN')),
    expected       text             CHECK (expected IN ('MAP_JOIN', 'BUCKET_MAP_JOIN', 'DPHJ', 'SMB', 'MERGE_JOIN', 'UNKNOWN')),
    agrees         boolean          NOT NULL,
    big_table      integer          NOT NULL CHECK (big_table >= -1),
    big_table_name text,
    budget_bytes   bigint           NOT NULL,
    small_bytes    bigint           CHECK (small_bytes >= 0),
    input_rows     bigint           CHECK (input_rows >= 0),
    input_bytes    bigint           CHECK (input_bytes >= 0),
    bytes_moved    bigint           CHECK (bytes_moved >= 0),
    output_rows    bigint           CHECK (output_rows >= 0),
    output_bytes   bigint           CHECK (output_bytes >= 0),
    margin_factor  double precision CHECK (margin_factor > 0),
    margin_next    text             CHECK (margin_next IN ('MAP_JOIN', 'BUCKET_MAP_JOIN', 'DPHJ', 'SMB', 'MERGE_JOIN', 'UNKNOWN')),
    reason         text             NOT NULL,
    uncertain      text[]           NOT NULL,
    inputs         jsonb            NOT NULL,
    attempts       jsonb            NOT NULL,
    detail         jsonb            NOT NULL,
    PRIMARY KEY (plan_id, ordinal),
    CHECK ((margin_factor IS NULL) = (margin_next IS NULL))
);
COMMENT ON TABLE hs2proxy.joins IS 'Every join of a plan: what Hive chose, what its selector chooses from the same numbers, and why.';
COMMENT ON COLUMN hs2proxy.joins.plan_id IS 'The plan.';
COMMENT ON COLUMN hs2proxy.joins.ordinal IS 'Number of the join in the plan, from 0, in plan order.';
COMMENT ON COLUMN hs2proxy.joins.operator_id IS 'Hive''s operator, such as MAPJOIN_25; empty where the plan prints none.';
COMMENT ON COLUMN hs2proxy.joins.vertex IS 'Tez vertex the join runs in.';
COMMENT ON COLUMN hs2proxy.joins.join_types IS 'Types of the conditions: INNER, LEFT_OUTER, …';
COMMENT ON COLUMN hs2proxy.joins.tables IS 'Base tables below the inputs, by position.';
COMMENT ON COLUMN hs2proxy.joins.planned IS 'Strategy in Hive''s plan.';
COMMENT ON COLUMN hs2proxy.joins.simulated IS 'Strategy the simulated selector chooses from the plan''s statistics.';
COMMENT ON COLUMN hs2proxy.joins.expected IS 'Strategy it would choose from the best-known true numbers; NULL when nothing better is known.';
COMMENT ON COLUMN hs2proxy.joins.agrees IS 'Planned equals simulated, big table included.';
COMMENT ON COLUMN hs2proxy.joins.big_table IS 'Position of the streamed input; -1 when none is streamed.';
COMMENT ON COLUMN hs2proxy.joins.big_table_name IS 'Tables below the streamed input.';
COMMENT ON COLUMN hs2proxy.joins.budget_bytes IS 'maxJoinMemory: what a hash table may take.';
COMMENT ON COLUMN hs2proxy.joins.small_bytes IS 'Size of the hash tables (onlineDataSize of all but the streamed input; for a merge join of all but the largest).';
COMMENT ON COLUMN hs2proxy.joins.input_rows IS 'Rows of all inputs as estimated; NULL when the plan has none.';
COMMENT ON COLUMN hs2proxy.joins.input_bytes IS 'Bytes of all inputs as estimated.';
COMMENT ON COLUMN hs2proxy.joins.bytes_moved IS 'Lower bound of what crosses the network: all inputs of a shuffled join, one copy of the small sides of a broadcast, 0 for SMB.';
COMMENT ON COLUMN hs2proxy.joins.output_rows IS 'Rows of the result as estimated.';
COMMENT ON COLUMN hs2proxy.joins.output_bytes IS 'Bytes of the result as estimated.';
COMMENT ON COLUMN hs2proxy.joins.margin_factor IS 'Factor by which the hashed side may grow (above 1) or must shrink (below 1) before the strategy flips.';
COMMENT ON COLUMN hs2proxy.joins.margin_next IS 'Strategy after the flip.';
COMMENT ON COLUMN hs2proxy.joins.reason IS 'The deciding comparison in one sentence.';
COMMENT ON COLUMN hs2proxy.joins.uncertain IS 'What the simulation had to assume.';
COMMENT ON COLUMN hs2proxy.joins.inputs IS 'The inputs with rows, sizes, keys, statistics and layout.';
COMMENT ON COLUMN hs2proxy.joins.attempts IS 'The selector''s checks in Hive''s order, with the numbers compared.';
COMMENT ON COLUMN hs2proxy.joins.detail IS 'The rest of the join and the decision, for replaying it (what-if).';

CREATE TABLE hs2proxy.statements (
    id            uuid        PRIMARY KEY,
    session_id    uuid        NOT NULL REFERENCES hs2proxy.sessions ON DELETE CASCADE,
    operation_id  uuid,
    fingerprint   text        REFERENCES hs2proxy.queries ON DELETE CASCADE,
    plan_id       bigint      REFERENCES hs2proxy.plans ON DELETE SET NULL,
    kind          text        NOT NULL CHECK (kind <> ''),
    database_name text        NOT NULL,
    sql_text      text,
    truncated     boolean     NOT NULL DEFAULT false,
    state         text        NOT NULL CHECK (state IN ('RUNNING', 'FINISHED', 'CANCELED', 'CLOSED', 'ERROR', 'TIMEDOUT', 'LOST')),
    error_code    integer     NOT NULL DEFAULT 0,
    sql_state     text        NOT NULL DEFAULT '',
    error_message text        NOT NULL DEFAULT '',
    modified_rows bigint,
    started_at    timestamptz NOT NULL,
    ended_at      timestamptz,
    analyzed_at   timestamptz,
    explain_error text        NOT NULL DEFAULT ''
);
CREATE INDEX statements_started_at ON hs2proxy.statements (started_at DESC);
CREATE INDEX statements_session ON hs2proxy.statements (session_id);
CREATE INDEX statements_fingerprint ON hs2proxy.statements (fingerprint, started_at DESC);
CREATE INDEX statements_plan ON hs2proxy.statements (plan_id, started_at) WHERE plan_id IS NOT NULL;
COMMENT ON TABLE hs2proxy.statements IS 'One row per ExecuteStatement call and what became of it.';
COMMENT ON COLUMN hs2proxy.statements.id IS 'Our key, fixed when the call was seen.';
COMMENT ON COLUMN hs2proxy.statements.session_id IS 'Session it ran in.';
COMMENT ON COLUMN hs2proxy.statements.operation_id IS 'GUID of the operation handle; NULL when the server refused the statement.';
COMMENT ON COLUMN hs2proxy.statements.fingerprint IS 'The query; NULL when the text could not be read.';
COMMENT ON COLUMN hs2proxy.statements.plan_id IS 'Plan it ran with, as far as known.';
COMMENT ON COLUMN hs2proxy.statements.kind IS 'Kind of statement: SELECT, INSERT, SET, …';
COMMENT ON COLUMN hs2proxy.statements.database_name IS 'Current database when it started.';
COMMENT ON COLUMN hs2proxy.statements.sql_text IS 'Text as sent; NULL unless the configuration keeps literals.';
COMMENT ON COLUMN hs2proxy.statements.truncated IS 'The text was longer than the proxy copies.';
COMMENT ON COLUMN hs2proxy.statements.state IS 'Outcome in Hive''s words; LOST: the connection ended first.';
COMMENT ON COLUMN hs2proxy.statements.error_code IS 'Hive''s error code; 0 without an error.';
COMMENT ON COLUMN hs2proxy.statements.sql_state IS 'SQLSTATE of the error.';
COMMENT ON COLUMN hs2proxy.statements.error_message IS 'Hive''s message; the statement''s literals are replaced unless they are kept.';
COMMENT ON COLUMN hs2proxy.statements.modified_rows IS 'numModifiedRows; NULL when it was never sent.';
COMMENT ON COLUMN hs2proxy.statements.started_at IS 'When the call was seen.';
COMMENT ON COLUMN hs2proxy.statements.ended_at IS 'When the final state was first seen.';
COMMENT ON COLUMN hs2proxy.statements.analyzed_at IS 'When its plan was explained (also when that failed); NULL when it was not.';
COMMENT ON COLUMN hs2proxy.statements.explain_error IS 'Hive''s words when EXPLAIN failed.';

CREATE TABLE hs2proxy.findings (
    id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    upstream_id bigint      NOT NULL REFERENCES hs2proxy.upstreams ON DELETE CASCADE,
    fingerprint text        NOT NULL REFERENCES hs2proxy.queries ON DELETE CASCADE,
    kind        text        NOT NULL CHECK (kind <> ''),
    subject     text        NOT NULL,
    severity    text        NOT NULL CHECK (severity IN ('INFO', 'LOW', 'MEDIUM', 'HIGH', 'CRITICAL')),
    summary     text        NOT NULL,
    evidence    jsonb       NOT NULL,
    advice      text        NOT NULL,
    plan_id     bigint      REFERENCES hs2proxy.plans ON DELETE SET NULL,
    first_seen  timestamptz NOT NULL,
    last_seen   timestamptz NOT NULL CHECK (last_seen >= first_seen),
    times       bigint      NOT NULL CHECK (times > 0),
    UNIQUE (upstream_id, fingerprint, kind, subject)
);
CREATE INDEX findings_fingerprint ON hs2proxy.findings (fingerprint);
CREATE INDEX findings_plan ON hs2proxy.findings (plan_id);
CREATE INDEX findings_last_seen ON hs2proxy.findings (last_seen DESC);
COMMENT ON TABLE hs2proxy.findings IS 'What is worth telling about a query; seen again, the same finding counts up.';
COMMENT ON COLUMN hs2proxy.findings.id IS 'Our key.';
COMMENT ON COLUMN hs2proxy.findings.upstream_id IS 'Server.';
COMMENT ON COLUMN hs2proxy.findings.fingerprint IS 'The query.';
COMMENT ON COLUMN hs2proxy.findings.kind IS 'The rule.';
COMMENT ON COLUMN hs2proxy.findings.subject IS 'What it is about: a join, a table, the statement.';
COMMENT ON COLUMN hs2proxy.findings.severity IS 'INFO, LOW, MEDIUM, HIGH, CRITICAL, as last seen.';
COMMENT ON COLUMN hs2proxy.findings.summary IS 'One sentence with the numbers last seen.';
COMMENT ON COLUMN hs2proxy.findings.evidence IS 'The numbers by name.';
COMMENT ON COLUMN hs2proxy.findings.advice IS 'SQL or a SET to try; may be empty.';
COMMENT ON COLUMN hs2proxy.findings.plan_id IS 'Plan it was last seen in.';
COMMENT ON COLUMN hs2proxy.findings.first_seen IS 'When it was first seen.';
COMMENT ON COLUMN hs2proxy.findings.last_seen IS 'When it was last seen.';
COMMENT ON COLUMN hs2proxy.findings.times IS 'Analysed statements that showed it.';

CREATE TABLE hs2proxy.tables (
    id               bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    upstream_id      bigint           NOT NULL REFERENCES hs2proxy.upstreams ON DELETE CASCADE,
    name             text             NOT NULL CHECK (name <> ''),
    first_seen       timestamptz      NOT NULL,
    used_at          timestamptz,
    join_columns     text[]           NOT NULL DEFAULT '{}',
    other_columns    text[]           NOT NULL DEFAULT '{}',
    plan_basic       text             NOT NULL DEFAULT '' CHECK (plan_basic IN ('', 'COMPLETE', 'PARTIAL', 'NONE')),
    plan_column      text             NOT NULL DEFAULT '' CHECK (plan_column IN ('', 'COMPLETE', 'PARTIAL', 'NONE')),
    baseline_rows    bigint,
    baseline_bytes   bigint,
    baseline_columns text[],
    baseline_at      timestamptz,
    writes_rows      bigint           NOT NULL DEFAULT 0,
    writes_counted   bigint           NOT NULL DEFAULT 0 CHECK (writes_counted >= 0),
    writes_uncounted bigint           NOT NULL DEFAULT 0 CHECK (writes_uncounted >= 0),
    writes_last_at   timestamptz,
    columns_changed  boolean          NOT NULL DEFAULT false,
    health           double precision CHECK (health BETWEEN 0 AND 1),
    checked_at       timestamptz,
    UNIQUE (upstream_id, name)
);
CREATE INDEX tables_used_at ON hs2proxy.tables (upstream_id, used_at DESC);
COMMENT ON TABLE hs2proxy.tables IS 'Tables seen in plans and writes: how they are used, what their statistics started from, what was written since.';
COMMENT ON COLUMN hs2proxy.tables.id IS 'Our key.';
COMMENT ON COLUMN hs2proxy.tables.upstream_id IS 'Server.';
COMMENT ON COLUMN hs2proxy.tables.name IS 'database.table, lower case.';
COMMENT ON COLUMN hs2proxy.tables.first_seen IS 'When it was first seen.';
COMMENT ON COLUMN hs2proxy.tables.used_at IS 'When a plan last read it; NULL when none did.';
COMMENT ON COLUMN hs2proxy.tables.join_columns IS 'Columns that were join keys.';
COMMENT ON COLUMN hs2proxy.tables.other_columns IS 'Columns that filters and groupings read.';
COMMENT ON COLUMN hs2proxy.tables.plan_basic IS 'Worst "Basic stats" the last plan printed for it; empty when none did.';
COMMENT ON COLUMN hs2proxy.tables.plan_column IS 'Worst "Column stats" the last plan printed for it; empty when none did.';
COMMENT ON COLUMN hs2proxy.tables.baseline_rows IS 'Rows at the last verified ANALYZE; NULL when unknown.';
COMMENT ON COLUMN hs2proxy.tables.baseline_bytes IS 'Bytes on disk at that time.';
COMMENT ON COLUMN hs2proxy.tables.baseline_columns IS 'Columns with valid statistics at that time.';
COMMENT ON COLUMN hs2proxy.tables.baseline_at IS 'When that was; NULL without a baseline.';
COMMENT ON COLUMN hs2proxy.tables.writes_rows IS 'Rows written since, as counted on the wire.';
COMMENT ON COLUMN hs2proxy.tables.writes_counted IS 'Statements since whose rows were counted.';
COMMENT ON COLUMN hs2proxy.tables.writes_uncounted IS 'Statements since whose rows could not be counted.';
COMMENT ON COLUMN hs2proxy.tables.writes_last_at IS 'Last of them.';
COMMENT ON COLUMN hs2proxy.tables.columns_changed IS 'An ADD, REPLACE or CHANGE COLUMN was seen since.';
COMMENT ON COLUMN hs2proxy.tables.health IS 'Worth of the statistics, 0 to 1; NULL when unknown.';
COMMENT ON COLUMN hs2proxy.tables.checked_at IS 'When the rules last ran.';

CREATE TABLE hs2proxy.plan_tables (
    plan_id  bigint NOT NULL REFERENCES hs2proxy.plans ON DELETE CASCADE,
    table_id bigint NOT NULL REFERENCES hs2proxy.tables ON DELETE CASCADE,
    PRIMARY KEY (plan_id, table_id)
);
CREATE INDEX plan_tables_table ON hs2proxy.plan_tables (table_id);
COMMENT ON TABLE hs2proxy.plan_tables IS 'Which tables a plan reads.';
COMMENT ON COLUMN hs2proxy.plan_tables.plan_id IS 'The plan.';
COMMENT ON COLUMN hs2proxy.plan_tables.table_id IS 'The table.';

CREATE TABLE hs2proxy.table_writes (
    table_id        bigint      NOT NULL REFERENCES hs2proxy.tables ON DELETE CASCADE,
    statement_id    uuid        NOT NULL,
    op              text        NOT NULL,
    written_rows    bigint,
    columns_changed boolean     NOT NULL,
    written_at      timestamptz NOT NULL,
    PRIMARY KEY (table_id, statement_id)
);
CREATE INDEX table_writes_written_at ON hs2proxy.table_writes (written_at);
COMMENT ON TABLE hs2proxy.table_writes IS 'Writes that were counted, so that none counts twice.';
COMMENT ON COLUMN hs2proxy.table_writes.table_id IS 'Table written.';
COMMENT ON COLUMN hs2proxy.table_writes.statement_id IS 'Statement that wrote; it may be older than what statements still holds.';
COMMENT ON COLUMN hs2proxy.table_writes.op IS 'How: INSERT_INTO, LOAD, …';
COMMENT ON COLUMN hs2proxy.table_writes.written_rows IS 'Rows; NULL when they could not be counted.';
COMMENT ON COLUMN hs2proxy.table_writes.columns_changed IS 'The statement changed the columns.';
COMMENT ON COLUMN hs2proxy.table_writes.written_at IS 'When it ended.';

CREATE TABLE hs2proxy.table_stats (
    id               bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    table_id         bigint      NOT NULL REFERENCES hs2proxy.tables ON DELETE CASCADE,
    partition_name   text        NOT NULL DEFAULT '',
    content_hash     text        NOT NULL,
    kind             text        NOT NULL,
    num_rows         bigint,
    raw_data_size    bigint,
    total_size       bigint,
    num_files        bigint,
    num_partitions   bigint,
    basic_accurate   boolean     NOT NULL,
    columns_accurate text[]      NOT NULL,
    transactional    boolean     NOT NULL,
    storage_handler  text        NOT NULL,
    detail           jsonb       NOT NULL,
    columns_read     text[]      NOT NULL,
    first_read_at    timestamptz NOT NULL,
    read_at          timestamptz NOT NULL CHECK (read_at >= first_read_at)
);
CREATE INDEX table_stats_latest ON hs2proxy.table_stats (table_id, partition_name, read_at DESC, id DESC);
CREATE INDEX table_stats_read_at ON hs2proxy.table_stats (read_at);
COMMENT ON TABLE hs2proxy.table_stats IS 'Snapshots of the metastore''s statistics of a table or partition; reading the same again only moves read_at.';
COMMENT ON COLUMN hs2proxy.table_stats.id IS 'Our key; rises with time.';
COMMENT ON COLUMN hs2proxy.table_stats.table_id IS 'Table.';
COMMENT ON COLUMN hs2proxy.table_stats.partition_name IS 'Partition as SHOW PARTITIONS prints it; empty for the table itself.';
COMMENT ON COLUMN hs2proxy.table_stats.content_hash IS 'Hash of the values, to see that nothing changed.';
COMMENT ON COLUMN hs2proxy.table_stats.kind IS 'Hive''s table type, such as MANAGED_TABLE.';
COMMENT ON COLUMN hs2proxy.table_stats.num_rows IS 'numRows; NULL when absent or -1.';
COMMENT ON COLUMN hs2proxy.table_stats.raw_data_size IS 'rawDataSize in bytes; NULL when absent or -1.';
COMMENT ON COLUMN hs2proxy.table_stats.total_size IS 'totalSize, bytes on disk; NULL when absent or -1.';
COMMENT ON COLUMN hs2proxy.table_stats.num_files IS 'numFiles; NULL when absent or -1.';
COMMENT ON COLUMN hs2proxy.table_stats.num_partitions IS 'Number of partitions; NULL when not partitioned or unknown.';
COMMENT ON COLUMN hs2proxy.table_stats.basic_accurate IS 'Hive calls the basic statistics accurate.';
COMMENT ON COLUMN hs2proxy.table_stats.columns_accurate IS 'Columns whose statistics Hive calls accurate.';
COMMENT ON COLUMN hs2proxy.table_stats.transactional IS 'An ACID table.';
COMMENT ON COLUMN hs2proxy.table_stats.storage_handler IS 'Class of the storage handler; empty for a native table.';
COMMENT ON COLUMN hs2proxy.table_stats.detail IS 'All that was read, bucketing, sorting and column types too, without column statistics.';
COMMENT ON COLUMN hs2proxy.table_stats.columns_read IS 'Columns whose statistics were asked for.';
COMMENT ON COLUMN hs2proxy.table_stats.first_read_at IS 'When these values were first read.';
COMMENT ON COLUMN hs2proxy.table_stats.read_at IS 'When they were last read.';

CREATE TABLE hs2proxy.column_stats (
    table_stats_id bigint           NOT NULL REFERENCES hs2proxy.table_stats ON DELETE CASCADE,
    column_name    text             NOT NULL,
    ndv            bigint,
    nulls          bigint,
    avg_len        double precision,
    max_len        bigint,
    trues          bigint,
    falses         bigint,
    low            text             NOT NULL,
    high           text             NOT NULL,
    PRIMARY KEY (table_stats_id, column_name)
);
COMMENT ON TABLE hs2proxy.column_stats IS 'Column statistics of a snapshot; a column that was read and has no row has none in Hive.';
COMMENT ON COLUMN hs2proxy.column_stats.table_stats_id IS 'The snapshot.';
COMMENT ON COLUMN hs2proxy.column_stats.column_name IS 'Column, lower case.';
COMMENT ON COLUMN hs2proxy.column_stats.ndv IS 'Distinct values; NULL when unknown.';
COMMENT ON COLUMN hs2proxy.column_stats.nulls IS 'NULLs.';
COMMENT ON COLUMN hs2proxy.column_stats.avg_len IS 'Average length in bytes.';
COMMENT ON COLUMN hs2proxy.column_stats.max_len IS 'Largest length in bytes.';
COMMENT ON COLUMN hs2proxy.column_stats.trues IS 'True values of a boolean column.';
COMMENT ON COLUMN hs2proxy.column_stats.falses IS 'False values of a boolean column.';
COMMENT ON COLUMN hs2proxy.column_stats.low IS 'Least value as Hive prints it; may be empty.';
COMMENT ON COLUMN hs2proxy.column_stats.high IS 'Greatest value as Hive prints it; may be empty.';

CREATE TABLE hs2proxy.staleness (
    table_id       bigint      NOT NULL REFERENCES hs2proxy.tables ON DELETE CASCADE,
    partition_name text        NOT NULL DEFAULT '',
    rule           text        NOT NULL CHECK (rule ~ '^R[1-9][0-9]*$'),
    level          text        NOT NULL CHECK (level IN ('SUSPECT', 'WATCH', 'STALE', 'HIGH', 'CRITICAL')),
    reason         text        NOT NULL,
    evidence       jsonb       NOT NULL,
    columns        text[]      NOT NULL,
    since          timestamptz NOT NULL,
    seen_at        timestamptz NOT NULL,
    cleared_at     timestamptz,
    PRIMARY KEY (table_id, partition_name, rule)
);
CREATE INDEX staleness_open ON hs2proxy.staleness (table_id) WHERE cleared_at IS NULL;
COMMENT ON TABLE hs2proxy.staleness IS 'Rules that hold, or last held, for a table or partition.';
COMMENT ON COLUMN hs2proxy.staleness.table_id IS 'Table.';
COMMENT ON COLUMN hs2proxy.staleness.partition_name IS 'Partition; empty for the table itself.';
COMMENT ON COLUMN hs2proxy.staleness.rule IS 'R1 corrupt, R2 no basic statistics, R3 columns, R4 rows written, R6 uncounted writes, …';
COMMENT ON COLUMN hs2proxy.staleness.level IS 'SUSPECT, WATCH, STALE, HIGH, CRITICAL.';
COMMENT ON COLUMN hs2proxy.staleness.reason IS 'One sentence with the numbers.';
COMMENT ON COLUMN hs2proxy.staleness.evidence IS 'The numbers by name.';
COMMENT ON COLUMN hs2proxy.staleness.columns IS 'Columns without valid statistics.';
COMMENT ON COLUMN hs2proxy.staleness.since IS 'Since when it holds without a break.';
COMMENT ON COLUMN hs2proxy.staleness.seen_at IS 'When it was last found to hold.';
COMMENT ON COLUMN hs2proxy.staleness.cleared_at IS 'When it was found to hold no longer; NULL while it holds.';

CREATE TABLE hs2proxy.refreshes (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    upstream_id  bigint      REFERENCES hs2proxy.upstreams ON DELETE CASCADE,
    table_name   text        NOT NULL CHECK (table_name <> ''),
    mode         text        NOT NULL CHECK (mode IN ('BASIC', 'COLUMNS')),
    columns      text[]      NOT NULL DEFAULT '{}',
    partitions   text[]      NOT NULL DEFAULT '{}',
    not_after    timestamptz,
    reason       text        NOT NULL,
    requested_by text        NOT NULL,
    requested_at timestamptz NOT NULL,
    state        text        NOT NULL CHECK (state IN ('REQUESTED', 'RUNNING', 'DONE', 'FAILED')),
    started_at   timestamptz,
    ended_at     timestamptz,
    claimed_by   text,
    lease_until  timestamptz,
    attempts     integer     NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    statements   text[]      NOT NULL DEFAULT '{}',
    before       jsonb,
    after        jsonb,
    effect       text        CHECK (effect IN ('EFFECTIVE', 'NO_CHANGE', 'INEFFECTIVE', 'FAILED')),
    error        text        NOT NULL DEFAULT '',
    CHECK ((state = 'RUNNING') = (lease_until IS NOT NULL)),
    CHECK ((state IN ('DONE', 'FAILED')) = (ended_at IS NOT NULL))
);
CREATE UNIQUE INDEX refreshes_requested ON hs2proxy.refreshes (coalesce(upstream_id, 0), table_name) WHERE state = 'REQUESTED';
CREATE UNIQUE INDEX refreshes_running ON hs2proxy.refreshes (coalesce(upstream_id, 0), table_name) WHERE state = 'RUNNING';
CREATE INDEX refreshes_open ON hs2proxy.refreshes (requested_at, id) WHERE state IN ('REQUESTED', 'RUNNING');
CREATE INDEX refreshes_table ON hs2proxy.refreshes (table_name, id DESC);
CREATE INDEX refreshes_upstream ON hs2proxy.refreshes (upstream_id);
CREATE INDEX refreshes_ended_at ON hs2proxy.refreshes (ended_at);
COMMENT ON TABLE hs2proxy.refreshes IS 'Requests to refresh a table''s statistics and what came of them.';
COMMENT ON COLUMN hs2proxy.refreshes.id IS 'Number of the request.';
COMMENT ON COLUMN hs2proxy.refreshes.upstream_id IS 'Server to run on; NULL: any.';
COMMENT ON COLUMN hs2proxy.refreshes.table_name IS 'database.table, lower case.';
COMMENT ON COLUMN hs2proxy.refreshes.mode IS 'BASIC: rows and sizes; COLUMNS: column statistics too.';
COMMENT ON COLUMN hs2proxy.refreshes.columns IS 'Columns for COLUMNS; empty: those that joins read.';
COMMENT ON COLUMN hs2proxy.refreshes.partitions IS 'Partitions to limit it to, as SHOW PARTITIONS prints them; empty: the whole table.';
COMMENT ON COLUMN hs2proxy.refreshes.not_after IS 'End of the schedule''s window; NULL: none.';
COMMENT ON COLUMN hs2proxy.refreshes.reason IS 'Why: the staleness found, or the operator''s words.';
COMMENT ON COLUMN hs2proxy.refreshes.requested_by IS 'Schedule or person.';
COMMENT ON COLUMN hs2proxy.refreshes.requested_at IS 'When it was asked for.';
COMMENT ON COLUMN hs2proxy.refreshes.state IS 'REQUESTED, RUNNING, DONE, FAILED.';
COMMENT ON COLUMN hs2proxy.refreshes.started_at IS 'When the last attempt began.';
COMMENT ON COLUMN hs2proxy.refreshes.ended_at IS 'When it was done or failed.';
COMMENT ON COLUMN hs2proxy.refreshes.claimed_by IS 'Proxy that runs or ran it.';
COMMENT ON COLUMN hs2proxy.refreshes.lease_until IS 'While RUNNING: another proxy takes over after this time.';
COMMENT ON COLUMN hs2proxy.refreshes.attempts IS 'How often it was started.';
COMMENT ON COLUMN hs2proxy.refreshes.statements IS 'HiveQL that ran, in order.';
COMMENT ON COLUMN hs2proxy.refreshes.before IS 'The table''s statistics before.';
COMMENT ON COLUMN hs2proxy.refreshes.after IS 'The table''s statistics after.';
COMMENT ON COLUMN hs2proxy.refreshes.effect IS 'EFFECTIVE: rows moved or a strategy changed; NO_CHANGE; INEFFECTIVE: still not accurate; FAILED.';
COMMENT ON COLUMN hs2proxy.refreshes.error IS 'Hive''s words when it failed.';

CREATE TABLE hs2proxy.refresh_plans (
    refresh_id      bigint  NOT NULL REFERENCES hs2proxy.refreshes ON DELETE CASCADE,
    position        integer NOT NULL CHECK (position >= 0),
    fingerprint     text    NOT NULL CHECK (fingerprint <> ''),
    ordinal         integer NOT NULL CHECK (ordinal >= 0),
    strategy_before text    NOT NULL CHECK (strategy_before IN ('MAP_JOIN', 'BUCKET_MAP_JOIN', 'DPHJ', 'SMB', 'MERGE_JOIN', 'UNKNOWN')),
    strategy_after  text    NOT NULL CHECK (strategy_after IN ('MAP_JOIN', 'BUCKET_MAP_JOIN', 'DPHJ', 'SMB', 'MERGE_JOIN', 'UNKNOWN')),
    PRIMARY KEY (refresh_id, position)
);
COMMENT ON TABLE hs2proxy.refresh_plans IS 'Joins of the queries that read the table, explained before and after a refresh.';
COMMENT ON COLUMN hs2proxy.refresh_plans.refresh_id IS 'The refresh.';
COMMENT ON COLUMN hs2proxy.refresh_plans.position IS 'Order in the record; a query may be there under several databases or settings.';
COMMENT ON COLUMN hs2proxy.refresh_plans.fingerprint IS 'The query; it may be older than what queries still holds.';
COMMENT ON COLUMN hs2proxy.refresh_plans.ordinal IS 'Number of the join in the plan, from 0.';
COMMENT ON COLUMN hs2proxy.refresh_plans.strategy_before IS 'Strategy before.';
COMMENT ON COLUMN hs2proxy.refresh_plans.strategy_after IS 'Strategy after.';

CREATE TABLE hs2proxy.settings (
    upstream_id  bigint      NOT NULL REFERENCES hs2proxy.upstreams ON DELETE CASCADE,
    name         text        NOT NULL CHECK (name <> ''),
    value        text        NOT NULL,
    hive_default text,
    read_at      timestamptz NOT NULL,
    PRIMARY KEY (upstream_id, name)
);
COMMENT ON TABLE hs2proxy.settings IS 'Settings in force on a server for a new session.';
COMMENT ON COLUMN hs2proxy.settings.upstream_id IS 'Server.';
COMMENT ON COLUMN hs2proxy.settings.name IS 'Name of the setting.';
COMMENT ON COLUMN hs2proxy.settings.value IS 'Value; replaced when the name sounds like a secret.';
COMMENT ON COLUMN hs2proxy.settings.hive_default IS 'Hive''s own default; NULL when unknown.';
COMMENT ON COLUMN hs2proxy.settings.read_at IS 'When it was read.';
