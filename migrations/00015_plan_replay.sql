-- +goose Up

-- What a replay of recorded joins reads, in one piece and without JSON: whatif over 100,000 joins spent most of its time on printing and
-- reading jsonb.

ALTER TABLE hs2proxy.plans ADD COLUMN replay bytea;
COMMENT ON COLUMN hs2proxy.plans.replay IS 'The plan''s joins in a binary form (store/recordedjoins_form.go) that says the same as joins.inputs, detail and attempts; NULL for plans recorded before there was one.';
