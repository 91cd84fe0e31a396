package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "capture:", err)
		os.Exit(1)
	}
}

// forms are the statements and settings of each text form, in the order of a file's sections.
var forms = []struct {
	name, statement string
	user            bool
}{
	{"extended", "EXPLAIN EXTENDED ", false},
	{"plain", "EXPLAIN ", false},
	{"user", "EXPLAIN ", true},
	{"formatted", "EXPLAIN FORMATTED ", false},
	{"vectorization", "EXPLAIN VECTORIZATION DETAIL ", false},
}

func run(ctx context.Context, args []string) error {
	address := os.Getenv("HS2PROXY_TEST_HS2")
	if len(args) == 0 || address == "" {
		return errors.New("expected a folder, and HS2PROXY_TEST_HS2=host:port: make golden")
	}
	dir, names := args[0], args[1:]
	plans, missing := 0, 0
	for _, s := range sets() {
		ok, err := s.taken(ctx, address, names)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		made, err := s.write(ctx, address, dir)
		if err != nil {
			return err
		}
		plans, missing = plans+made, missing+len(s.queries)-made
	}
	fmt.Fprintf(os.Stderr, "capture: %d plans, %d that Hive does not make\n", plans, missing)
	return nil
}

// write captures the plans of a set, each into a file of the folder, and counts them.
func (s *set) write(ctx context.Context, address, dir string) (int, error) {
	root, err := clear(dir, s.queries)
	if err != nil {
		return 0, err
	}
	defer root.Close() //nolint:errcheck // nothing is buffered
	made := 0
	for _, q := range s.queries {
		archive, why, err := capture(ctx, address, q, s.witnessed)
		var refusal *client.Error
		switch {
		case errors.As(err, &refusal):
			why = err.Error()
		case err != nil:
			return made, fmt.Errorf("%s: %w", q.name, err)
		}
		if why != "" {
			fmt.Fprintf(os.Stderr, "capture: no %s: %s\n", q.name, why)
			continue
		}
		if err := root.WriteFile(q.name+".txtar", txtar.Format(archive), 0o644); err != nil {
			return made, err
		}
		made++
	}
	return made, nil
}

// named tells whether a query is among the names or patterns; without any, all are.
func named(q query, names []string) bool {
	return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool {
		ok, err := filepath.Match(name, q.name)
		return ok && err == nil
	})
}

// clear opens the folder of plans and removes those of an earlier run that are to be captured.
func clear(dir string, queries []query) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil { //nolint:gosec // the caller names the folder
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	for _, q := range queries {
		if removeErr := root.Remove(q.name + ".txtar"); !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// capture explains a query in every form. It says why when the plan is not the one the query is there for.
func capture(ctx context.Context, address string, q query, witnessed bool) (archive *txtar.Archive, why string, err error) {
	settings := append(append([]string{"USE " + database}, common...), q.settings...)
	archive = &txtar.Archive{Comment: []byte(q.sql + "\n" + strings.Join(q.settings, ";\n") + "\n")}
	err = inSession(ctx, address, settings, func(s *client.Session) error {
		for _, f := range forms {
			if f.name == "vectorization" && (q.join != advisor.Inner || witnessed) {
				continue // its form differs by the strategy, not by what is around
			}
			if _, err := s.Query(ctx, fmt.Sprintf("SET hive.explain.user=%t", f.user)); err != nil {
				return err
			}
			result, err := s.Query(ctx, f.statement+q.sql)
			if err != nil {
				return err
			}
			text := mask(textOf(result))
			if f.name == "extended" {
				if why = other(text, q); why != "" {
					return nil
				}
			}
			archive.Files = append(archive.Files, txtar.File{Name: f.name, Data: []byte(text)})
		}
		return nil
	})
	if err != nil || why != "" || !witnessed {
		return archive, why, err
	}
	sections, err := witness(ctx, address, q, settings)
	for _, s := range sections {
		archive.Files = append(archive.Files, txtar.File{Name: s.Name, Data: []byte(mask(string(s.Data)))})
	}
	return archive, "", err
}

// other says what Hive chose in place of the strategy or type that the query is there for.
func other(text string, q query) string {
	p, err := explain.Parse(text)
	if err != nil {
		return err.Error()
	}
	joins := advisor.Joins(p)
	if len(joins) == 0 {
		return "no join"
	}
	if q.strategy == "" {
		return ""
	}
	j := joins[0]
	if len(joins) > 1 || j.Strategy != q.strategy || len(j.Conditions) == 0 || j.Conditions[0].Type != q.join {
		return fmt.Sprintf("Hive makes %d joins, the first a %s %v", len(joins), j.Strategy, j.Conditions)
	}
	return ""
}

func textOf(r client.Result) string {
	var b strings.Builder
	for _, row := range r.Rows {
		if len(row) > 0 && row[0] != nil {
			b.WriteString(*row[0])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// unknownSetting: an older release refuses the settings that it does not have, and plans as it does without them.
func unknownSetting(err error) bool {
	var refusal *client.Error
	return errors.As(err, &refusal) && strings.Contains(refusal.Message, "hive configuration") && strings.Contains(refusal.Message, "does not exists")
}

func config(address string) client.Config {
	return client.Config{
		Address: address, Auth: "NONE", User: "hs2proxy", Password: "hs2proxy",
		DialTimeout: 10 * time.Second, CallTimeout: 5 * time.Minute,
	}
}

// inSession runs statements in a session of their own, then f.
func inSession(ctx context.Context, address string, statements []string, f func(*client.Session) error) (err error) {
	session, err := client.Open(ctx, config(address), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	for _, statement := range statements {
		if _, err := session.Query(ctx, statement); err != nil && !unknownSetting(err) {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	if f == nil {
		return nil
	}
	return f(session)
}
