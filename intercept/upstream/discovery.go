package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

const (
	// zkRetry is the pause after a list that could not be read.
	zkRetry = time.Second
	// zkDialTimeout bounds one connect to a ZooKeeper server; the next one is tried after it.
	zkDialTimeout = 3 * time.Second
	// zkMaxReply bounds what we read of ZooKeeper at once; its servers' own limit (jute.maxbuffer) is 1 MiB.
	zkMaxReply = 8 << 20
)

// discovery follows the children of a namespace in ZooKeeper and hands each list to its Set.
type discovery struct {
	set     *Set
	servers []string
	root    string
	tls     *tls.Config
	timeout time.Duration
	first   chan struct{} // closed when there was a list

	// complained are the znodes that the log has been told of; only follow touches it.
	complained map[string]bool

	mu struct {
		sync.Mutex
		state  Discovery
		listed bool     // ever
		empty  bool     // the last list was
		sound  bool     // this client has listed: its watches come back with its connection
		lost   bool     // reported
		conn   net.Conn // the latest
		// refused is why the latest connect failed, nil when it did not; the client's own errors do not tell.
		refused error
	}
}

func (d *discovery) current() Discovery {
	d.mu.Lock()
	defer d.mu.Unlock()
	state := d.mu.state
	if d.mu.refused != nil {
		state.Err = d.mu.refused
	}
	return state
}

// run holds one session after the other until ctx ends.
func (d *discovery) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := d.session(ctx); err != nil {
			d.failed(err)
			pause(ctx, zkRetry)
		}
	}
}

// session follows the namespace over one client, which reconnects and resumes by itself. It returns when the client has been
// without connection for as long as a session lives, or when ctx ends; nothing it started runs then. A new client forgets the
// transaction it has seen last, so that it can go on with a ZooKeeper that came back empty.
func (d *discovery) session(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	moved := make(chan struct{}, 1) // the client changed its state
	conn, events, err := zk.Connect(d.servers, d.timeout,
		zk.WithHostProvider(&hosts{}),
		zk.WithDialer(func(network, address string, _ time.Duration) (net.Conn, error) { return d.dial(ctx, network, address) }),
		zk.WithEventCallback(func(e zk.Event) {
			if e.Type == zk.EventSession {
				select {
				case moved <- struct{}{}:
				default:
				}
			}
		}),
		zk.WithLogger(quiet{d.set.opts.Log}), zk.WithLogInfo(false), zk.WithMaxBufferSize(zkMaxReply))
	if err != nil {
		return fmt.Errorf("set up the ZooKeeper client: %w", err)
	}
	var work sync.WaitGroup
	defer func() {
		cancel()
		conn.Close()
		d.hangUp()
		for range events { // closed by the client when nothing of it runs
		}
		work.Wait()
	}()
	d.mu.Lock()
	d.mu.sound = false
	d.mu.Unlock()
	work.Go(func() { d.follow(ctx, conn) })

	patience := max(d.timeout, time.Duration(len(d.servers))*zkDialTimeout)
	dead := time.NewTimer(patience)
	defer dead.Stop()
	connected := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-dead.C:
			return fmt.Errorf("no session for %s: %w", patience, zk.ErrNoServer)
		case <-moved:
		}
		if now := conn.State() == zk.StateHasSession; now != connected {
			connected = now
			d.connected(now)
			if dead.Stop(); !now {
				dead.Reset(patience)
			}
		}
	}
}

// follow reads the list and waits for its change, again and again. The client's calls end with the client.
func (d *discovery) follow(ctx context.Context, conn *zk.Conn) {
	for ctx.Err() == nil {
		servers, changed, err := d.read(conn)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			d.failed(err)
			pause(ctx, zkRetry)
			continue
		}
		d.set.update(servers)
		d.listed(len(servers))
		select {
		case <-ctx.Done():
		case <-changed: // also with the end of the session, on which watches end
		}
	}
}

// read lists the HiveServer2s and says when to list them again. A namespace that is not there yet holds none.
func (d *discovery) read(conn *zk.Conn) ([]Server, <-chan zk.Event, error) {
	names, _, changed, err := conn.ChildrenW(d.root)
	if errors.Is(err, zk.ErrNoNode) {
		var there bool
		if there, _, changed, err = conn.ExistsW(d.root); err == nil && there {
			return d.read(conn)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list %s: %w", d.root, err)
	}
	complained := map[string]bool{}
	type entry struct {
		Server
		sequence int64
	}
	latest := map[string]entry{} // by ID: after a crash a server is there twice until its old session expires
	for _, name := range names {
		if !registered(name) {
			continue
		}
		data, _, err := conn.Get(path.Join(d.root, name))
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read %s/%s: %w", d.root, name, err)
		}
		v, sequence, err := parseNode(name, string(data))
		if err != nil {
			complained[name] = true
			if !d.complained[name] {
				d.set.opts.Log.Warn().Str("znode", name).Err(err).Msg("this HiveServer2 cannot be used")
			}
			continue
		}
		if e, ok := latest[v.ID]; !ok || sequence > e.sequence {
			latest[v.ID] = entry{v, sequence}
		}
	}
	d.complained = complained
	servers := make([]Server, 0, len(latest))
	for _, e := range latest {
		servers = append(servers, e.Server)
	}
	slices.SortFunc(servers, func(a, b Server) int { return strings.Compare(a.ID, b.ID) })
	return servers, changed, nil
}

// listed notes a list that was read.
func (d *discovery) listed(n int) {
	d.mu.Lock()
	first, back, emptied := !d.mu.listed, d.mu.lost, n == 0 && !d.mu.empty
	d.mu.empty = n == 0
	d.mu.listed, d.mu.sound, d.mu.lost = true, true, false
	d.mu.state.ListedAt, d.mu.state.Err = d.set.opts.Now(), nil
	d.mu.Unlock()
	if emptied {
		d.set.opts.Log.Warn().Str("znode", d.root).Str("advice", "check hive.server2.support.dynamic.service.discovery and hive.server2.zookeeper.namespace").Msg("no HiveServer2 is registered in ZooKeeper")
	}
	if back {
		d.set.report(Change{Kind: Recovered})
	}
	if first {
		close(d.first)
	}
}

// failed notes why there is no list. ZooKeeper counts as lost from then on.
func (d *discovery) failed(err error) {
	d.mu.Lock()
	if d.mu.refused != nil {
		err = d.mu.refused
	}
	d.mu.state.Err = err
	told := d.mu.lost
	d.mu.lost = true
	d.mu.Unlock()
	if !told {
		d.set.report(Change{Kind: Lost, Err: err})
	}
}

// connected notes that there is a session, or that its connection was lost.
func (d *discovery) connected(now bool) {
	d.mu.Lock()
	d.mu.state.Connected, d.mu.state.Since = now, d.set.opts.Now()
	back := now && d.mu.sound && d.mu.lost
	if back {
		d.mu.state.Err, d.mu.lost = nil, false
	}
	d.mu.Unlock()
	switch {
	case back:
		d.set.report(Change{Kind: Recovered})
	case !now:
		d.failed(zk.ErrConnectionClosed)
	}
}

func (d *discovery) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, zkDialTimeout)
	defer cancel()
	conn, err := d.set.opts.Dial(ctx, network, address)
	if err == nil && d.tls != nil {
		cfg := d.tls.Clone()
		if cfg.ServerName == "" {
			cfg.ServerName, _, _ = net.SplitHostPort(address)
		}
		secure := tls.Client(conn, cfg)
		if err = secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
		}
		conn = secure
	}
	if err != nil {
		err = fmt.Errorf("connect to ZooKeeper %s: %w", address, err)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.mu.refused = err
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := ctx.Err(); err != nil { // hangUp may have looked already
		_ = conn.Close()
		return nil, fmt.Errorf("connect to ZooKeeper %s: %w", address, err)
	}
	d.mu.conn, d.mu.refused = conn, nil
	return conn, nil
}

// hangUp closes the client's connection: it may wait for an answer without a deadline of its own.
func (d *discovery) hangUp() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.conn != nil {
		_ = d.mu.conn.Close()
	}
}

func pause(ctx context.Context, wait time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(wait):
	}
}
