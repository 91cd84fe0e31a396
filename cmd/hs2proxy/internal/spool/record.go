package spool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/store"
)

// recordVersion is the form of an envelope. Fields may be added under the same version; what an older version reads
// wrongly needs a new one.
const recordVersion = 1

// envelope is a record as JSON: an observation, counted rows, or a session that was opened or, with ClosedAt, closed.
type envelope struct {
	Version     int                `json:"v"`
	Observation *store.Observation `json:"observation,omitempty"`
	Session     *intercept.Session `json:"session,omitempty"`
	Actuals     *store.Actuals     `json:"actuals,omitempty"`
}

// of is how many records are in it.
func (e *envelope) of() (n int) {
	for _, there := range []bool{e.Observation != nil, e.Session != nil, e.Actuals != nil} {
		if there {
			n++
		}
	}
	return n
}

// encode writes a record without what Postgres would not be told: handle secrets, passwords and, unless keepLiterals,
// literals and what redact takes out.
func encode(r pipeline.Record, keepLiterals bool, redact *store.Redactor) (b []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("encode record: panic: %v", p)
		}
	}()
	e := envelope{Version: recordVersion}
	switch {
	case r.Observation != nil:
		o := r.Observation.Redacted(keepLiterals, redact)
		e.Observation = &o
	case r.Actuals != nil:
		a := r.Actuals.Redacted(keepLiterals, redact)
		e.Actuals = &a
	case r.Session != nil:
		s := store.RedactedSession(*r.Session, redact)
		e.Session = &s
	default:
		return nil, errors.New("encode record: it is empty")
	}
	b, err = json.Marshal(e)
	if err != nil && e.Observation != nil && e.Observation.Analysis != nil {
		// Evidence may hold anything; the summary has its numbers.
		for i := range e.Observation.Analysis.Findings { // a copy of ours
			e.Observation.Analysis.Findings[i].Evidence = nil
		}
		b, err = json.Marshal(e)
	}
	if err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	return b, nil
}

func decode(b []byte) (pipeline.Record, error) {
	var e envelope
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber() // a finding's evidence keeps its whole numbers
	if err := d.Decode(&e); err != nil {
		return pipeline.Record{}, fmt.Errorf("decode record: %w", err)
	}
	switch {
	case e.Version != recordVersion:
		return pipeline.Record{}, fmt.Errorf("decode record: version %d, this version reads %d", e.Version, recordVersion)
	case e.of() != 1:
		return pipeline.Record{}, fmt.Errorf("decode record: %d of an observation, a session and counted rows", e.of())
	}
	return pipeline.Record{Observation: e.Observation, Session: e.Session, Actuals: e.Actuals}, nil
}
