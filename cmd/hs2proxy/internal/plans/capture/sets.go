package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// set are plans over tables of one kind, in the database of all.
type set struct {
	// kind begins the name of each plan; empty where the tables are Hive's own plain ones.
	kind string
	// probe is a statement that only a server with tables of the kind takes; drop undoes it. Both are empty for plain tables.
	probe, drop string
	setup       []string
	queries     []query
	// witnessed: the plans' files hold what the planner logged of its decisions too, the settings and what the metastore says.
	witnessed bool
}

func sets() []set {
	return []set{{setup: setup(), queries: queries()}, acid(), iceberg()}
}

// taken has the server make the tables of a set, as far as plans of it are wanted and the server has such tables.
func (s *set) taken(ctx context.Context, address string, names []string) (bool, error) {
	s.queries = slices.DeleteFunc(s.queries, func(q query) bool { return !named(q, names) })
	switch {
	case s.kind == "": // the others join its tables
		return len(s.queries) > 0, inSession(ctx, address, s.setup, nil)
	case len(s.queries) == 0:
		return false, nil
	}
	var refusal *client.Error
	err := inSession(ctx, address, []string{"USE " + database, s.probe, s.drop}, nil)
	if errors.As(err, &refusal) {
		first, _, _ := strings.Cut(refusal.Message, "\n")
		fmt.Fprintf(os.Stderr, "capture: no %s tables on this server, their plans stay as they are: %s\n", s.kind, first)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, inSession(ctx, address, append([]string{"USE " + database}, s.setup...), nil)
}
