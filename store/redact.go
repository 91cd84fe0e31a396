package store

import (
	"math"
	"slices"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// Redacted is ForSpool without anything else that RecordStatement of a Store with these KeepLiterals and Redact would not keep:
// what is written to a disk tells no more than Postgres would. Recording it is recording o. It shares no memory that o's owner may
// change, and JSON can hold every number in it, save inside a finding's evidence.
func (o Observation) Redacted(keepLiterals bool, redact *Redactor) Observation {
	o = o.ForSpool()
	r := recording{s: &Store{o: Options{KeepLiterals: keepLiterals, Redact: redact}}, o: o}
	o.Session = RedactedSession(o.Session, redact)
	o.Altered = r.altered()
	st := &o.Statement
	st.OperationSecret = [16]byte{}
	st.ErrorMessage = r.message(st.ErrorMessage)
	if sql := r.sqlText(); sql != nil {
		st.SQL = *sql
	} else {
		st.SQL = redact.Text(st.Info.Normalized)
	}
	st.Info = hiveql.Info{
		Kind: st.Info.Kind, Explainable: st.Info.Explainable, Normalized: redact.Text(st.Info.Normalized), Fingerprint: st.Info.Fingerprint,
	}
	st.Settings, st.ConfOverlay = nil, nil
	if o.Analysis != nil {
		o.Analysis = r.redactedAnalysis(*o.Analysis)
	}
	o.Writes = slices.Clone(o.Writes)
	for i := range o.Writes {
		o.Writes[i].Partitions = specs(redact, o.Writes[i].Partitions)
	}
	if o.Analyzed != nil {
		a := *o.Analyzed
		a.Partition = specs(redact, []string{a.Partition})[0]
		o.Analyzed = &a
	}
	o.Findings = r.findings(o.Findings)
	return o
}

// specs are partitions as they may be stored. One that holds what the redactor takes out stands for the whole table.
func specs(redact *Redactor, list []string) []string {
	if len(list) == 0 {
		return []string{""}
	}
	out := make([]string, len(list))
	for i, spec := range list {
		if spec = text(spec); redact.Text(spec) == spec {
			out[i] = spec
		}
	}
	return out
}

func (r *recording) redactedAnalysis(a Analysis) *Analysis {
	a.Error = r.message(a.Error)
	a.Settings = settingsOf(a.Settings)
	a.PlanText = r.planText(a)
	a.Joins = slices.Clone(a.Joins)
	for i := range a.Joins {
		a.Joins[i] = storable(a.Joins[i], r.s.o.KeepLiterals, r.s.o.Redact)
	}
	a.Findings = r.findings(a.Findings)
	return &a
}

func (r *recording) findings(list []advisor.Finding) []advisor.Finding {
	list = slices.Clone(list)
	for i := range list {
		list[i] = r.finding(list[i])
	}
	return list
}

// altered reports whether the redactor changes the statement's text: it is then not the one to explain again.
func (r *recording) altered() bool {
	sql := r.o.Statement.SQL
	return r.o.Altered || r.s.o.Redact.Active() && r.s.o.Redact.Text(sql) != sql
}

// planText is empty unless it may be kept.
func (r *recording) planText(a Analysis) string {
	if !r.s.o.KeepLiterals {
		return ""
	}
	return r.s.o.Redact.Text(a.PlanText)
}

func (r *recording) finding(f advisor.Finding) advisor.Finding {
	redact := r.s.o.Redact
	f.Summary, f.Advice, f.Evidence = redact.Text(f.Summary), redact.Text(f.Advice), redact.evidence(f.Evidence)
	return f
}

// RedactedSession is s as UpsertSession and CloseSession keep it, without the handle's secret.
func RedactedSession(s intercept.Session, redact *Redactor) intercept.Session {
	s.Handle.Secret = [16]byte{}
	s.ClientName = redact.Text(s.ClientName)
	s.Configuration, s.Settings = redact.values(sessionMap(s.Configuration)), redact.values(sessionMap(s.Settings))
	return s
}

// storable is a copy of a verdict without what is not stored: a margin that is no number and, unless literals are kept,
// those in key expressions.
func storable(v advisor.JoinVerdict, keepLiterals bool, redact *Redactor) advisor.JoinVerdict {
	v.Join.Inputs = slices.Clone(v.Join.Inputs)
	if m := v.Decision.Margin; m != nil && (math.IsNaN(m.Factor) || math.IsInf(m.Factor, 0) || m.Factor <= 0) {
		v.Decision.Margin = nil
	}
	if keepLiterals && !redact.Active() {
		return v
	}
	for i := range v.Join.Inputs {
		keys := slices.Clone(v.Join.Inputs[i].Keys)
		for k := range keys {
			if !keepLiterals {
				keys[k].Expr = withoutQuoted(keys[k].Expr)
			}
			keys[k].Expr = redact.Text(keys[k].Expr)
		}
		v.Join.Inputs[i].Keys = keys
	}
	v.Decision.Reason, v.Decision.Uncertain = redact.Text(v.Decision.Reason), redact.all(v.Decision.Uncertain)
	return v
}
