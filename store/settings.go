package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
)

// Setting is a setting in force for a new session of a server.
type Setting struct {
	Name  string
	Value string
	// Default is Hive's own; nil when unknown.
	Default *string
}

const settingUpsert = `
INSERT INTO hs2proxy.settings AS s (upstream_id, name, value, hive_default, read_at)
VALUES (@upstream, @name, @value, @default, @at)
ON CONFLICT (upstream_id, name) DO UPDATE SET value = excluded.value, hive_default = excluded.hive_default, read_at = excluded.read_at`

const settingsGone = `DELETE FROM hs2proxy.settings WHERE upstream_id = @upstream AND NOT name = ANY (@names)`

// SaveSettings replaces what is recorded of a server's settings.
func (s *Store) SaveSettings(ctx context.Context, upstream string, settings []Setting) error {
	settings = slices.Clone(settings)
	slices.SortFunc(settings, func(a, b Setting) int { return cmp.Compare(a.Name, b.Name) })
	return s.inTx(ctx, "record settings", []string{upstream}, func(ctx context.Context, tx pgx.Tx) error {
		id, err := s.upstreamID(ctx, upstream)
		if err != nil {
			return err
		}
		at := s.now()
		batch := &pgx.Batch{}
		names := make([]string, 0, len(settings))
		for _, v := range settings {
			var def *string
			if v.Default != nil {
				d := settingValue(v.Name, *v.Default)
				def = &d
			}
			names = append(names, text(v.Name))
			batch.Queue(settingUpsert, pgx.NamedArgs{
				"upstream": id, "name": text(v.Name), "value": settingValue(v.Name, v.Value), "default": def, "at": at,
			})
		}
		batch.Queue(settingsGone, pgx.NamedArgs{"upstream": id, "names": names})
		return tx.SendBatch(ctx, batch).Close()
	})
}
