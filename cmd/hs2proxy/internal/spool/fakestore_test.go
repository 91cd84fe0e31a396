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

// fakeStore is an upsert like the real one: it keeps the order of the first arrivals. It also sees to it that nothing but
// the record before comes twice.
type fakeStore struct {
	mu       sync.Mutex
	mode     mode
	arrived  []int
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
	return &fakeStore{mode: f.mode, arrived: slices.Clone(f.arrived), again: f.again, disorder: slices.Clone(f.disorder)}
}

func (f *fakeStore) snapshot() (arrived []int, again int, disorder []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.arrived), f.again, slices.Clone(f.disorder)
}

func (f *fakeStore) put(ctx context.Context, id int) error {
	f.mu.Lock()
	m := f.mode
	if m == slow {
		f.mu.Unlock()
		<-time.After(100 * time.Millisecond)
		f.mu.Lock()
	}
	if m == up || m == slow || m == late || m == lostAnswer || m == lostHang {
		switch n := len(f.arrived); {
		case n == 0 || id > f.arrived[n-1]:
			f.arrived = append(f.arrived, id)
		case id == f.arrived[n-1]:
			f.again++
		default:
			f.disorder = append(f.disorder, fmt.Sprintf("%d after %d", id, f.arrived[n-1]))
		}
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

func (f *fakeStore) RecordStatement(ctx context.Context, o store.Observation) error {
	id, err := strconv.Atoi(o.Statement.ID)
	if err != nil {
		return err
	}
	return f.put(ctx, id)
}

// Sessions carry their number in the user's name.
func (f *fakeStore) UpsertSession(ctx context.Context, s intercept.Session) error {
	id, err := strconv.Atoi(s.User)
	if err != nil {
		return err
	}
	return f.put(ctx, id)
}

func (f *fakeStore) CloseSession(ctx context.Context, s intercept.Session) error {
	return f.UpsertSession(ctx, s)
}

func (f *fakeStore) RecordActuals(ctx context.Context, a store.Actuals) error {
	id, err := strconv.Atoi(a.StatementID)
	if err != nil {
		return err
	}
	return f.put(ctx, id)
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
