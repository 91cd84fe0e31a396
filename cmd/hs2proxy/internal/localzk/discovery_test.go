package localzk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/intercept/upstream"
)

const published = "hive.server2.instance.uri=%[1]s:%[2]d;hive.server2.authentication=NONE;hive.server2.transport.mode=all;" +
	"hive.server2.thrift.sasl.qop=auth;hive.server2.thrift.bind.host=%[1]s;hive.server2.thrift.port=%[2]d;" +
	"hive.server2.thrift.http.port=10001;hive.server2.thrift.http.path=cliservice;hive.server2.use.SSL=false"

// discover makes a Set that has read its first list.
func discover(t *testing.T, cfg upstream.ZKConfig, opts upstream.Options) (*upstream.Set, changes) {
	t.Helper()
	c := make(changes, 100)
	opts.OnChange = c.note
	opts.Log = zerolog.New(zerolog.NewTestWriter(t)).With().Timestamp().Logger()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	set, err := upstream.NewZooKeeper(ctx, cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	return set, c
}

// addresses are the candidates' for a transport, sorted.
func addresses(set *upstream.Set, transport upstream.Transport) string {
	var out []string
	for _, v := range set.Candidates(transport) {
		out = append(out, v.Address(transport))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func expect(t *testing.T, set *upstream.Set, transport upstream.Transport, want string) {
	t.Helper()
	if got := addresses(set, transport); got != want {
		t.Errorf("%s candidates %q, want %q", transport, got, want)
	}
}

func TestServersComeAndGo(t *testing.T) {
	server := start(t, t.TempDir(), 0)
	r := register(t, server.Address())
	set, c := discover(t, upstream.ZKConfig{Ensemble: server.Address()}, upstream.Options{})
	expect(t, set, upstream.Binary, "") // the namespace is not there yet
	r.namespace(t, "/hiveserver2")
	r.namespace(t, "/hiveserver2/leader")
	first := r.add(t, "hive-1.example.org:10000", fmt.Sprintf(published, "hive-1.example.org", 10000))
	if got := c.await(t, upstream.Joined).Server; got.ID != "hive-1.example.org:10000" || got.Published.Version != "4.0.1" || got.Published.TransportMode != "all" {
		t.Errorf("joined: %+v", got)
	}
	r.add(t, "hive-2.example.org:10000", "hive-2.example.org:10000")
	c.await(t, upstream.Joined)
	expect(t, set, upstream.Binary, "hive-1.example.org:10000 hive-2.example.org:10000")
	expect(t, set, upstream.HTTP, "hive-1.example.org:10001 hive-2.example.org:10000")

	old, ok := set.ByAddress(upstream.HTTP, "hive-1.example.org:10001")
	if !ok {
		t.Fatal("the first server is not found by its HTTP address")
	}
	old.Opened()
	// It restarts: its new registration is there before the old session has expired.
	second := r.add(t, "hive-1.example.org:10000", fmt.Sprintf(strings.Replace(published, "all", "binary", 1), "hive-1.example.org", 10000))
	c.await(t, upstream.Moved)
	r.remove(t, first)
	r.remove(t, second)
	if got := c.await(t, upstream.Left).Server; got.ID != old.ID || got.Open() != 1 {
		t.Errorf("left: %s with %d connections, want %s with the one it had", got.ID, got.Open(), old.ID)
	}
	expect(t, set, upstream.Binary, "hive-2.example.org:10000")
	if got, ok := set.ByID(old.ID); !ok || got.Listed() {
		t.Errorf("a session cannot go back to the server that left: %v, %v", got, ok)
	}
	old.Closed()
}

func TestZooKeeperAway(t *testing.T) {
	dir := t.TempDir()
	server := start(t, dir, 0)
	r := register(t, server.Address())
	r.namespace(t, "/hiveserver2")
	r.add(t, "hive-1.example.org:10000", "hive-1.example.org:10000")
	set, c := discover(t, upstream.ZKConfig{Ensemble: server.Address()}, upstream.Options{})
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	c.await(t, upstream.Lost)
	if d, ok := set.Discovery(); !ok || d.Connected || d.Err == nil {
		t.Errorf("while ZooKeeper is away: %+v, %v", d, ok)
	}
	expect(t, set, upstream.Binary, "hive-1.example.org:10000")

	start(t, dir, server.Port())
	c.await(t, upstream.Recovered)
	if d, _ := set.Discovery(); d.Err != nil {
		t.Errorf("ZooKeeper is back, but: %v", d.Err)
	}
	expect(t, set, upstream.Binary, "hive-1.example.org:10000")
	r.add(t, "hive-2.example.org:10000", "hive-2.example.org:10000")
	c.await(t, upstream.Joined)
	expect(t, set, upstream.Binary, "hive-1.example.org:10000 hive-2.example.org:10000")
}

// A ZooKeeper that lost its data refuses clients that have seen a later transaction.
func TestZooKeeperComesBackEmpty(t *testing.T) {
	server := start(t, t.TempDir(), 0)
	r := register(t, server.Address())
	r.namespace(t, "/hiveserver2")
	r.add(t, "hive-1.example.org:10000", "hive-1.example.org:10000")
	set, c := discover(t, upstream.ZKConfig{Ensemble: server.Address(), SessionTimeout: 2 * Tick}, upstream.Options{})
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	c.await(t, upstream.Lost)
	expect(t, set, upstream.Binary, "hive-1.example.org:10000")
	r.Close()
	start(t, t.TempDir(), server.Port())
	c.await(t, upstream.Left)
	anew := register(t, server.Address())
	anew.namespace(t, "/hiveserver2")
	anew.add(t, "hive-2.example.org:10000", "hive-2.example.org:10000")
	c.await(t, upstream.Joined)
	expect(t, set, upstream.Binary, "hive-2.example.org:10000")
}

// gate dials while it is open; closed, it cuts what it dialed.
type gate struct {
	mu    sync.Mutex
	shut  bool
	conns []net.Conn
}

var errShut = errors.New("the gate is shut")

func (g *gate) dial(ctx context.Context, network, address string) (net.Conn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return nil, errShut
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		g.conns = append(g.conns, conn)
	}
	return conn, err
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	if shut {
		for _, conn := range g.conns {
			_ = conn.Close()
		}
	}
}

// sessions of a ZooKeeper, as its dump lists them.
func sessions(t *testing.T, server *Server) int {
	t.Helper()
	said, err := server.Ask(t.Context(), "dump")
	if err != nil {
		t.Fatal(err)
	}
	tracked, _, _ := strings.Cut(said, "ephemeral nodes dump")
	return strings.Count(tracked, "\t0x")
}

func TestSessionExpires(t *testing.T) {
	server := start(t, t.TempDir(), 0)
	r := register(t, server.Address())
	r.namespace(t, "/hiveserver2")
	var g gate
	set, c := discover(t, upstream.ZKConfig{Ensemble: server.Address(), SessionTimeout: 2 * Tick}, upstream.Options{Dial: g.dial})
	if n := sessions(t, server); n != 2 {
		t.Fatalf("%d sessions, want the registrar's and the set's", n)
	}
	g.set(true)
	c.await(t, upstream.Lost)
	tick := time.NewTicker(Tick / 2)
	defer tick.Stop()
	for sessions(t, server) > 1 {
		<-tick.C
	}
	r.add(t, "hive-1.example.org:10000", "hive-1.example.org:10000")
	g.set(false)
	c.await(t, upstream.Joined)
	path := r.add(t, "hive-2.example.org:10000", "hive-2.example.org:10000")
	c.await(t, upstream.Joined)
	r.remove(t, path)
	c.await(t, upstream.Left)
	expect(t, set, upstream.Binary, "hive-1.example.org:10000")
}

func TestNoZooKeeper(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	refused := make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-refused
		<-refused // the first is known to the Set
		cancel()
	}()
	_, err = upstream.NewZooKeeper(ctx, upstream.ZKConfig{Ensemble: address}, upstream.Options{
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			refused <- struct{}{}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "/hiveserver2 in ZooKeeper "+address) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("error %v", err)
	}
}
