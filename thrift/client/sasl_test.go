package client

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/beltran/gohive/hiveserver"
)

// Both kinds of connection behind a SASL login, with a reply that fits exactly and one that is a byte too long.
func TestSASLFrames(t *testing.T) {
	const limit = 64 << 10
	for _, kind := range []string{"Conn", "Session"} {
		t.Run(kind, func(t *testing.T) {
			f := &fakeServer{}
			config := f.startSASL(t)
			config.MaxMessageSize = limit
			run := opener(t, kind, config)
			f.mu.Lock()
			f.columns = described("a", hiveserver.TTypeId_STRING_TYPE)
			f.batches = []*hiveserver.TRowSet{stringColumns([]string{"x"}), stringColumns([]string{strings.Repeat("y", limit-200)})}
			f.mu.Unlock()
			result, err := run("select 1")
			if err != nil || len(result.Rows) != 2 || !slices.Equal(result.Columns, []string{"a"}) {
				t.Fatalf("%d rows, error %v", len(result.Rows), err)
			}

			f.mu.Lock()
			f.batches = []*hiveserver.TRowSet{stringColumns([]string{strings.Repeat("y", limit)})}
			f.mu.Unlock()
			var refusal *Error
			if _, err := run("select 1"); err == nil || errors.As(err, &refusal) || !strings.Contains(err.Error(), "rame size") {
				t.Errorf("a reply longer than the limit: %v", err)
			}
			if _, err := run("select 1"); !errors.Is(err, errClosed) {
				t.Errorf("behind it: %v, want %v", err, errClosed)
			}
		})
	}
}

// opener opens a connection of either kind and returns how to run a statement on it.
func opener(t *testing.T, kind string, config Config) func(string) (Result, error) {
	if kind == "Session" {
		s := opened(t, config)
		return func(sql string) (Result, error) { return s.Query(t.Context(), sql) }
	}
	c := dialed(t, config)
	return func(sql string) (Result, error) { return c.Run(t.Context(), Handle{}, sql, nil, false) }
}
