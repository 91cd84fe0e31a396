package spool

import (
	"fmt"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/store"
)

// Options say where a Spool is and what it may hold.
type Options struct {
	// Dir is made, for this user alone, where it is missing.
	Dir string
	// Limit bounds the segments together, in bytes; at least MinLimit.
	Limit int64
	// KeepLiterals writes statements as sent, like the store's option.
	KeepLiterals bool
	// Redact takes out of every record what the store would.
	Redact *store.Redactor
	Log    zerolog.Logger
	// Counters counts what was lost.
	Counters *pipeline.Counters
}

// Spool is a Log of records, with its words in the log and its losses in the counters. It is a pipeline.Spool.
type Spool struct {
	o        Options
	log      *Log
	reported Lost
	// full: that records are dropped has been said since the spool was last empty.
	full bool
}

var _ pipeline.Spool = (*Spool)(nil)

// Open takes the folder for this process. What an earlier one left in it is there.
func Open(o Options) (*Spool, error) {
	l, err := OpenLog(o.Dir, o.Limit)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	s := &Spool{o: o, log: l}
	lost := l.Lost()
	s.reported.Torn = lost.Torn
	if lost.Torn > 0 {
		o.Log.Warn().Int64("bytes", lost.Torn).Msg("the end of the spool was torn by a crash and is cut")
	}
	if n := l.Len(); n > 0 {
		o.Log.Info().Int64("records", n).Int64("bytes", l.Bytes()).Msg("the spool holds records of an earlier run; they are replayed")
	}
	return s, nil
}

// appendSize is about how many bytes are encoded before they are written.
const appendSize = 4 << 20

// Append implements pipeline.Spool.
func (s *Spool) Append(records []pipeline.Record) (numbers []uint64, err error) {
	defer s.report()
	for len(numbers) < len(records) && err == nil {
		var encoded [][]byte
		for size := 0; size < appendSize && len(numbers)+len(encoded) < len(records); {
			b := s.encode(records[len(numbers)+len(encoded)])
			encoded, size = append(encoded, b), size+len(b)
		}
		var more []uint64
		more, err = s.log.Append(encoded)
		for i, n := range more {
			switch {
			case n != 0:
			case len(encoded[i]) == 0:
				s.o.Counters.RecordFailed.Add(1)
			default:
				s.o.Counters.SpoolDropped.Add(1)
				s.o.Log.Warn().Int("bytes", len(encoded[i])).Msg("a record is too long for the spool; it is left out")
			}
		}
		numbers = append(numbers, more...)
	}
	return numbers, err
}

// encode returns nothing, which is no record to the log, for what has no form on disk.
func (s *Spool) encode(r pipeline.Record) []byte {
	b, err := encode(r, s.o.KeepLiterals, s.o.Redact)
	if err != nil {
		s.o.Log.Error().Err(err).Msg("a record cannot be spooled; it is left out")
		return nil
	}
	return b
}

// frontSize is about how many bytes are read ahead.
const frontSize = 4 << 20

// Front implements pipeline.Spool. Records end before one that cannot be read, which is left out when it is the oldest.
func (s *Spool) Front(most int) (first uint64, records []pipeline.Record, err error) {
	defer s.report()
	for {
		first, payloads, err := s.log.Ahead(most, frontSize)
		if first == 0 || err != nil {
			return 0, nil, err
		}
		for _, b := range payloads {
			r, rerr := decode(b)
			if rerr != nil {
				err = rerr
				break
			}
			records = append(records, r)
		}
		if len(records) > 0 {
			return first, records, nil
		}
		s.o.Counters.SpoolDropped.Add(1)
		s.o.Log.Error().Err(err).Msg("a spooled record cannot be read; it is left out")
		if err := s.log.Pop(first); err != nil {
			return 0, nil, err
		}
	}
}

// Pop implements pipeline.Spool.
func (s *Spool) Pop(number uint64) error {
	err := s.log.Pop(number)
	if s.log.Len() == 0 {
		s.full = false
	}
	return err
}

// Len is how many records wait. It may be called at any time.
func (s *Spool) Len() int64 { return s.log.Len() }

// Bytes is what they take on disk. It may be called at any time.
func (s *Spool) Bytes() int64 { return s.log.Bytes() }

// Close gives the folder back.
func (s *Spool) Close() error { return s.log.Close() }

// report counts what was lost since the last call.
func (s *Spool) report() {
	lost := s.log.Lost()
	dropped, damaged := lost.Dropped-s.reported.Dropped, lost.Damaged-s.reported.Damaged
	s.reported = lost
	s.o.Counters.SpoolDropped.Add(int64(dropped + damaged)) //nolint:gosec // far below 2^63
	if damaged > 0 {
		s.o.Log.Error().Uint64("records", damaged).Msg("a part of the spool cannot be read; its records are left out")
	}
	if dropped > 0 && !s.full {
		s.full = true
		s.o.Log.Warn().Uint64("records", dropped).Int64("limit", s.o.Limit).Msg("the spool is full; the oldest records are dropped and counted")
	}
}
