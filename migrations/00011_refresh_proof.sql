-- +goose Up

-- What a refresh was worth, proved: the numbers before and after, what was predicted and what became of it, how the affected queries
-- ran later, and which tables raised a false alarm.

CREATE TABLE hs2proxy.refresh_proofs (
    refresh_id    bigint      PRIMARY KEY REFERENCES hs2proxy.refreshes ON DELETE CASCADE,
    predicted_at  timestamptz,
    prediction    text        NOT NULL DEFAULT 'UNKNOWN' CHECK (prediction IN ('RIGHT', 'WRONG', 'PARTLY', 'UNKNOWN')),
    restore       text[]      NOT NULL DEFAULT '{}',
    restore_notes text[]      NOT NULL DEFAULT '{}',
    false_alarm   boolean     NOT NULL DEFAULT false,
    later_effect  text        CHECK (later_effect IN ('NO_CHANGE', 'IMPROVED', 'REGRESSED')),
    judged_at     timestamptz,
    complete      boolean     NOT NULL DEFAULT false
);
COMMENT ON TABLE hs2proxy.refresh_proofs IS 'The proof of a refresh: what was predicted before, how it turned out, and how to undo it.';
COMMENT ON COLUMN hs2proxy.refresh_proofs.refresh_id IS 'The refresh.';
COMMENT ON COLUMN hs2proxy.refresh_proofs.predicted_at IS 'When the prediction was put on record, before the ANALYZE; NULL: it was not.';
COMMENT ON COLUMN hs2proxy.refresh_proofs.prediction IS 'Grade of all predictions together: RIGHT, WRONG, PARTLY; UNKNOWN: not graded yet, nothing was predicted, or nothing could be explained again.';
COMMENT ON COLUMN hs2proxy.refresh_proofs.restore IS 'HiveQL that sets the statistics from before the first attempt again, in order.';
COMMENT ON COLUMN hs2proxy.refresh_proofs.restore_notes IS 'What restore cannot bring back.';
COMMENT ON COLUMN hs2proxy.refresh_proofs.false_alarm IS 'A schedule refreshed the table, and nothing had changed.';
COMMENT ON COLUMN hs2proxy.refresh_proofs.later_effect IS 'What later runs of the affected queries show: NO_CHANGE, IMPROVED, REGRESSED; NULL: too few runs before or since.';
COMMENT ON COLUMN hs2proxy.refresh_proofs.judged_at IS 'When later runs were last looked at; NULL: never.';
COMMENT ON COLUMN hs2proxy.refresh_proofs.complete IS 'Later runs are looked at no more.';

CREATE TABLE hs2proxy.refresh_predictions (
    refresh_id      bigint  NOT NULL REFERENCES hs2proxy.refreshes ON DELETE CASCADE,
    position        integer NOT NULL CHECK (position >= 0),
    fingerprint     text    NOT NULL CHECK (fingerprint <> ''),
    ordinal         integer NOT NULL CHECK (ordinal >= 0),
    strategy_before text    NOT NULL CHECK (strategy_before IN ('MAP_JOIN', 'BUCKET_MAP_JOIN', 'DPHJ', 'SMB', 'MERGE_JOIN', 'UNKNOWN')),
    expected        text    CHECK (expected IN ('MAP_JOIN', 'BUCKET_MAP_JOIN', 'DPHJ', 'SMB', 'MERGE_JOIN', 'UNKNOWN')),
    basis           text    NOT NULL,
    strategy_after  text    CHECK (strategy_after IN ('MAP_JOIN', 'BUCKET_MAP_JOIN', 'DPHJ', 'SMB', 'MERGE_JOIN', 'UNKNOWN')),
    grade           text    NOT NULL DEFAULT 'UNKNOWN' CHECK (grade IN ('RIGHT', 'WRONG', 'PARTLY', 'UNKNOWN')),
    PRIMARY KEY (refresh_id, position)
);
COMMENT ON TABLE hs2proxy.refresh_predictions IS 'What was predicted of each join before a refresh. Written before the ANALYZE; only strategy_after and grade come later.';
COMMENT ON COLUMN hs2proxy.refresh_predictions.refresh_id IS 'The refresh.';
COMMENT ON COLUMN hs2proxy.refresh_predictions.position IS 'Order in the record.';
COMMENT ON COLUMN hs2proxy.refresh_predictions.fingerprint IS 'The query; it may be older than what queries still holds.';
COMMENT ON COLUMN hs2proxy.refresh_predictions.ordinal IS 'Number of the join in the plan, from 0.';
COMMENT ON COLUMN hs2proxy.refresh_predictions.strategy_before IS 'Strategy when it was predicted.';
COMMENT ON COLUMN hs2proxy.refresh_predictions.expected IS 'Strategy that true statistics of the table should give; NULL: nothing was predicted.';
COMMENT ON COLUMN hs2proxy.refresh_predictions.basis IS 'The number it rests on, or why nothing was predicted.';
COMMENT ON COLUMN hs2proxy.refresh_predictions.strategy_after IS 'Strategy after the ANALYZE; NULL: not explained again.';
COMMENT ON COLUMN hs2proxy.refresh_predictions.grade IS 'RIGHT; WRONG; PARTLY: it changed as predicted, to another strategy; UNKNOWN.';

CREATE TABLE hs2proxy.refresh_statistics (
    refresh_id     bigint  NOT NULL REFERENCES hs2proxy.refreshes ON DELETE CASCADE,
    position       integer NOT NULL CHECK (position >= 0),
    level          text    NOT NULL CHECK (level IN ('TABLE', 'PARTITION', 'COLUMN')),
    partition_name text    NOT NULL,
    column_name    text    NOT NULL,
    name           text    NOT NULL CHECK (name <> ''),
    before         text,
    after          text,
    PRIMARY KEY (refresh_id, position),
    CHECK ((level = 'COLUMN') = (column_name <> '')),
    CHECK (level <> 'TABLE' OR partition_name = ''),
    CHECK (level <> 'PARTITION' OR partition_name <> '')
);
COMMENT ON TABLE hs2proxy.refresh_statistics IS 'Statistics of a table, its partitions and their columns before and after a refresh, one number a row.';
COMMENT ON COLUMN hs2proxy.refresh_statistics.refresh_id IS 'The refresh.';
COMMENT ON COLUMN hs2proxy.refresh_statistics.position IS 'Order in the record.';
COMMENT ON COLUMN hs2proxy.refresh_statistics.level IS 'TABLE, PARTITION or COLUMN.';
COMMENT ON COLUMN hs2proxy.refresh_statistics.partition_name IS 'Partition as SHOW PARTITIONS prints it; empty for the table''s own.';
COMMENT ON COLUMN hs2proxy.refresh_statistics.column_name IS 'Column; empty but for COLUMN.';
COMMENT ON COLUMN hs2proxy.refresh_statistics.name IS 'Hive''s name: numRows, rawDataSize, totalSize, numFiles, numPartitions, BASIC_STATS; of a column distinct_count, num_nulls, min, max, avg_col_len, max_col_len, num_trues, num_falses, COLUMN_STATS.';
COMMENT ON COLUMN hs2proxy.refresh_statistics.before IS 'Value before, as Hive prints it; NULL: absent or not read.';
COMMENT ON COLUMN hs2proxy.refresh_statistics.after IS 'Value after.';

CREATE TABLE hs2proxy.refresh_runtimes (
    refresh_id        bigint           NOT NULL REFERENCES hs2proxy.refreshes ON DELETE CASCADE,
    fingerprint       text             NOT NULL CHECK (fingerprint <> ''),
    runs_before       bigint           NOT NULL CHECK (runs_before >= 0),
    seconds_before    double precision CHECK (seconds_before >= 0),
    deviation_before  double precision CHECK (deviation_before >= 0),
    runs_after        bigint           NOT NULL CHECK (runs_after >= 0),
    seconds_after     double precision CHECK (seconds_after >= 0),
    effect            text             CHECK (effect IN ('NO_CHANGE', 'IMPROVED', 'REGRESSED')),
    PRIMARY KEY (refresh_id, fingerprint),
    CHECK ((runs_before = 0) = (seconds_before IS NULL) AND (runs_before = 0) = (deviation_before IS NULL)),
    CHECK ((runs_after = 0) = (seconds_after IS NULL))
);
COMMENT ON TABLE hs2proxy.refresh_runtimes IS 'How the queries that a refresh affects ran before and since.';
COMMENT ON COLUMN hs2proxy.refresh_runtimes.refresh_id IS 'The refresh.';
COMMENT ON COLUMN hs2proxy.refresh_runtimes.fingerprint IS 'The query; it may be older than what queries still holds.';
COMMENT ON COLUMN hs2proxy.refresh_runtimes.runs_before IS 'Runs of the baseline: the last 20 in 30 days that ended before the refresh began.';
COMMENT ON COLUMN hs2proxy.refresh_runtimes.seconds_before IS 'Their mean duration; NULL without runs.';
COMMENT ON COLUMN hs2proxy.refresh_runtimes.deviation_before IS 'Their standard deviation.';
COMMENT ON COLUMN hs2proxy.refresh_runtimes.runs_after IS 'Runs that began after the refresh had ended, for 7 days or until the table''s next refresh.';
COMMENT ON COLUMN hs2proxy.refresh_runtimes.seconds_after IS 'Their mean duration; NULL without runs.';
COMMENT ON COLUMN hs2proxy.refresh_runtimes.effect IS 'NO_CHANGE, IMPROVED, REGRESSED; NULL: fewer than three runs on one of the sides.';

CREATE TABLE hs2proxy.false_alarms (
    upstream_id  bigint           NOT NULL REFERENCES hs2proxy.upstreams ON DELETE CASCADE,
    table_name   text             NOT NULL CHECK (table_name <> ''),
    alarms       bigint           NOT NULL CHECK (alarms >= 0),
    factor       double precision NOT NULL CHECK (factor >= 1 AND factor < 'Infinity'),
    stale_ratio  double precision NOT NULL CHECK (stale_ratio >= 0),
    refresh_id   bigint           NOT NULL,
    last_at      timestamptz      NOT NULL,
    last_reason  text             NOT NULL,
    seconds      double precision NOT NULL CHECK (seconds >= 0),
    reset_at     timestamptz,
    reset_by     bigint,
    PRIMARY KEY (upstream_id, table_name),
    CHECK (reset_at IS NULL OR alarms = 0 AND factor = 1),
    CHECK ((reset_at IS NULL) = (reset_by IS NULL))
);
COMMENT ON TABLE hs2proxy.false_alarms IS 'Tables that schedules refreshed for nothing, and by how much that raised their thresholds.';
COMMENT ON COLUMN hs2proxy.false_alarms.upstream_id IS 'Server.';
COMMENT ON COLUMN hs2proxy.false_alarms.table_name IS 'database.table, lower case.';
COMMENT ON COLUMN hs2proxy.false_alarms.alarms IS 'False alarms since the last reset.';
COMMENT ON COLUMN hs2proxy.false_alarms.factor IS 'What the ratios of the rules R4 and R5 are multiplied by, each up to 0.5.';
COMMENT ON COLUMN hs2proxy.false_alarms.stale_ratio IS 'The ratio from which the table is stale with the factor, by the thresholds of that time.';
COMMENT ON COLUMN hs2proxy.false_alarms.refresh_id IS 'The last refresh that was one; it may be older than what refreshes still holds.';
COMMENT ON COLUMN hs2proxy.false_alarms.last_at IS 'When it ended.';
COMMENT ON COLUMN hs2proxy.false_alarms.last_reason IS 'Why it was made.';
COMMENT ON COLUMN hs2proxy.false_alarms.seconds IS 'Seconds that all of the table''s false alarms took so far.';
COMMENT ON COLUMN hs2proxy.false_alarms.reset_at IS 'When an effective refresh took the factor back; NULL while it is raised.';
COMMENT ON COLUMN hs2proxy.false_alarms.reset_by IS 'That refresh.';

CREATE OR REPLACE VIEW hs2proxy.report_refreshes AS
SELECT r.id, u.name AS upstream, r.table_name, r.mode, r.columns, r.partitions, r.state,
       CASE WHEN f.later_effect IN ('IMPROVED', 'REGRESSED') THEN f.later_effect ELSE r.effect END AS effect,
       (r.before ->> 'rows')::bigint AS rows_before, (r.after ->> 'rows')::bigint AS rows_after,
       (r.before ->> 'total_size')::bigint AS bytes_before, (r.after ->> 'total_size')::bigint AS bytes_after,
       coalesce(p.before, '{}') AS strategies_before, coalesce(p.after, '{}') AS strategies_after,
       coalesce(p.changed, 0) AS joins_changed, coalesce(p.checked, 0) AS joins_checked, coalesce(p.changes, '{}') AS changes,
       r.requested_by, r.reason, r.requested_at, r.started_at, r.ended_at,
       round(extract(epoch FROM r.ended_at - r.started_at), 3)::double precision AS seconds,
       r.attempts, r.claimed_by, r.statements, r.error,
       CASE WHEN r.schedule <> '' THEN 'SCHEDULE' ELSE 'PERSON' END AS trigger,
       CASE cardinality(r.partitions) WHEN 0 THEN 'whole table' WHEN 1 THEN 'partition ' || r.partitions[1] ELSE cardinality(r.partitions) || ' partitions' END
           || CASE WHEN r.mode <> 'COLUMNS' THEN '' WHEN r.columns = '{}' THEN ', columns that queries use' ELSE ', columns ' || array_to_string(r.columns, ', ') END AS scope,
       r.effect AS effect_at_end, f.prediction, coalesce(e.predictions, '{}') AS predictions, coalesce(f.false_alarm, false) AS false_alarm,
       coalesce(f.restore, '{}') AS restore, coalesce(f.restore_notes, '{}') AS restore_notes
FROM hs2proxy.refreshes r
LEFT JOIN hs2proxy.upstreams u ON u.id = r.upstream_id
LEFT JOIN hs2proxy.refresh_proofs f ON f.refresh_id = r.id
LEFT JOIN LATERAL (
    SELECT count(*) AS checked, count(*) FILTER (WHERE c.strategy_before <> c.strategy_after) AS changed,
           array_agg(c.strategy_before ORDER BY c.position) AS before, array_agg(c.strategy_after ORDER BY c.position) AS after,
           array_agg(c.fingerprint || ' join ' || c.ordinal || ': ' || c.strategy_before || ' → ' || c.strategy_after ORDER BY c.position)
               FILTER (WHERE c.strategy_before <> c.strategy_after) AS changes
    FROM hs2proxy.refresh_plans c WHERE c.refresh_id = r.id) p ON true
LEFT JOIN LATERAL (
    SELECT array_agg(c.fingerprint || ' join ' || c.ordinal || ': ' || c.strategy_before || ' → ' || c.expected || ', ' || c.grade
                     || CASE WHEN c.grade IN ('WRONG', 'PARTLY') THEN ' (' || c.strategy_after || ')' ELSE '' END ORDER BY c.position) AS predictions
    FROM hs2proxy.refresh_predictions c
    WHERE c.refresh_id = r.id AND c.expected IS NOT NULL AND (c.expected <> c.strategy_before OR c.grade = 'WRONG')) e ON true
ORDER BY r.id DESC;
COMMENT ON COLUMN hs2proxy.report_refreshes.effect IS 'EFFECTIVE, NO_CHANGE, INEFFECTIVE, FAILED; IMPROVED or REGRESSED once later runs of the affected queries show it; empty until it ended.';
COMMENT ON COLUMN hs2proxy.report_refreshes.trigger IS 'SCHEDULE, or PERSON: somebody asked for it, also where a schedule did so too.';
COMMENT ON COLUMN hs2proxy.report_refreshes.scope IS 'The table or partitions, and the columns.';
COMMENT ON COLUMN hs2proxy.report_refreshes.effect_at_end IS 'The effect by statistics and plans alone, as it was when the refresh ended.';
COMMENT ON COLUMN hs2proxy.report_refreshes.prediction IS 'Grade of what was predicted before the ANALYZE: RIGHT, WRONG, PARTLY, UNKNOWN; empty: it never came so far.';
COMMENT ON COLUMN hs2proxy.report_refreshes.predictions IS 'Joins that were to change or did so unforeseen, each with its grade; with the strategy it got where that is another one.';
COMMENT ON COLUMN hs2proxy.report_refreshes.false_alarm IS 'A schedule refreshed the table, and nothing had changed.';
COMMENT ON COLUMN hs2proxy.report_refreshes.restore IS 'HiveQL that sets the old statistics again, in order. Nothing runs it by itself.';
COMMENT ON COLUMN hs2proxy.report_refreshes.restore_notes IS 'What restore cannot bring back.';

CREATE VIEW hs2proxy.report_refresh_statistics AS
SELECT s.refresh_id AS id, u.name AS upstream, r.table_name, s.level, s.partition_name AS partition, s.column_name AS column_name, s.name, s.before, s.after,
       s.before IS DISTINCT FROM s.after AS changed, r.ended_at
FROM hs2proxy.refresh_statistics s
JOIN hs2proxy.refreshes r ON r.id = s.refresh_id
LEFT JOIN hs2proxy.upstreams u ON u.id = r.upstream_id
ORDER BY s.refresh_id DESC, s.position;
COMMENT ON VIEW hs2proxy.report_refresh_statistics IS 'Which numbers of the table, its partitions and columns did each refresh change, from what to what?';
COMMENT ON COLUMN hs2proxy.report_refresh_statistics.id IS 'Number of the refresh.';
COMMENT ON COLUMN hs2proxy.report_refresh_statistics.upstream IS 'Server.';
COMMENT ON COLUMN hs2proxy.report_refresh_statistics.table_name IS 'database.table.';
COMMENT ON COLUMN hs2proxy.report_refresh_statistics.level IS 'TABLE, PARTITION or COLUMN.';
COMMENT ON COLUMN hs2proxy.report_refresh_statistics.partition IS 'Partition; empty for the table''s own.';
COMMENT ON COLUMN hs2proxy.report_refresh_statistics.column_name IS 'Column; empty but for COLUMN.';
COMMENT ON COLUMN hs2proxy.report_refresh_statistics.name IS 'Hive''s name of the number or flag.';
COMMENT ON COLUMN hs2proxy.report_refresh_statistics.before IS 'Value before; empty: absent or not read.';
COMMENT ON COLUMN hs2proxy.report_refresh_statistics.after IS 'Value after.';
COMMENT ON COLUMN hs2proxy.report_refresh_statistics.changed IS 'The two differ.';
COMMENT ON COLUMN hs2proxy.report_refresh_statistics.ended_at IS 'When the refresh ended.';

CREATE VIEW hs2proxy.report_refresh_savings AS
SELECT r.id, u.name AS upstream, r.table_name, r.ended_at, f.later_effect AS effect, x.queries, x.judged AS queries_judged, x.runs_before, x.runs_after,
       round(x.before::numeric, 3)::double precision AS seconds_before, round(x.after::numeric, 3)::double precision AS seconds_after,
       round(x.saved::numeric, 3)::double precision AS seconds_saved,
       round(extract(epoch FROM r.ended_at - r.started_at), 3)::double precision AS seconds_spent,
       round(x.saved::numeric - extract(epoch FROM r.ended_at - r.started_at)::numeric, 3)::double precision AS seconds_net,
       f.judged_at, f.complete
FROM hs2proxy.refresh_proofs f
JOIN hs2proxy.refreshes r ON r.id = f.refresh_id
LEFT JOIN hs2proxy.upstreams u ON u.id = r.upstream_id
JOIN LATERAL (
    SELECT count(*) AS queries, count(t.effect) AS judged, sum(t.runs_before)::bigint AS runs_before, sum(t.runs_after)::bigint AS runs_after,
           sum(t.seconds_before * t.runs_after) FILTER (WHERE t.effect IS NOT NULL) / nullif(sum(t.runs_after) FILTER (WHERE t.effect IS NOT NULL), 0) AS before,
           sum(t.seconds_after * t.runs_after) FILTER (WHERE t.effect IS NOT NULL) / nullif(sum(t.runs_after) FILTER (WHERE t.effect IS NOT NULL), 0) AS after,
           sum((t.seconds_before - t.seconds_after) * t.runs_after) FILTER (WHERE t.effect IS NOT NULL) AS saved
    FROM hs2proxy.refresh_runtimes t WHERE t.refresh_id = r.id) x ON x.queries > 0
ORDER BY x.saved DESC NULLS LAST, r.id DESC;
COMMENT ON VIEW hs2proxy.report_refresh_savings IS 'What did refreshes save: how long did the affected queries run before and since, and how long did the refresh take?';
COMMENT ON COLUMN hs2proxy.report_refresh_savings.id IS 'Number of the refresh.';
COMMENT ON COLUMN hs2proxy.report_refresh_savings.upstream IS 'Server.';
COMMENT ON COLUMN hs2proxy.report_refresh_savings.table_name IS 'database.table.';
COMMENT ON COLUMN hs2proxy.report_refresh_savings.ended_at IS 'When the refresh ended.';
COMMENT ON COLUMN hs2proxy.report_refresh_savings.effect IS 'What the later runs show: IMPROVED, REGRESSED, NO_CHANGE; empty: too few runs.';
COMMENT ON COLUMN hs2proxy.report_refresh_savings.queries IS 'Affected queries that were explained before and after.';
COMMENT ON COLUMN hs2proxy.report_refresh_savings.queries_judged IS 'Those with three runs or more on both sides; all seconds are theirs.';
COMMENT ON COLUMN hs2proxy.report_refresh_savings.runs_before IS 'Runs of all of them before.';
COMMENT ON COLUMN hs2proxy.report_refresh_savings.runs_after IS 'Runs of all of them since.';
COMMENT ON COLUMN hs2proxy.report_refresh_savings.seconds_before IS 'What an average run since would have taken before.';
COMMENT ON COLUMN hs2proxy.report_refresh_savings.seconds_after IS 'What it took.';
COMMENT ON COLUMN hs2proxy.report_refresh_savings.seconds_saved IS 'The difference over all runs since; negative: they take longer.';
COMMENT ON COLUMN hs2proxy.report_refresh_savings.seconds_spent IS 'Duration of the refresh.';
COMMENT ON COLUMN hs2proxy.report_refresh_savings.seconds_net IS 'Saved less spent.';
COMMENT ON COLUMN hs2proxy.report_refresh_savings.judged_at IS 'When later runs were last looked at.';
COMMENT ON COLUMN hs2proxy.report_refresh_savings.complete IS 'They are looked at no more: seven days have passed, or the table was refreshed again.';

CREATE VIEW hs2proxy.report_false_alarms AS
SELECT u.name AS upstream, a.table_name, a.alarms, a.factor, round(a.stale_ratio::numeric, 3)::double precision AS stale_ratio,
       round(a.seconds::numeric, 3)::double precision AS seconds, a.refresh_id AS last_refresh, a.last_at, a.last_reason, a.reset_at, a.reset_by
FROM hs2proxy.false_alarms a
JOIN hs2proxy.upstreams u ON u.id = a.upstream_id
ORDER BY a.alarms DESC, a.last_at DESC, u.name, a.table_name;
COMMENT ON VIEW hs2proxy.report_false_alarms IS 'Which tables were refreshed by a schedule for nothing, and how far did that raise their thresholds?';
COMMENT ON COLUMN hs2proxy.report_false_alarms.upstream IS 'Server.';
COMMENT ON COLUMN hs2proxy.report_false_alarms.table_name IS 'database.table.';
COMMENT ON COLUMN hs2proxy.report_false_alarms.alarms IS 'False alarms since an effective refresh last took the factor back.';
COMMENT ON COLUMN hs2proxy.report_false_alarms.factor IS 'What the ratios of the rules R4 and R5 are multiplied by, each up to 0.5; 1: as configured.';
COMMENT ON COLUMN hs2proxy.report_false_alarms.stale_ratio IS 'The ratio from which the table is stale, with the factor.';
COMMENT ON COLUMN hs2proxy.report_false_alarms.seconds IS 'Seconds that all false alarms of the table took.';
COMMENT ON COLUMN hs2proxy.report_false_alarms.last_refresh IS 'Number of the last one.';
COMMENT ON COLUMN hs2proxy.report_false_alarms.last_at IS 'When it ended.';
COMMENT ON COLUMN hs2proxy.report_false_alarms.last_reason IS 'Why it was made.';
COMMENT ON COLUMN hs2proxy.report_false_alarms.reset_at IS 'When an effective refresh took the factor back; empty while it is raised.';
COMMENT ON COLUMN hs2proxy.report_false_alarms.reset_by IS 'Number of that refresh.';

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
        FOREACH v IN ARRAY ARRAY['report_refreshes', 'report_refresh_statistics', 'report_refresh_savings', 'report_false_alarms'] LOOP
            EXECUTE format('GRANT SELECT ON hs2proxy.%I TO %I', v, name);
        END LOOP;
    END LOOP;
    IF EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolname = 'hs2proxy_writer') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON hs2proxy.refresh_proofs, hs2proxy.refresh_predictions, hs2proxy.refresh_statistics,
            hs2proxy.refresh_runtimes, hs2proxy.false_alarms TO hs2proxy_writer;
    END IF;
END
$$;
-- +goose StatementEnd
