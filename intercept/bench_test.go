package intercept

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"
	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
)

// frameOf is a message in a frame of its own.
func frameOf(name string, kind athrift.TMessageType, content athrift.TStruct) []byte {
	ctx := context.Background()
	buffer := athrift.NewTMemoryBuffer()
	out := athrift.NewTBinaryProtocolConf(buffer, &athrift.TConfiguration{})
	if err := errors.Join(out.WriteMessageBegin(ctx, name, kind, 1), content.Write(ctx, out)); err != nil {
		panic(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(buffer.Len())), buffer.Bytes()...)
}

// benchmarkExchange repeats one call and its reply over TCP: directly, through a blind proxy of io.Copy, and through the relay.
// Server and client cost the same in all three, and next to nothing. The columns with × say how many times as long as directly,
// and as through io.Copy, an exchange took. All share one process, so a proxy of another process does not compare.
func benchmarkExchange(b *testing.B, call, reply []byte) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var work sync.WaitGroup
	defer work.Wait()
	defer func() { _ = server.Close() }()
	work.Go(func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			work.Go(func() { answerAll(conn, len(call), reply) })
		}
	})
	addr := server.Addr().String()
	took := map[string]float64{} // by proxy: the latest line, nanoseconds an exchange
	run := func(name, through string) {
		b.Run(name, func(b *testing.B) {
			exchanges(b, through, call, len(reply))
			own := float64(b.Elapsed()) / float64(b.N)
			for other, its := range took {
				if other != name && other != "relay" && name != "direct" {
					b.ReportMetric(own/its, "×"+other)
				}
			}
			took[name] = own
		})
	}
	run("direct", addr)

	copier, err := newCopier(addr)
	if err != nil {
		b.Fatal(err)
	}
	run("io.Copy", copier.addr())
	copier.close()

	proxy, err := NewServer(Config{Address: addr}, NewTracker(TrackerConfig{}, NewQueue(1)), zerolog.Nop())
	if err != nil {
		b.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	work.Go(func() { _ = proxy.Serve(context.Background(), ln) })
	run("relay", ln.Addr().String())
	if err := proxy.Shutdown(context.Background()); err != nil {
		b.Fatal(err)
	}
	if stats := proxy.Stats(); len(stats.Blind) > 0 {
		b.Fatalf("blind: %v", stats.Blind)
	}
}

// answerAll logs a client in and sends reply for each call of the given length.
func answerAll(conn net.Conn, call int, reply []byte) {
	defer func() { _ = conn.Close() }()
	in := make([]byte, max(call, 64))
	if _, err := io.ReadFull(conn, in[:len(hs2test.Plain("bi", "x"))]); err != nil {
		return
	}
	if _, err := conn.Write([]byte{5, 0, 0, 0, 0}); err != nil {
		return
	}
	for {
		if _, err := io.ReadFull(conn, in[:call]); err != nil {
			return
		}
		if _, err := conn.Write(reply); err != nil {
			return
		}
	}
}

func exchanges(b *testing.B, addr string, call []byte, reply int) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := hs2test.Login(conn, "bi", "x"); err != nil {
		b.Fatal(err)
	}
	in := make([]byte, reply)
	b.SetBytes(int64(len(call) + reply))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := conn.Write(call); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(conn, in); err != nil {
			b.Fatal(err)
		}
	}
}

// copier is the blind proxy to compare with.
type copier struct {
	listener net.Listener
	work     sync.WaitGroup
}

func newCopier(upstream string) (*copier, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &copier{listener: listener}
	c.work.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", upstream)
			if err != nil {
				panic(err)
			}
			for _, way := range [][2]net.Conn{{server, client}, {client, server}} {
				c.work.Go(func() {
					_, _ = io.Copy(way[0], way[1])
					_ = way[0].Close()
				})
			}
		}
	})
	return c, nil
}

func (c *copier) addr() string { return c.listener.Addr().String() }

func (c *copier) close() {
	_ = c.listener.Close()
	c.work.Wait()
}

func BenchmarkRelaySmall(b *testing.B) {
	name := "Apache Hive"
	benchmarkExchange(b,
		frameOf("GetInfo", athrift.CALL, &hiveserver.TCLIServiceGetInfoArgs{Req: &hiveserver.TGetInfoReq{SessionHandle: aSession('A')}}),
		frameOf("GetInfo", athrift.REPLY, &hiveserver.TCLIServiceGetInfoResult{Success: &hiveserver.TGetInfoResp{
			Status: good(), InfoValue: &hiveserver.TGetInfoValue{StringValue: &name},
		}}))
}

func BenchmarkRelayStatement(b *testing.B) {
	benchmarkExchange(b,
		frameOf("ExecuteStatement", athrift.CALL, &hiveserver.TCLIServiceExecuteStatementArgs{Req: &hiveserver.TExecuteStatementReq{
			SessionHandle: aSession('A'), Statement: "select a.x, b.y from a join b on a.id = b.id where a.day = '2024-02-29'",
		}}),
		frameOf("ExecuteStatement", athrift.REPLY, &hiveserver.TCLIServiceExecuteStatementResult{Success: started('o')}))
}

func BenchmarkRelayBulk(b *testing.B) {
	labels := make([]string, 10_000)
	for i := range labels {
		labels[i] = strings.Repeat("x", 96)
	}
	benchmarkExchange(b,
		frameOf("FetchResults", athrift.CALL, &hiveserver.TCLIServiceFetchResultsArgs{Req: &hiveserver.TFetchResultsReq{OperationHandle: anOperation('o')}}),
		frameOf("FetchResults", athrift.REPLY, &hiveserver.TCLIServiceFetchResultsResult{Success: &hiveserver.TFetchResultsResp{
			Status: good(), Results: &hiveserver.TRowSet{Rows: []*hiveserver.TRow{}, Columns: []*hiveserver.TColumn{
				{StringVal: &hiveserver.TStringColumn{Values: labels, Nulls: []byte{}}},
			}},
		}}))
}
