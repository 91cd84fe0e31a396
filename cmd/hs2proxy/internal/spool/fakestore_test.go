package spool

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/store"
)

// mode is how a fakeStore behaves.
type mode int

const (
	up         mode = iota
	down            // refuses
	hang            // answers when the context ends
	lostAnswer      // commits, and the answer is lost
	lostHang        // commits, and answers when the context ends
	slow            // takes a tenth of a second
	late            // commits, and says so when the context ends
)

// fakeStore is an upsert like the real one: it keeps the order of the first arrivals, and takes a batch whole or not at all. It also
// sees to it that nothing but the records of the batch before come twice.
type fakeStore struct {
	mu       sync.Mutex
	mode     mode
	arrived  []int
	from     int // the first number of the last batch that brought new ones
	again    int // arrivals of what was there
	disorder []string
}

func (f *fakeStore) set(m mode) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mode = m
}

// copy is the same store to another proxy; what the one before still does is not seen there.
func (f *fakeStore) copy() *fakeStore {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &fakeStore{mode: f.mode, arrived: slices.Clone(f.arrived), from: f.from, again: f.again, disorder: slices.Clone(f.disorder)}
}

func (f *fakeStore) snapshot() (arrived []int, again int, disorder []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.arrived), f.again, slices.Clone(f.disorder)
}

func (f *fakeStore) Record(ctx context.Context, records []pipeline.Record) (int, error) {
	ids := make([]int, len(records))
	var refused error
	for i, r := range records {
		n, err := number(r)
		if ids[i] = n; err != nil {
			refused = err
		}
	}
	if err := f.put(ctx, ids, refused); err != nil {
		return 0, err
	}
	return len(records), nil
}

// put refuses what it holds when the store is there.
func (f *fakeStore) put(ctx context.Context, ids []int, refused error) error {
	f.mu.Lock()
	m := f.mode
	if refused != nil && m != down && m != hang {
		f.mu.Unlock()
		return refused
	}
	if m == slow {
		f.mu.Unlock()
		<-time.After(time.Duration(len(ids)) * 100 * time.Millisecond)
		f.mu.Lock()
	}
	if m == up || m == slow || m == late || m == lostAnswer || m == lostHang {
		f.keep(ids)
	}
	f.mu.Unlock()
	switch m {
	case up, slow:
		return nil
	case late:
		<-ctx.Done()
		return nil
	case hang, lostHang:
		<-ctx.Done()
		return fmt.Errorf("%w: no answer", store.ErrUnavailable)
	default:
		return fmt.Errorf("%w: connection refused", store.ErrUnavailable)
	}
}

// keep adds what is new.
func (f *fakeStore) keep(ids []int) {
	from := f.from
	for i, id := range ids {
		last := 0
		if n := len(f.arrived); n > 0 {
			last = f.arrived[n-1]
		}
		switch {
		case id > last:
			f.arrived, f.from = append(f.arrived, id), ids[0]
		case id >= from && (i == 0 || id > ids[i-1]):
			f.again++
		default:
			f.disorder = append(f.disorder, fmt.Sprintf("%d after %d", id, last))
		}
	}
}

// number is that of a record. Sessions carry it in the user's name.
func number(r pipeline.Record) (int, error) {
	switch {
	case r.Observation != nil:
		return strconv.Atoi(r.Observation.Statement.ID)
	case r.Actuals != nil:
		return strconv.Atoi(r.Actuals.StatementID)
	case r.Session != nil:
		return strconv.Atoi(r.Session.User)
	default:
		return 0, fmt.Errorf("%w: the record is empty", store.ErrData)
	}
}

// record is the record of a number: an observation of about size bytes, or now and then a session.
func record(id, size int) pipeline.Record {
	if id%7 == 0 {
		return pipeline.Record{Session: &intercept.Session{User: strconv.Itoa(id)}}
	}
	return pipeline.Record{Observation: &store.Observation{Statement: intercept.Statement{
		ID: strconv.Itoa(id), SQL: "SELECT 1", Info: hiveql.Info{Normalized: "SELECT " + strings.Repeat("x", size)},
	}}}
}
