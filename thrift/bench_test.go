package thrift

import (
	"slices"
	"testing"
)

// silent is an Observer that keeps nothing.
type silent struct{}

func (silent) Login(Login)                      {}
func (silent) Call(Call) any                    { return nil }
func (silent) Reply(any, Reply)                 {}
func (silent) Blind(BlindReason)                {}
func (silent) DecodeFailed(Side, Method, error) {}

// BenchmarkFeed measures what following costs per exchange of a call and its reply.
func BenchmarkFeed(b *testing.B) {
	for _, tc := range []struct {
		name        string
		call, reply []byte
	}{
		{"GetInfo", frames(getInfo(1)), frames(gotInfo(1))},
		{"ExecuteStatement", frames(execute(1, "select 1")), frames(executed(1))},
		{"Fetch100", frames(fetch(1)), frames(fetched(1, 100, 80))},
		{"Fetch10000", frames(fetch(1)), frames(fetched(1, 10000, 80))},
	} {
		b.Run(tc.name, func(b *testing.B) {
			c := NewConn(Limits{}, silent{})
			if err := play(b, c, 64<<10, false, opening(), complete); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.SetBytes(int64(len(tc.call) + len(tc.reply)))
			for b.Loop() {
				if err := feed(c.Stream(Client), tc.call, 64<<10, false); err != nil {
					b.Fatal(err)
				}
				if err := feed(c.Stream(HiveServer2), tc.reply, 64<<10, false); err != nil {
					b.Fatal(err)
				}
			}
			if c.Blind() != NotBlind {
				b.Fatal(c.Blind())
			}
		})
	}
}

// TestNoAllocation: a call that is not watched, and its reply, cost no allocation.
func TestNoAllocation(t *testing.T) {
	c := NewConn(Limits{}, silent{})
	if err := play(t, c, 64<<10, false, opening(), complete); err != nil {
		t.Fatal(err)
	}
	exchange := []segment{
		fromClient(frames(getInfo(1))), fromServer(frames(gotInfo(1))),
		fromClient(frames(fetch(2))), fromServer(frames(fetched(2, 5000, 50))),
	}
	got := testing.AllocsPerRun(100, func() {
		for _, s := range exchange {
			if err := feed(c.Stream(s.side), s.bytes, 64<<10, false); err != nil {
				t.Fatal(err)
			}
		}
	})
	if got != 0 || c.Blind() != NotBlind {
		t.Errorf("%g allocations, blind %s", got, c.Blind())
	}
}

// BenchmarkHTTP measures what following costs per request and response, with the heads of Hive JDBC and HiveServer2.
func BenchmarkHTTP(b *testing.B) {
	headers := []string{
		isThrift, "Accept: application/x-thrift", "User-Agent: Java/THttpClient/HC", "Connection: Keep-Alive",
		"Cookie: hive.server2.auth=cu=bi&rn=930396350425440122&s=c2lnbmF0dXJl", "Accept-Encoding: gzip,deflate", "X-XSRF-HEADER: true",
	}
	answered := []string{"Date: Mon, 30 Nov 2026 22:54:16 GMT", isThrift, "Vary: Accept-Encoding, User-Agent", "Server: Jetty(9.4.51.v20230217)"}
	zipped := append(slices.Clone(answered), "Content-Encoding: gzip")
	const first = "HTTP/1.1 200 OK"
	for _, tc := range []struct {
		name        string
		call, reply []byte
	}{
		{"GetInfo", post(getInfo(1), headers...), chunked(first, gotInfo(1), 32<<10, answered...)},
		{"GetInfoGzip", post(getInfo(1), headers...), chunked(first, compressed(codingGzip, gotInfo(1)), 32<<10, zipped...)},
		{"ExecuteStatement", post(execute(1, "select 1"), headers...), chunked(first, executed(1), 32<<10, answered...)},
		{"ExecuteStatementGzip", post(execute(1, "select 1"), headers...), chunked(first, compressed(codingGzip, executed(1)), 32<<10, zipped...)},
		{"Fetch10000", post(fetch(1), headers...), chunked(first, fetched(1, 10000, 80), 32<<10, answered...)},
	} {
		b.Run(tc.name, func(b *testing.B) {
			c := NewConn(Limits{}, silent{})
			b.ReportAllocs()
			b.SetBytes(int64(len(tc.call) + len(tc.reply)))
			for b.Loop() {
				if err := feed(c.Stream(Client), tc.call, 64<<10, false); err != nil {
					b.Fatal(err)
				}
				if err := feed(c.Stream(HiveServer2), tc.reply, 64<<10, false); err != nil {
					b.Fatal(err)
				}
			}
			if c.Blind() != NotBlind {
				b.Fatal(c.Blind())
			}
		})
	}
}

func BenchmarkWalker(b *testing.B) {
	m := fetched(1, 1000, 80)
	_, n := headerOf(m)
	body := slices.Clone(m[n:])
	var w walker
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		w.start(1 << 30)
		if _, done, err := w.feed(body); !done || err != nil {
			b.Fatal(done, err)
		}
	}
}
