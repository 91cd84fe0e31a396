-- +goose Up

-- Findings say which advisor found them, where the rule is explained and which tables they are about; a person may mute them.

ALTER TABLE hs2proxy.findings
    ADD COLUMN advisor text   NOT NULL DEFAULT '',
    ADD COLUMN doc     text   NOT NULL DEFAULT '',
    ADD COLUMN tables  text[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN hs2proxy.findings.advisor IS 'The body of rules it comes from: selector, outer_join, movement, dynamic_filter, anti_join; empty when unknown.';
COMMENT ON COLUMN hs2proxy.findings.doc IS 'Section of the documentation that explains the rule.';
COMMENT ON COLUMN hs2proxy.findings.tables IS 'Base tables it is about, as database.table.';

-- What was found before these columns were there came from the selector's rules.
UPDATE hs2proxy.findings SET advisor = 'selector', doc = 'docs/findings/README.md#' || kind
WHERE kind IN ('stale_statistics', 'missing_statistics', 'merge_join_large_small', 'near_flip', 'bucketed_but_shuffled',
               'full_outer_no_broadcast', 'cross_product', 'strategy_unexplained');
UPDATE hs2proxy.findings SET tables = ARRAY[subject] WHERE kind = 'missing_statistics';

CREATE TABLE hs2proxy.finding_mutes (
    id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind        text        NOT NULL CHECK (kind <> ''),
    fingerprint text        NOT NULL DEFAULT '',
    table_name  text        NOT NULL DEFAULT '',
    muted       boolean     NOT NULL,
    muted_until timestamptz,
    reason      text        NOT NULL CHECK (btrim(reason) <> ''),
    person      text        NOT NULL CHECK (person <> ''),
    at          timestamptz NOT NULL,
    CHECK (muted OR muted_until IS NULL),
    CHECK (muted_until > at)
);
CREATE INDEX finding_mutes_latest ON hs2proxy.finding_mutes (kind, fingerprint, table_name, id DESC);
COMMENT ON TABLE hs2proxy.finding_mutes IS 'Who muted which findings, and who took it back. Rows are only added: for each kind, query and table the last one counts.';
COMMENT ON COLUMN hs2proxy.finding_mutes.id IS 'Our key; rises with time.';
COMMENT ON COLUMN hs2proxy.finding_mutes.kind IS 'The rule.';
COMMENT ON COLUMN hs2proxy.finding_mutes.fingerprint IS 'The query; empty: every query. It may be older than what queries still holds.';
COMMENT ON COLUMN hs2proxy.finding_mutes.table_name IS 'The table, as database.table; empty: every table.';
COMMENT ON COLUMN hs2proxy.finding_mutes.muted IS 'True: muted; false: shown again.';
COMMENT ON COLUMN hs2proxy.finding_mutes.muted_until IS 'End of the muting; NULL: until it is taken back.';
COMMENT ON COLUMN hs2proxy.finding_mutes.reason IS 'Why.';
COMMENT ON COLUMN hs2proxy.finding_mutes.person IS 'Who.';
COMMENT ON COLUMN hs2proxy.finding_mutes.at IS 'When.';

CREATE VIEW hs2proxy.active_mutes AS
SELECT l.id, l.kind, l.fingerprint, l.table_name, l.muted_until, l.reason, l.person, l.at
FROM (SELECT DISTINCT ON (m.kind, m.fingerprint, m.table_name)
             m.id, m.kind, m.fingerprint, m.table_name, m.muted, m.muted_until, m.reason, m.person, m.at
      FROM hs2proxy.finding_mutes m
      ORDER BY m.kind, m.fingerprint, m.table_name, m.id DESC) l
WHERE l.muted AND (l.muted_until IS NULL OR l.muted_until > now());
COMMENT ON VIEW hs2proxy.active_mutes IS 'The mutings in force.';
COMMENT ON COLUMN hs2proxy.active_mutes.id IS 'Key in finding_mutes.';
COMMENT ON COLUMN hs2proxy.active_mutes.kind IS 'The rule.';
COMMENT ON COLUMN hs2proxy.active_mutes.fingerprint IS 'The query; empty: every query.';
COMMENT ON COLUMN hs2proxy.active_mutes.table_name IS 'The table; empty: every table.';
COMMENT ON COLUMN hs2proxy.active_mutes.muted_until IS 'End; NULL: until it is taken back.';
COMMENT ON COLUMN hs2proxy.active_mutes.reason IS 'Why.';
COMMENT ON COLUMN hs2proxy.active_mutes.person IS 'Who.';
COMMENT ON COLUMN hs2proxy.active_mutes.at IS 'Since when.';

CREATE VIEW hs2proxy.muted_findings AS
SELECT DISTINCT ON (f.id) f.id AS finding_id, a.id AS mute_id
FROM hs2proxy.active_mutes a
JOIN hs2proxy.findings f ON f.kind = a.kind
                        AND a.fingerprint IN ('', f.fingerprint) AND (a.table_name = '' OR a.table_name = ANY (f.tables))
ORDER BY f.id, a.id;
COMMENT ON VIEW hs2proxy.muted_findings IS 'Which findings are muted, and by what; the oldest muting where there are several.';
COMMENT ON COLUMN hs2proxy.muted_findings.finding_id IS 'Key in findings.';
COMMENT ON COLUMN hs2proxy.muted_findings.mute_id IS 'Key in finding_mutes.';

CREATE OR REPLACE VIEW hs2proxy.report_findings AS
SELECT u.name AS upstream, f.severity, f.kind, f.subject, f.summary, f.advice, f.times, f.first_seen, f.last_seen, f.fingerprint,
       f.evidence, q.normalized AS query, f.advisor, f.doc, f.tables
FROM hs2proxy.findings f
JOIN hs2proxy.upstreams u ON u.id = f.upstream_id
LEFT JOIN hs2proxy.queries q ON q.fingerprint = f.fingerprint
WHERE f.cleared_at IS NULL AND NOT EXISTS (SELECT 1 FROM hs2proxy.muted_findings m WHERE m.finding_id = f.id)
ORDER BY array_position(ARRAY['CRITICAL', 'HIGH', 'MEDIUM', 'LOW', 'INFO'], f.severity), f.last_seen DESC, f.id DESC;
COMMENT ON VIEW hs2proxy.report_findings IS 'What is worth telling the owner of a query, and what would help?
Muted findings are left out: report_findings_muted has them.';
COMMENT ON COLUMN hs2proxy.report_findings.advisor IS 'The body of rules it comes from.';
COMMENT ON COLUMN hs2proxy.report_findings.doc IS 'Section of the documentation that explains the rule and its source.';
COMMENT ON COLUMN hs2proxy.report_findings.tables IS 'Base tables it is about.';

CREATE VIEW hs2proxy.report_findings_muted AS
SELECT u.name AS upstream, f.severity, f.kind, f.subject, f.summary, k.reason, k.person AS muted_by, k.at AS muted_at, k.muted_until,
       k.fingerprint AS muted_fingerprint, k.table_name AS muted_table, f.times, f.first_seen, f.last_seen, f.fingerprint,
       f.advisor, f.doc, f.tables, q.normalized AS query
FROM hs2proxy.muted_findings m
JOIN hs2proxy.finding_mutes k ON k.id = m.mute_id
JOIN hs2proxy.findings f ON f.id = m.finding_id
JOIN hs2proxy.upstreams u ON u.id = f.upstream_id
LEFT JOIN hs2proxy.queries q ON q.fingerprint = f.fingerprint
ORDER BY k.at DESC, k.id DESC, array_position(ARRAY['CRITICAL', 'HIGH', 'MEDIUM', 'LOW', 'INFO'], f.severity), f.last_seen DESC, f.id DESC;
COMMENT ON VIEW hs2proxy.report_findings_muted IS 'Which findings did somebody mute, who, why and until when?';
COMMENT ON COLUMN hs2proxy.report_findings_muted.upstream IS 'Server.';
COMMENT ON COLUMN hs2proxy.report_findings_muted.severity IS 'CRITICAL, HIGH, MEDIUM, LOW, INFO.';
COMMENT ON COLUMN hs2proxy.report_findings_muted.kind IS 'The rule.';
COMMENT ON COLUMN hs2proxy.report_findings_muted.subject IS 'What it is about.';
COMMENT ON COLUMN hs2proxy.report_findings_muted.summary IS 'One sentence with the numbers.';
COMMENT ON COLUMN hs2proxy.report_findings_muted.reason IS 'Why it is muted.';
COMMENT ON COLUMN hs2proxy.report_findings_muted.muted_by IS 'Who muted it.';
COMMENT ON COLUMN hs2proxy.report_findings_muted.muted_at IS 'When.';
COMMENT ON COLUMN hs2proxy.report_findings_muted.muted_until IS 'Until when; empty: until it is taken back.';
COMMENT ON COLUMN hs2proxy.report_findings_muted.muted_fingerprint IS 'The query the muting is limited to; empty: every query.';
COMMENT ON COLUMN hs2proxy.report_findings_muted.muted_table IS 'The table the muting is limited to; empty: every table.';
COMMENT ON COLUMN hs2proxy.report_findings_muted.times IS 'Analysed statements that showed it.';
COMMENT ON COLUMN hs2proxy.report_findings_muted.first_seen IS 'When it was first seen.';
COMMENT ON COLUMN hs2proxy.report_findings_muted.last_seen IS 'When it was last seen.';
COMMENT ON COLUMN hs2proxy.report_findings_muted.fingerprint IS 'The query.';
COMMENT ON COLUMN hs2proxy.report_findings_muted.advisor IS 'The body of rules it comes from.';
COMMENT ON COLUMN hs2proxy.report_findings_muted.doc IS 'Section of the documentation that explains the rule and its source.';
COMMENT ON COLUMN hs2proxy.report_findings_muted.tables IS 'Base tables it is about.';
COMMENT ON COLUMN hs2proxy.report_findings_muted.query IS 'Text without literals.';

-- One view for each advisor, with the columns of report_findings.
CREATE VIEW hs2proxy.report_findings_selector AS
SELECT f.upstream, f.severity, f.kind, f.subject, f.summary, f.advice, f.times, f.first_seen, f.last_seen, f.fingerprint, f.evidence, f.query, f.doc, f.tables
FROM hs2proxy.report_findings f WHERE f.advisor = 'selector';
COMMENT ON VIEW hs2proxy.report_findings_selector IS 'Which joins would do better with other statistics, settings or layouts?';

CREATE VIEW hs2proxy.report_findings_outer_join AS
SELECT f.upstream, f.severity, f.kind, f.subject, f.summary, f.advice, f.times, f.first_seen, f.last_seen, f.fingerprint, f.evidence, f.query, f.doc, f.tables
FROM hs2proxy.report_findings f WHERE f.advisor = 'outer_join';
COMMENT ON VIEW hs2proxy.report_findings_outer_join IS 'Which outer joins have a predicate where it changes the result or cannot be pushed down?';

CREATE VIEW hs2proxy.report_findings_movement AS
SELECT f.upstream, f.severity, f.kind, f.subject, f.summary, f.advice, f.times, f.first_seen, f.last_seen, f.fingerprint, f.evidence, f.query, f.doc, f.tables
FROM hs2proxy.report_findings f WHERE f.advisor = 'movement';
COMMENT ON VIEW hs2proxy.report_findings_movement IS 'Which joins move more bytes than they need to?';

CREATE VIEW hs2proxy.report_findings_dynamic_filter AS
SELECT f.upstream, f.severity, f.kind, f.subject, f.summary, f.advice, f.times, f.first_seen, f.last_seen, f.fingerprint, f.evidence, f.query, f.doc, f.tables
FROM hs2proxy.report_findings f WHERE f.advisor = 'dynamic_filter';
COMMENT ON VIEW hs2proxy.report_findings_dynamic_filter IS 'Which joins would gain from a filter that one side builds for the other at run time?';

CREATE VIEW hs2proxy.report_findings_anti_join AS
SELECT f.upstream, f.severity, f.kind, f.subject, f.summary, f.advice, f.times, f.first_seen, f.last_seen, f.fingerprint, f.evidence, f.query, f.doc, f.tables
FROM hs2proxy.report_findings f WHERE f.advisor = 'anti_join';
COMMENT ON VIEW hs2proxy.report_findings_anti_join IS 'Which queries look for rows without a match, and is that an anti join with the right result?';

-- +goose StatementBegin
DO $$
DECLARE
    v text;
    c record;
BEGIN
    FOREACH v IN ARRAY ARRAY['selector', 'outer_join', 'movement', 'dynamic_filter', 'anti_join'] LOOP
        FOR c IN SELECT a.attname, col_description('hs2proxy.report_findings'::regclass, b.attnum) AS words
                 FROM pg_catalog.pg_attribute a
                 JOIN pg_catalog.pg_attribute b ON b.attrelid = 'hs2proxy.report_findings'::regclass AND b.attname = a.attname
                 WHERE a.attrelid = format('hs2proxy.report_findings_%s', v)::regclass AND a.attnum > 0 LOOP
            EXECUTE format('COMMENT ON COLUMN hs2proxy.%I.%I IS %L', 'report_findings_' || v, c.attname, c.words);
        END LOOP;
    END LOOP;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION hs2proxy.record_finding_mute(
    for_kind text, for_fingerprint text, for_table text, mute boolean, for_until timestamptz, for_reason text, for_person text, for_time timestamptz,
    OUT id bigint, OUT findings bigint)
    LANGUAGE plpgsql
    SET search_path = pg_catalog, hs2proxy, pg_temp
AS $$
DECLARE
    clean_query text := coalesce(btrim(for_fingerprint), '');
    clean_table text := coalesce(hs2proxy.table_name(nullif(btrim(for_table), '')), '');
BEGIN
    IF coalesce(btrim(for_kind), '') = '' THEN
        RAISE EXCEPTION 'no kind was named' USING ERRCODE = 'invalid_parameter_value', HINT = 'Write one, as report_findings shows it.';
    END IF;
    IF coalesce(btrim(for_reason), '') = '' THEN
        RAISE EXCEPTION 'no reason was given' USING ERRCODE = 'invalid_parameter_value', HINT = 'Say why; it is kept on record.';
    END IF;
    IF for_until <= for_time THEN
        RAISE EXCEPTION 'the end is past: %', for_until USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- One after the other, so that two who take back the same find it once.
    PERFORM pg_advisory_xact_lock(hashtextextended('hs2proxy.finding_mutes', 0));
    IF NOT mute AND NOT EXISTS (SELECT 1 FROM hs2proxy.active_mutes a
                                WHERE a.kind = btrim(for_kind) AND a.fingerprint = clean_query AND a.table_name = clean_table) THEN
        RAISE EXCEPTION 'not muted: %', concat_ws(' ', btrim(for_kind), 'of query ' || nullif(clean_query, ''), 'of table ' || nullif(clean_table, ''))
            USING ERRCODE = 'no_data_found', HINT = coalesce(
                (SELECT 'Muted: ' || string_agg(concat_ws(' ', a.kind, 'of query ' || nullif(a.fingerprint, ''), 'of table ' || nullif(a.table_name, '')), '; '
                                                ORDER BY a.id) FROM hs2proxy.active_mutes a), 'Nothing is muted.');
    END IF;
    INSERT INTO hs2proxy.finding_mutes AS m (kind, fingerprint, table_name, muted, muted_until, reason, person, at)
    VALUES (btrim(for_kind), clean_query, clean_table, mute, for_until, btrim(for_reason), for_person, for_time)
    RETURNING m.id INTO id;
    SELECT count(*) INTO findings FROM hs2proxy.findings f
    WHERE f.kind = btrim(for_kind) AND clean_query IN ('', f.fingerprint) AND (clean_table = '' OR clean_table = ANY (f.tables));
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION hs2proxy.mute_finding(
    kind text, reason text, fingerprint text DEFAULT NULL, table_name text DEFAULT NULL, until timestamptz DEFAULT NULL)
    RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, hs2proxy, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM hs2proxy.findings f WHERE f.kind = btrim(mute_finding.kind)) THEN
        RAISE EXCEPTION 'no finding of kind % was ever seen', left(mute_finding.kind, 200) USING ERRCODE = 'invalid_parameter_value',
            HINT = 'Seen: ' || coalesce((SELECT string_agg(DISTINCT f.kind, ', ') FROM hs2proxy.findings f), 'none') || '.';
    END IF;
    RETURN (SELECT r.findings FROM hs2proxy.record_finding_mute(mute_finding.kind, mute_finding.fingerprint, mute_finding.table_name, true,
        mute_finding.until, mute_finding.reason, session_user::text, clock_timestamp()) r);
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION hs2proxy.unmute_finding(kind text, reason text, fingerprint text DEFAULT NULL, table_name text DEFAULT NULL)
    RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path = pg_catalog, hs2proxy, pg_temp
AS $$
    SELECT r.findings FROM hs2proxy.record_finding_mute(kind, fingerprint, table_name, false, NULL, reason, session_user::text, clock_timestamp()) r
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION hs2proxy.record_finding_mute IS 'Mute findings, or show them again, in somebody''s name. Returns the key in finding_mutes and how many findings it concerns.';
COMMENT ON FUNCTION hs2proxy.mute_finding IS 'Mute findings: mute_finding(''near_flip'', ''known''), optionally fingerprint, table_name, until. Returns how many findings that concerns now; those to come are muted too.';
COMMENT ON FUNCTION hs2proxy.unmute_finding IS 'Show muted findings again: kind, reason, and the fingerprint and table_name they were muted with. Returns how many findings that concerns.';
REVOKE ALL ON FUNCTION hs2proxy.record_finding_mute FROM PUBLIC;
REVOKE ALL ON FUNCTION hs2proxy.mute_finding FROM PUBLIC;
REVOKE ALL ON FUNCTION hs2proxy.unmute_finding FROM PUBLIC;

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
        FOR v IN SELECT c.relname FROM pg_catalog.pg_class c
                 WHERE c.relnamespace = 'hs2proxy'::regnamespace AND c.relkind = 'v' AND c.relname LIKE 'report\_findings\_%' LOOP
            EXECUTE format('GRANT SELECT ON hs2proxy.%I TO %I', v, name);
        END LOOP;
    END LOOP;
    IF EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolname = 'hs2proxy_operator') THEN
        GRANT EXECUTE ON FUNCTION hs2proxy.mute_finding, hs2proxy.unmute_finding TO hs2proxy_operator;
    END IF;
    IF EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolname = 'hs2proxy_writer') THEN
        GRANT SELECT, INSERT ON hs2proxy.finding_mutes TO hs2proxy_writer;
        GRANT SELECT ON hs2proxy.active_mutes, hs2proxy.muted_findings TO hs2proxy_writer;
        GRANT EXECUTE ON FUNCTION hs2proxy.record_finding_mute, hs2proxy.mute_finding, hs2proxy.unmute_finding TO hs2proxy_writer;
    END IF;
END
$$;
-- +goose StatementEnd
