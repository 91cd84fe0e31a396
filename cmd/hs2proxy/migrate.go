package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/store"
)

type migrateCmd struct {
	configFlags
	Status bool `help:"Print which migrations are applied, change nothing."`
}

// Run migrates, or prints the status.
func (c migrateCmd) Run(ctx context.Context) error {
	s, err := c.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	migrations, err := s.MigrationStatus(ctx)
	if !c.Status {
		migrations, err = s.Migrate(ctx)
	}
	if err != nil {
		return err
	}
	for _, m := range migrations {
		state := "pending"
		if m.Applied {
			state = "applied " + m.AppliedAt.UTC().Format("2006-01-02 15:04:05Z")
		}
		fmt.Printf("%04d %-40s %s\n", m.Version, m.Name, state)
	}
	if !c.Status && len(migrations) == 0 {
		fmt.Println("the schema is up to date")
	}
	return nil
}

// openStore opens the store of the configuration for a command that needs nothing else.
func (f configFlags) openStore(ctx context.Context) (*store.Store, error) {
	cfg, err := f.load()
	if err != nil {
		return nil, err
	}
	if cfg.Database.URL == "" {
		return nil, errors.New("no database: set database.url in the configuration, or HS2PROXY_DATABASE__URL")
	}
	return openStore(ctx, cfg, zerolog.Nop())
}

// openStore opens the store as configured. It does not need Postgres to be up.
func openStore(ctx context.Context, cfg config.Config, log zerolog.Logger) (*store.Store, error) {
	return store.Open(ctx, cfg.Database.URL, store.Options{
		ApplicationName: "hs2proxy", KeepLiterals: cfg.Database.KeepLiterals, Logger: log,
	})
}
