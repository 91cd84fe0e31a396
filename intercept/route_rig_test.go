package intercept_test

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/beltran/gohive/hiveserver"

	athrift "github.com/apache/thrift/lib/go/thrift"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
	"github.com/hs2proxy/hs2proxy/intercept/upstream"
)

// fleet is a proxy in front of several HiveServer2s that speak HTTP, named a, b, c by their place.
type fleet struct {
	*proxied
	set *upstream.Set
}

func newFleet(t *testing.T, addresses ...string) *fleet {
	t.Helper()
	set, err := upstream.NewStatic(servers(addresses...), upstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	return &fleet{newProxy(t, "", intercept.Config{Servers: set}), set}
}

func servers(addresses ...string) (list []upstream.Server) {
	for i, address := range addresses {
		list = append(list, upstream.Server{ID: string(rune('a' + i)), HTTP: address})
	}
	return list
}

// open is how many connections to a server there are.
func (f *fleet) open(id string) int64 {
	server, ok := f.set.ByID(id)
	if !ok {
		return -1
	}
	return server.Open()
}

// newFakes are n fakes that speak HTTP.
func newFakes(t *testing.T, n int, cfg hs2test.Config) (fakes []*hs2test.Server, addresses []string) {
	t.Helper()
	cfg.HTTP = true
	for range n {
		fake := newHive(t, cfg)
		fakes, addresses = append(fakes, fake), append(addresses, fake.Addr())
	}
	return fakes, addresses
}

// taped is a fleet of tapes, with one client whose connection every tape's other end is known of.
type taped struct {
	*fleet
	tapes  []*tape
	client *net.TCPConn
	ends   []*net.TCPConn
}

// newTaped opens a session on each of n tapes, by the names a, b, c, all through the same client's connection.
func newTaped(t *testing.T, n int) *taped {
	t.Helper()
	f := &taped{}
	var addresses []string
	for range n {
		f.tapes = append(f.tapes, newTape(t))
		addresses = append(addresses, f.tapes[len(f.tapes)-1].addr)
	}
	f.fleet = newFleet(t, addresses...)
	// A session is opened where the fewest connections are: one connection for each server.
	for range n {
		client := dial(t, f.addr)
		setDeadline(t, client)
		if _, err := client.Write(posted(openCall(1))); err != nil {
			t.Fatal(err)
		}
		i, end := f.accept(t)
		pass(t, client, end, answers(answered(sessionReply(1, byte('a'+i)))))
	}
	f.client = dial(t, f.addr)
	setDeadline(t, f.client)
	for i := range n {
		call := posted(sessionCall(1, byte('a'+i)))
		if _, err := f.client.Write(call); err != nil {
			t.Fatal(err)
		}
		f.ends = append(f.ends, f.at(t, i))
		hears(t, f.ends[i], call)
		pass(t, f.client, f.ends[i], answers(answered(infoReply(1))))
	}
	return f
}

// accept is the next connection at any of the tapes, with what an OpenSession takes read from it.
func (f *taped) accept(t *testing.T) (int, *net.TCPConn) {
	t.Helper()
	var found int
	var end *net.TCPConn
	eventually(t, "a connection", func() bool {
		for i, tape := range f.tapes {
			select {
			case end = <-tape.conns:
				found = i
				return true
			default:
			}
		}
		return false
	})
	f.own(t, end)
	hears(t, end, posted(openCall(1)))
	return found, end
}

// at is the next connection at a tape.
func (f *taped) at(t *testing.T, i int) *net.TCPConn {
	t.Helper()
	select {
	case end := <-f.tapes[i].conns:
		f.own(t, end)
		return end
	case <-time.After(hang):
		t.Fatalf("no connection to server %c", 'a'+i)
		return nil
	}
}

func (f *taped) own(t *testing.T, end *net.TCPConn) {
	t.Helper()
	t.Cleanup(func() { _ = end.Close() })
	setDeadline(t, end)
}

// hears reads exactly what was said.
func hears(t *testing.T, conn net.Conn, said []byte) {
	t.Helper()
	got := make([]byte, len(said))
	if n, err := io.ReadFull(conn, got); err != nil || string(got) != string(said) {
		t.Fatalf("%d of %d bytes arrived: %.200q, %v", n, len(said), got[:n], err)
	}
}

// posted and answered are messages as requests and responses.
func posted(m []byte) []byte   { return transports()[2].call(m).data }
func answered(m []byte) []byte { return transports()[2].reply(m).data }

func sessionReply(seq int32, name byte) []byte {
	return message("OpenSession", athrift.REPLY, seq, &hiveserver.TCLIServiceOpenSessionResult{Success: &hiveserver.TOpenSessionResp{
		Status: good(), ServerProtocolVersion: hiveserver.TProtocolVersion_HIVE_CLI_SERVICE_PROTOCOL_V10,
		SessionHandle: &hiveserver.TSessionHandle{SessionId: handle(name)},
	}})
}

// sessionCall is a call in a session.
func sessionCall(seq int32, name byte) []byte {
	return message("GetInfo", athrift.CALL, seq, &hiveserver.TCLIServiceGetInfoArgs{Req: &hiveserver.TGetInfoReq{
		SessionHandle: &hiveserver.TSessionHandle{SessionId: handle(name)},
	}})
}

func infoReply(seq int32) []byte {
	value := "Apache Hive"
	return message("GetInfo", athrift.REPLY, seq, &hiveserver.TCLIServiceGetInfoResult{Success: &hiveserver.TGetInfoResp{
		Status: good(), InfoValue: &hiveserver.TGetInfoValue{StringValue: &value},
	}})
}

// slowly says everything byte by byte.
type slowly struct{ net.Conn }

func (c slowly) Write(b []byte) (n int, err error) {
	for i := range b {
		k, one := c.Conn.Write(b[i : i+1])
		n, err = n+k, errors.Join(err, one)
	}
	return n, err
}
