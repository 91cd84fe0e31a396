-- +goose Up

-- Rows that every statement counts up are changed in place (heap-only): their pages keep room, and no index holds what changes. Retention, once
-- an hour, reads these two tables whole.
DROP INDEX hs2proxy.queries_last_seen;
DROP INDEX hs2proxy.findings_last_seen;
ALTER TABLE hs2proxy.queries SET (fillfactor = 80);
ALTER TABLE hs2proxy.findings SET (fillfactor = 80);
ALTER TABLE hs2proxy.plan_uses SET (fillfactor = 80);
ALTER TABLE hs2proxy.tables SET (fillfactor = 80);
ALTER TABLE hs2proxy.sessions SET (fillfactor = 90);

-- What still runs in a session that ends, without reading all that ever ran in it. Most statements are written once, when they have ended,
-- and are never in here.
CREATE INDEX statements_running ON hs2proxy.statements (session_id) WHERE state = 'RUNNING';
