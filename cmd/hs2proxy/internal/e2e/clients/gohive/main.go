// Command gohive runs the steps on standard input with gohive and prints what it was given, a JSON object a line.
// Argument: the target, as JSON.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/beltran/gohive"
)

// running is in an operation log once Tez has taken the query.
const running = "Status: Running"

// target is where to connect; CA is a PEM file, empty without TLS.
type target struct {
	Host     string
	Port     int
	Auth     string
	User     string
	Password string
	HTTP     bool
	CA       string
}

// record is what one step printed.
type record map[string]any

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, argument string) error {
	var t target
	if err := json.Unmarshal([]byte(argument), &t); err != nil {
		return fmt.Errorf("read the target: %w", err)
	}
	conn, err := t.connect()
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		fields := strings.SplitN(in.Text(), "\t", 3)
		r, err := t.perform(ctx, conn, fields[0], fields[2])
		if err != nil {
			r = record{"unexpected": shownError(err)}
		}
		r["step"] = fields[1]
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	return errors.Join(in.Err(), conn.Close())
}

func (t target) connect() (*gohive.Connection, error) {
	c := gohive.NewConnectConfiguration()
	c.MaxSize = 256 << 20 // of a message, in bytes; its default of 16 MB loses its place in a longer one
	c.Username, c.Password, c.FetchSize = t.User, t.Password, 5000
	auth := t.Auth
	if t.HTTP {
		c.TransportMode, c.HTTPPath = "http", "cliservice"
		auth = "NONE" // Basic, whatever the server makes of the password
	}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(pem)
		c.TLSConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return gohive.Connect(t.Host, t.Port, auth, c)
}

func (t target) perform(ctx context.Context, conn *gohive.Connection, kind, sql string) (record, error) {
	if kind == "threads" {
		return t.threads(ctx, sql), nil
	}
	cursor := conn.Cursor()
	defer cursor.Close()
	switch kind {
	case "run":
		if cursor.Exec(ctx, sql); cursor.Err != nil {
			return nil, cursor.Err
		}
		status := cursor.Poll(false)
		return record{"result_set": status.GetHasResultSet(), "modified": status.GetNumModifiedRows()}, cursor.Err
	case "query":
		return query(ctx, cursor, sql)
	case "digest":
		return digest(ctx, cursor, sql)
	case "fails":
		_, err := query(ctx, cursor, sql)
		return record{"error": shownError(err)}, nil
	case "cancel":
		return cancel(ctx, cursor, sql)
	}
	return nil, fmt.Errorf("unknown kind of step: %s", kind)
}

// each executes a statement and calls a function with every row, in the order of the columns.
func each(ctx context.Context, cursor *gohive.Cursor, sql string, row func([]any)) ([][]string, error) {
	if cursor.Exec(ctx, sql); cursor.Err != nil {
		return nil, cursor.Err
	}
	columns := cursor.Description()
	if cursor.Err != nil {
		return nil, cursor.Err
	}
	for cursor.HasMore(ctx) {
		m := cursor.RowMap(ctx)
		if cursor.Err != nil {
			return nil, cursor.Err
		}
		values := make([]any, len(columns))
		for i, c := range columns {
			values[i] = value(m[c[0]])
		}
		row(values)
	}
	return columns, cursor.Err
}

// value shows a value with its Go type.
func value(v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case []byte:
		return []string{"[]byte", hex.EncodeToString(v)}
	default:
		return []string{fmt.Sprintf("%T", v), fmt.Sprintf("%v", v)}
	}
}

func query(ctx context.Context, cursor *gohive.Cursor, sql string) (record, error) {
	rows := [][]any{}
	columns, err := each(ctx, cursor, sql, func(row []any) { rows = append(rows, row) })
	if err != nil {
		return nil, err
	}
	return record{"columns": columns, "rows": rows}, nil
}

func digest(ctx context.Context, cursor *gohive.Cursor, sql string) (record, error) {
	sha, count := sha256.New(), 0
	columns, err := each(ctx, cursor, sql, func(row []any) {
		count++
		_ = json.NewEncoder(sha).Encode(row)
	})
	if err != nil {
		return nil, err
	}
	return record{
		"columns": columns[:min(5, len(columns))], "column_count": len(columns), "row_count": count,
		"sha256": hex.EncodeToString(sha.Sum(nil)),
	}, nil
}

func cancel(ctx context.Context, cursor *gohive.Cursor, sql string) (record, error) {
	if cursor.Execute(ctx, sql, true); cursor.Err != nil {
		return nil, cursor.Err
	}
	ctx, stop := context.WithTimeout(ctx, 2*time.Minute)
	defer stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var log strings.Builder
	for !strings.Contains(log.String(), running) && !cursor.Finished() && ctx.Err() == nil {
		for _, line := range cursor.FetchLogs() {
			log.WriteString(line + "\n")
		}
		<-tick.C
	}
	if cursor.Cancel(); cursor.Err != nil {
		return nil, cursor.Err
	}
	for !cursor.Finished() && ctx.Err() == nil {
		<-tick.C
	}
	status := cursor.Poll(false)
	if cursor.Err != nil {
		return nil, cursor.Err
	}
	return record{
		"running_seen": strings.Contains(log.String(), running),
		"end":          status.GetOperationState().String(),
	}, nil
}

// threads runs every statement in a session of its own, three times over, all at once.
func (t target) threads(ctx context.Context, sql string) record {
	statements := strings.Split(sql, ";;")
	answers := make([]any, len(statements))
	var wg sync.WaitGroup
	for i, statement := range statements {
		wg.Go(func() {
			got, err := t.thrice(ctx, strings.TrimSpace(statement))
			if answers[i] = got; err != nil {
				answers[i] = fmt.Sprint(shownError(err))
			}
		})
	}
	wg.Wait()
	return record{"answers": answers}
}

func (t target) thrice(ctx context.Context, statement string) ([]record, error) {
	conn, err := t.connect()
	if err != nil {
		return nil, err
	}
	var out []record
	for range 3 {
		cursor := conn.Cursor()
		r, err := query(ctx, cursor, statement)
		cursor.Close()
		if err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		out = append(out, r)
	}
	return out, conn.Close()
}

// What differs from run to run: ids of Tez, attempts and queries, memory addresses.
var (
	ids       = regexp.MustCompile(`\b(application|dag|vertex|task|attempt|hive)_[0-9a-z_-]+`)
	addresses = regexp.MustCompile(`@[0-9a-f]{5,}`)
)

// shownError is the type, code and first line of an error; nil for none.
func shownError(err error) any {
	if err == nil {
		return nil
	}
	code, text := 0, err.Error()
	var he gohive.HiveError
	if errors.As(err, &he) {
		code, text = he.ErrorCode, he.Message
	}
	text, _, _ = strings.Cut(text, "\n")
	text, _, _ = strings.Cut(text, `\n`) // as in a task's status, which is JSON
	text = addresses.ReplaceAllString(ids.ReplaceAllString(text, "${1}_ID"), "@ADDRESS")
	return []any{fmt.Sprintf("%T", err), code, text}
}
