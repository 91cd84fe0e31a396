package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hs2proxy/hs2proxy/store/localpg"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// withPostgres runs the tests beside a Postgres of their own.
type withPostgres struct{ m *testing.M }

func (w withPostgres) Run() int { return storetest.Main(w.m) }

func TestMain(m *testing.M) {
	if localpg.Hook() { // this process is the tests' Postgres
		return
	}
	testscript.Main(withPostgres{m}, map[string]func(){
		"hs2proxy": func() { os.Exit(runUntilSignal(os.Args[1:])) },
	})
}

// TestCommands runs the command line as a person does: testdata/script, a file per command.
func TestCommands(t *testing.T) {
	plans, err := filepath.Abs("../../advisor/testdata/plans")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PLANS", plans)
			env.Setenv("DSN", storetest.EmptyDSN(t))
			return nil
		},
	})
}
