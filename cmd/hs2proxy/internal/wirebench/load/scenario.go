package load

import (
	"context"
	"fmt"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/wirebench/fakehs2"
)

// Figure is what a scenario is judged by.
type Figure string

// Figures.
const (
	// Wait is the median time of an operation, in microseconds.
	Wait Figure = "p50 µs"
	// Rate is operations a second.
	Rate Figure = "/s"
	// Throughput is MiB of replies a second.
	Throughput Figure = "MiB/s"
)

// Scenario is one kind of load: connections that each do one operation after the other.
type Scenario struct {
	Name string
	// Does is the operation in a few words.
	Does        string
	Figure      Figure
	Connections int
	// start makes a connection's worker.
	start func(ctx context.Context, addr string) (worker, error)
}

// worker does the operations of one connection. It is used by one goroutine.
type worker interface {
	// do is one operation; it returns how long the part took that counts. word differs from call to call.
	do(ctx context.Context, word uint32) (time.Duration, error)
	// received is the bytes of replies so far.
	received() int64
	close()
}

// Sizes of the scenarios.
type Sizes struct {
	// Many is the connections of the scenario many.
	Many int
	// Fetch is the result that the scenario fetch reads over and over.
	Fetch fakehs2.Result
}

// Scenarios in the order of the table.
func Scenarios(s Sizes) []Scenario {
	return []Scenario{
		{
			Name: "ping", Does: "GetInfo, back to back", Figure: Wait, Connections: 1,
			start: func(ctx context.Context, addr string) (worker, error) { return newPing(ctx, addr) },
		},
		{
			Name: "query", Does: "connect, log in, a join of 100 rows from OpenSession to CloseSession, disconnect", Figure: Wait, Connections: 1,
			start: func(_ context.Context, addr string) (worker, error) { return &query{addr: addr, cycles: true}, nil },
		},
		{
			Name: "fetch", Does: fmt.Sprintf("FetchResults of %d rows, %d bytes each", s.Fetch.Batch, s.Fetch.Width), Figure: Throughput, Connections: 1,
			start: func(ctx context.Context, addr string) (worker, error) { return newBulk(ctx, addr, s.Fetch) },
		},
		{
			Name: "many", Does: fmt.Sprintf("%d connections, each a join of 100 rows from OpenSession to CloseSession", s.Many), Figure: Rate, Connections: s.Many,
			start: func(ctx context.Context, addr string) (worker, error) { return newCycles(ctx, addr) },
		},
		{
			Name: "connect", Does: "connect, log in, disconnect, 4 at a time", Figure: Rate, Connections: 4,
			start: func(_ context.Context, addr string) (worker, error) { return &query{addr: addr}, nil },
		},
	}
}

// connected is a worker with a connection that stays.
type connected struct{ client *client }

func (c connected) received() int64 { return c.client.read }
func (c connected) close()          { c.client.close() }

type ping struct{ connected }

func newPing(ctx context.Context, addr string) (worker, error) {
	c, err := dial(ctx, addr, nil)
	if err != nil {
		return nil, err
	}
	return ping{connected{c}}, c.open()
}

func (p ping) do(context.Context, uint32) (time.Duration, error) {
	t0 := time.Now()
	err := p.client.ping()
	return time.Since(t0), err
}

type cycles struct{ connected }

func newCycles(ctx context.Context, addr string) (worker, error) {
	c, err := dial(ctx, addr, nil)
	if err != nil {
		return nil, err
	}
	return cycles{connected{c}}, nil
}

func (w cycles) do(_ context.Context, word uint32) (time.Duration, error) {
	t0 := time.Now()
	err := w.client.cycle(word)
	return time.Since(t0), err
}

// query takes a connection for each operation: a cycle, or the login alone.
type query struct {
	addr   string
	cycles bool
	read   int64
}

func (q *query) do(ctx context.Context, word uint32) (time.Duration, error) {
	t0 := time.Now()
	c, err := dial(ctx, q.addr, nil)
	if err != nil {
		return 0, err
	}
	if q.cycles {
		err = c.cycle(word)
	}
	c.close()
	q.read += c.read
	return time.Since(t0), err
}

func (q *query) received() int64 { return q.read }
func (*query) close()            {}

// bulk reads a large result; an operation is one FetchResults.
type bulk struct {
	connected
	result    fakehs2.Result
	statement *request
	next      *request
	fetched   int // rows of the statement that runs
	open      bool
}

func newBulk(ctx context.Context, addr string, r fakehs2.Result) (worker, error) {
	c, err := dial(ctx, addr, nil)
	if err != nil {
		return nil, err
	}
	return newBulkOn(c, r)
}

func newBulkOn(c *client, r fakehs2.Result) (*bulk, error) {
	b := &bulk{connected: connected{c}, result: r, statement: execute(r.Ask()), next: fetch(r.Batch)}
	return b, c.open()
}

func (b *bulk) do(_ context.Context, word uint32) (time.Duration, error) {
	if !b.open {
		if err := b.client.execute(b.statement, word); err != nil {
			return 0, err
		}
		b.open, b.fetched = true, 0
	}
	want := min(b.result.Batch, b.result.Rows-b.fetched)
	t0 := time.Now()
	if err := b.client.fetch(b.next, b.fetched, want); err != nil {
		return 0, err
	}
	took := time.Since(t0)
	b.fetched += want
	if b.fetched < b.result.Rows {
		return took, nil
	}
	b.open = false
	if err := b.client.fetch(b.next, b.fetched, 0); err != nil { // a client knows the end by a batch without rows
		return 0, err
	}
	return took, b.client.end()
}
