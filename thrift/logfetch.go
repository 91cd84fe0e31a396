package thrift

import (
	"bytes"

	athrift "github.com/apache/thrift/lib/go/thrift"
)

// fetchLog is TFetchResultsReq.fetchType of a fetch from the operation's log; 0, the default, fetches rows.
const fetchLog = 1

const (
	// logCopy bounds the copy of a log fetch's reply, in bytes. Clients ask for 1,000 lines at most, and a query's counters are
	// some hundred lines at the end of its log.
	logCopy = 256 << 10
	// keptCounters bounds what is kept of one reply, in bytes: some 1,500 operators.
	keptCounters = 64 << 10
)

// counterName begins the names of the counters that Hive's operators keep of their output rows (Operator.Counter, and the operator's
// identifier behind it).
var counterName = []byte("RECORDS_OUT_OPERATOR_")

// LogFetch is a FetchResults call that asks for lines of an operation's log. Its reply is copied and searched where the observer
// returns a token for it.
type LogFetch struct {
	Operation GUID
}

// OperatorCounters are what a log fetch's reply tells of operators, a line each: "RECORDS_OUT_OPERATOR_TS_0: 25". TezTask logs them at
// a query's end with hive.tez.exec.print.summary. Nothing else of a log is kept.
type OperatorCounters string

// fetchesLog reports whether the message whose header is in s.head is a FetchResults call, which may ask for a log, or the
// reply to one that did.
func (s *Stream) fetchesLog() bool {
	if s.head.method != FetchResults {
		return false
	}
	if s.side == Client {
		long := s.phase == phaseFramed && s.frame.size > int64(s.conn.limits.WalkBytes) // no client's
		return s.head.typ == typeCall && !long
	}
	w := s.answered()
	return s.head.typ == typeReply && w != nil && w.log
}

// answered is the call that a reply is to, nil without one.
func (s *Stream) answered() *waiting {
	if s.phase == phaseHTTP {
		return &s.conn.http.answered.waiting
	}
	return s.conn.calls.peek()
}

// logFetch reads the arguments of FetchResults: a *LogFetch, or nil for rows. It is false for bytes it does not know.
func logFetch(body []byte) (content any, ok bool) {
	f := &fields{b: body}
	if key, _ := f.next(); key != fieldStruct|1 {
		return nil, false
	}
	var id GUID
	log := false
	for key, more := f.next(); more; key, more = f.next() {
		switch key {
		case fieldStruct | 1:
			id = f.operationGUID()
		case fieldI32 | 2: // orientation
			f.i32()
		case fieldI64 | 3: // rows
			f.i64()
		case field(athrift.I16)<<16 | 4:
			b := f.take(2)
			log = b != nil && b[0] == 0 && b[1] == fetchLog
		default:
			f.unknown()
		}
	}
	switch {
	case f.whole(f) == nil:
		return nil, false
	case !log:
		return nil, true
	default:
		return &LogFetch{Operation: id}, true
	}
}

// operationGUID reads a TOperationHandle for its GUID alone.
func (f *fields) operationGUID() (id GUID) {
	for key, more := f.next(); more; key, more = f.next() {
		switch key {
		case fieldStruct | 1:
			for key, more := f.next(); more; key, more = f.next() {
				b := f.raw()
				switch {
				case key == fieldString|1 && len(b) == len(id):
					copy(id[:], b)
				case key != fieldString|2:
					f.unknown()
				}
			}
		case fieldI32 | 2:
			f.i32()
		case fieldBool | 3:
			f.boolean()
		case fieldDouble | 4:
			f.double()
		default:
			f.unknown()
		}
	}
	return id
}

// operatorCounters finds the counters in a log fetch's reply, whose lines stand in it as strings or rows of strings; nil without
// any. A line that the end of the copy may have cut is left out.
func operatorCounters(body []byte) any {
	var found []byte
	for {
		at := bytes.Index(body, counterName)
		if at < 0 {
			break
		}
		indented := at > 0 && body[at-1] == ' '
		n := counterLine(body[at:])
		if n > 0 && indented && len(found)+n < keptCounters {
			if found != nil {
				found = append(found, '\n')
			}
			found = append(found, body[at:at+n]...)
		}
		body = body[at+max(n, len(counterName)):]
	}
	if found == nil {
		return nil
	}
	return OperatorCounters(found)
}

// counterLine is how long the counter is that b begins with: a name, ": " and digits to the end of the line, or of the string:
// another's length, or a field's end, begins with a zero. It is 0 where there is none.
func counterLine(b []byte) int {
	n := len(counterName)
	for n < len(b) && (b[n] == '_' || 'A' <= b[n] && b[n] <= 'Z' || 'a' <= b[n] && b[n] <= 'z' || isDigit(b[n])) {
		n++
	}
	if n == len(counterName) || n > 200 || !bytes.HasPrefix(b[n:], []byte(": ")) {
		return 0
	}
	n += 2
	first := n
	for n < len(b) && isDigit(b[n]) {
		n++
	}
	if n == first || n-first > 19 || n == len(b) || b[n] >= ' ' {
		return 0
	}
	return n
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
