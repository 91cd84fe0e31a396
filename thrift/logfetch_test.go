package thrift

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/beltran/gohive/hiveserver"
)

// summary is the end of a query's log as Beeline shows it with hive.tez.exec.print.summary.
var summary = []string{
	"INFO  : HIVE:",
	"INFO  :    CREATED_FILES: 1",
	"INFO  :    RECORDS_IN_Map_1: 98911960",
	"INFO  :    RECORDS_OUT_0: 1",
	"INFO  :    RECORDS_OUT_INTERMEDIATE_Map_1: 7",
	"INFO  :    RECORDS_OUT_OPERATOR_FS_11: 1",
	"INFO  :    RECORDS_OUT_OPERATOR_GBY_10: 1",
	"INFO  :    RECORDS_OUT_OPERATOR_TS_0: 98914484",
	"INFO  : org.apache.hadoop.hive.ql.exec.tez.HiveInputCounters:",
}

const summed = OperatorCounters("RECORDS_OUT_OPERATOR_FS_11: 1\nRECORDS_OUT_OPERATOR_GBY_10: 1\nRECORDS_OUT_OPERATOR_TS_0: 98914484")

func fetchOf(seq int32, kind int16) []byte {
	return call("FetchResults", seq, &hiveserver.TCLIServiceFetchResultsArgs{Req: &hiveserver.TFetchResultsReq{
		OperationHandle: operationHandle(), Orientation: hiveserver.TFetchOrientation_FETCH_NEXT, MaxRows: 1000, FetchType: kind,
	}})
}

func lines(seq int32, text ...string) []byte {
	return reply("FetchResults", seq, &hiveserver.TCLIServiceFetchResultsResult{Success: &hiveserver.TFetchResultsResp{
		Status: ok(), Results: &hiveserver.TRowSet{Rows: []*hiveserver.TRow{}, Columns: []*hiveserver.TColumn{
			{StringVal: &hiveserver.TStringColumn{Values: text, Nulls: []byte{}}},
		}},
	}})
}

// rowLines is the form of protocol V5 and below, as PyHive and impyla of old get it.
func rowLines(seq int32, text ...string) []byte {
	var rows []*hiveserver.TRow
	for _, line := range text {
		rows = append(rows, &hiveserver.TRow{ColVals: []*hiveserver.TColumnValue{{StringVal: &hiveserver.TStringValue{Value: &line}}}})
	}
	return reply("FetchResults", seq, &hiveserver.TCLIServiceFetchResultsResult{Success: &hiveserver.TFetchResultsResp{
		Status: ok(), Results: &hiveserver.TRowSet{Rows: rows},
	}})
}

// TestLogFetch: counters are found in the replies to fetches from a log, on every transport and however the reads cut them; what a
// query returns is never looked at.
func TestLogFetch(t *testing.T) {
	long := append(slices.Repeat([]string{strings.Repeat("INFO  : Map 1: 3/5 ", 40)}, 200), summary...)
	exchanges := []struct {
		name        string
		call, reply []byte
		log         bool
		want        any
	}{
		{"columns", fetchOf(1, 1), lines(1, summary...), true, summed},
		{"rows", fetchOf(1, 1), rowLines(1, summary...), true, summed},
		{"one text", fetchOf(1, 1), lines(1, strings.Join(summary, "\n")), true, summed},
		{"more than a frame is walked for", fetchOf(1, 1), lines(1, long...), true, summed},
		{"nothing of use", fetchOf(1, 1), lines(1, summary[:4]...), true, nil},
		{"no lines", fetchOf(1, 1), lines(1), true, nil},
		{"a task's own figures", fetchOf(1, 1), lines(1, "INFO  : RECORDS_OUT_INTERMEDIATE:0, RECORDS_OUT_OPERATOR_TS_0:1, "), true, nil},
		{"no number", fetchOf(1, 1), lines(1, " RECORDS_OUT_OPERATOR_TS_0: many", " RECORDS_OUT_OPERATOR_: 1", " RECORDS_OUT_OPERATOR_TS_0: 1 "), true, nil},
		{"exception", fetchOf(1, 1), exception("FetchResults", 1), true, nil},
		{"rows of a query", fetchOf(1, 0), lines(1, summary...), false, nil},
		{"another kind", fetchOf(1, 2), lines(1, summary...), false, nil},
	}
	carriers := map[string]func(call, reply []byte) []segment{
		"SASL": func(call, reply []byte) []segment {
			return []segment{opening(), complete, fromClient(frames(call)), fromServer(frames(reply))}
		},
		"bare": func(call, reply []byte) []segment { return []segment{fromClient(call), fromServer(reply)} },
		"in parts": func(call, reply []byte) []segment {
			return []segment{opening(), complete, fromClient(frames(split(call, 50)...)), fromServer(frames(split(reply, 900)...))}
		},
		"HTTP": func(call, reply []byte) []segment {
			return []segment{fromClient(post(call)), fromServer(chunked("HTTP/1.1 200 OK", reply, 700, isThrift))}
		},
		"gzip": func(call, reply []byte) []segment {
			return []segment{fromClient(post(call)), fromServer(chunked("HTTP/1.1 200 OK", compressed(codingGzip, reply), 700, isThrift, "Content-Encoding: gzip"))}
		},
	}
	for carrier, carry := range carriers {
		for _, x := range exchanges {
			for _, size := range readSizes {
				for _, skip := range []bool{false, true} {
					var seen recorder
					c := NewConn(Limits{}, &seen)
					if err := play(t, c, size, skip, carry(x.call, x.reply)...); err != nil {
						t.Fatal(err)
					}
					name := fmt.Sprintf("%s, %s, reads of %d", carrier, x.name, size)
					if len(seen.calls) != 1 || len(seen.reply) != 1 || c.Blind() != NotBlind {
						t.Fatalf("%s: observed %q, blind %s", name, seen.events, c.Blind())
					}
					asked, log := seen.calls[0].Request.(*LogFetch)
					if log != x.log || log && asked.Operation != GUID(bytes.Repeat([]byte{'O'}, 16)) {
						t.Errorf("%s: call %+v", name, seen.calls[0].Request)
					}
					if seen.reply[0].Result != x.want {
						t.Errorf("%s: reply %q, wanted %q", name, seen.reply[0].Result, x.want)
					}
				}
			}
		}
	}
}

// TestLogFetchBounds: of a long log the beginning is searched, and a number that the bound cuts does not count.
func TestLogFetchBounds(t *testing.T) {
	for cut := range 30 {
		var seen recorder
		c := NewConn(Limits{CopyBytes: 4000 + cut}, &seen)
		text := []string{strings.Repeat("x", 3900), " RECORDS_OUT_OPERATOR_A_1: 123456", strings.Repeat("y", 4000), summary[5]}
		if err := play(t, c, 1460, true, opening(), complete, fromClient(frames(fetchOf(1, 1))), fromServer(frames(lines(1, text...)))); err != nil {
			t.Fatal(err)
		}
		r := seen.reply[0]
		if got := r.Result; !r.Truncated || got != nil && got != OperatorCounters("RECORDS_OUT_OPERATOR_A_1: 123456") {
			t.Errorf("copy of %d: %q, truncated %t", 4000+cut, got, r.Truncated)
		}
	}
	many := operatorCounters([]byte(strings.Repeat(" RECORDS_OUT_OPERATOR_SEL_123456: 123456789\n", 10_000)))
	if n := len(many.(OperatorCounters)); n > keptCounters || n < keptCounters-100 {
		t.Errorf("%d bytes kept", n)
	}
}

// unasked wants no reply.
type unasked struct{ recorder }

func (u *unasked) Call(c Call) any {
	u.recorder.Call(c)
	return nil
}

// TestLogFetchUnasked: a reply that the observer has no use for is not copied.
func TestLogFetchUnasked(t *testing.T) {
	for _, carry := range []func(call, reply []byte) []segment{
		func(call, reply []byte) []segment {
			return []segment{opening(), complete, fromClient(frames(call)), fromServer(frames(reply))}
		},
		func(call, reply []byte) []segment {
			return []segment{fromClient(post(call)), fromServer(chunked("HTTP/1.1 200 OK", reply, 700, isThrift))}
		},
	} {
		var seen unasked
		if err := play(t, NewConn(Limits{}, &seen), 1460, false, carry(fetchOf(1, 1), lines(1, summary...))...); err != nil {
			t.Fatal(err)
		}
		if len(seen.reply) != 1 || seen.reply[0].Result != nil {
			t.Errorf("observed %q", seen.events)
		}
	}
}

// FuzzLogFetch: no bytes make the readers panic, and what is kept of a reply are whole lines of it.
func FuzzLogFetch(f *testing.F) {
	for _, m := range [][]byte{fetchOf(1, 1), fetch(1), lines(1, summary...), rowLines(1, summary...)} {
		_, n := headerOf(m)
		f.Add(m[n:])
	}
	f.Add([]byte(" RECORDS_OUT_OPERATOR_RECORDS_OUT_OPERATOR_A_1: 1\n RECORDS_OUT_OPERATOR_A_1: 1"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if content, ok := logFetch(body); content != nil && !ok {
			t.Fatal("a fetch of odd bytes")
		}
		kept, _ := operatorCounters(body).(OperatorCounters)
		for line := range strings.Lines(string(kept)) {
			line = strings.TrimSuffix(line, "\n")
			at := bytes.Index(body, []byte(" "+line))
			if at < 0 || !strings.HasPrefix(line, string(counterName)) || counterLine(append([]byte(line), 0)) != len(line) {
				t.Fatalf("kept %q", line)
			}
		}
	})
}
