package store

import (
	"math"
	"slices"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// Redacted is ForSpool without anything else that RecordStatement of a Store with this KeepLiterals would not keep: what is
// written to a disk tells no more than Postgres would. Recording it is recording o. It shares no memory that o's owner may
// change, and JSON can hold every number in it, save inside a finding's evidence.
func (o Observation) Redacted(keepLiterals bool) Observation {
	o = o.ForSpool()
	r := recording{s: &Store{o: Options{KeepLiterals: keepLiterals}}, o: o}
	o.Session = RedactedSession(o.Session)
	st := &o.Statement
	st.OperationSecret = [16]byte{}
	st.ErrorMessage = r.message(st.ErrorMessage)
	if sql := r.sqlText(); sql != nil {
		st.SQL = *sql
	} else {
		st.SQL = st.Info.Normalized
	}
	st.Info = hiveql.Info{
		Kind: st.Info.Kind, Explainable: st.Info.Explainable, Normalized: st.Info.Normalized, Fingerprint: st.Info.Fingerprint,
	}
	st.Settings, st.ConfOverlay = nil, nil
	if o.Analysis != nil {
		o.Analysis = r.redactedAnalysis(*o.Analysis)
	}
	o.Writes = slices.Clone(o.Writes)
	return o
}

func (r *recording) redactedAnalysis(a Analysis) *Analysis {
	a.Error = r.message(a.Error)
	a.Settings = settingsOf(a.Settings)
	if !r.s.o.KeepLiterals {
		a.PlanText = ""
	}
	a.Joins = slices.Clone(a.Joins)
	for i := range a.Joins {
		a.Joins[i] = storable(a.Joins[i], r.s.o.KeepLiterals)
	}
	a.Findings = slices.Clone(a.Findings)
	for i := range a.Findings {
		a.Findings[i].Evidence = evidence(a.Findings[i].Evidence)
	}
	return &a
}

// RedactedSession is s as UpsertSession and CloseSession keep it, without the handle's secret.
func RedactedSession(s intercept.Session) intercept.Session {
	s.Handle.Secret = [16]byte{}
	s.Configuration, s.Settings = sessionMap(s.Configuration), sessionMap(s.Settings)
	return s
}

// storable is a copy of a verdict without what is not stored: a margin that is no number and, unless literals are kept,
// those in key expressions.
func storable(v advisor.JoinVerdict, keepLiterals bool) advisor.JoinVerdict {
	v.Join.Inputs = slices.Clone(v.Join.Inputs)
	if m := v.Decision.Margin; m != nil && (math.IsNaN(m.Factor) || math.IsInf(m.Factor, 0) || m.Factor <= 0) {
		v.Decision.Margin = nil
	}
	if !keepLiterals {
		for i := range v.Join.Inputs {
			keys := slices.Clone(v.Join.Inputs[i].Keys)
			for k := range keys {
				keys[k].Expr = withoutQuoted(keys[k].Expr)
			}
			v.Join.Inputs[i].Keys = keys
		}
	}
	return v
}
