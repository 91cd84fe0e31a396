package intercept

import (
	"sync/atomic"

	"github.com/beltran/gohive/hiveserver"

	"github.com/hs2proxy/hs2proxy/thrift"
)

// Outcome is how HiveServer2 answered a call.
type Outcome uint8

// The outcomes. Only the replies of watched methods are read: an answer to another is OK unless it is an exception.
const (
	OutcomeOK        Outcome = iota // a result
	OutcomeRefused                  // a result whose status is an error, or an HTTP response without a result
	OutcomeException                // a TApplicationException
	outcomeCount
)

// String is the outcome as counters are labelled.
func (o Outcome) String() string {
	switch o {
	case OutcomeOK:
		return "ok"
	case OutcomeRefused:
		return "refused"
	case OutcomeException:
		return "exception"
	default:
		return "unknown"
	}
}

// CallStats counts the calls of one method. Calls that wait for their reply, that are one-way or whose connection ended first
// are in no outcome.
type CallStats struct {
	Method   thrift.Method
	Calls    int64
	Outcomes map[Outcome]int64
}

// traffic counts what every message changes. There are several, so that event loops on different processors do not take the memory
// from each other with each message.
type traffic struct {
	bytesFromClients, bytesFromServer atomic.Int64
	// calls and replies are by thrift.Method.
	calls   [256]atomic.Int64
	replies [outcomeCount][256]atomic.Int64
}

// allTraffic is all of them.
type allTraffic [8]traffic

// of is the one that belongs to a number: a loop's, or a connection's.
func (all *allTraffic) of(n int64) *traffic { return &all[n%int64(len(all))] }

// sum adds up one counter of each.
func (all *allTraffic) sum(counter func(*traffic) *atomic.Int64) (total int64) {
	for i := range all {
		total += counter(&all[i]).Load()
	}
	return total
}

// calls leaves out methods that were never called.
func (all *allTraffic) calls() []CallStats {
	var stats []CallStats
	for m := range all[0].calls {
		calls := all.sum(func(one *traffic) *atomic.Int64 { return &one.calls[m] })
		if calls == 0 {
			continue
		}
		s := CallStats{Method: thrift.Method(m), Calls: calls, Outcomes: map[Outcome]int64{}}
		for o := range outcomeCount {
			s.Outcomes[o] = all.sum(func(one *traffic) *atomic.Int64 { return &one.replies[o][m] })
		}
		stats = append(stats, s)
	}
	return stats
}

// outcomeOf reads a reply's status where there is one.
func outcomeOf(r thrift.Reply) Outcome {
	switch {
	case r.Exception:
		return OutcomeException
	case r.Result == nil && r.HTTPStatus >= 300:
		return OutcomeRefused
	}
	answer, ok := r.Result.(interface{ GetStatus() *hiveserver.TStatus })
	if !ok {
		return OutcomeOK
	}
	if status := answer.GetStatus(); status != nil && !succeeded(status) {
		return OutcomeRefused
	}
	return OutcomeOK
}

// Call counts the call and hands it on.
func (w *watcher) Call(call thrift.Call) any {
	w.relay.traffic.calls[call.Method].Add(1)
	return w.Connection.Call(call)
}

// Reply counts the reply and hands it on.
func (w *watcher) Reply(token any, r thrift.Reply) {
	w.relay.traffic.replies[outcomeOf(r)][r.Method].Add(1)
	w.Connection.Reply(token, r)
	if r.HTTPStatus != 0 {
		w.route(token, r)
		w.judged(r.HTTPStatus)
	}
}
