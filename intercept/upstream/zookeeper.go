package upstream

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path"
	"strings"
	"time"
)

// Defaults of ZKConfig.
const (
	DefaultNamespace      = "hiveserver2" // hive.server2.zookeeper.namespace
	DefaultSessionTimeout = 10 * time.Second
	zkPort                = "2181" // hive.zookeeper.client.port
)

// ZKConfig says where HiveServer2s register. A zero field stands for its default, except Ensemble.
type ZKConfig struct {
	// Ensemble is ZooKeeper's servers as in hive.zookeeper.quorum: host[:port][,host[:port]…], and at its end a /path if the
	// whole tree is below one.
	Ensemble string
	// Namespace is hive.server2.zookeeper.namespace.
	Namespace string
	// SessionTimeout is asked of ZooKeeper, which limits it to between 2 and 20 of its ticks. A connection that is silent for two
	// thirds of it is given up, and after a whole one without connection we start a new session.
	SessionTimeout time.Duration
	// TLS, when set, is used to ZooKeeper (hive.zookeeper.ssl.client.enable); an empty ServerName stands for the server's host.
	TLS *tls.Config
}

// Discovery is the state of the connection to ZooKeeper.
type Discovery struct {
	// Connected: there is a session. Since is when that became so, or ceased to be.
	Connected bool
	Since     time.Time
	// ListedAt is when the list was last read; Err is why it could not be read after that.
	ListedAt time.Time
	Err      error
}

// Validate names the first field that cannot be used, its value and what would be right.
func (c ZKConfig) Validate() error {
	_, _, err := c.parse()
	return err
}

// parse returns the ensemble's host:port pairs and the znode of the namespace.
func (c ZKConfig) parse() (servers []string, root string, err error) {
	ensemble, chroot, _ := strings.Cut(c.Ensemble, "/")
	for s := range strings.SplitSeq(ensemble, ",") {
		s = strings.TrimSpace(s)
		if s == "" {
			continue
		}
		host, port, err := net.SplitHostPort(s)
		if err != nil {
			host, port = strings.Trim(s, "[]"), zkPort
		}
		if host == "" || port == "" || strings.ContainsAny(host, " ;=") {
			return nil, "", fmt.Errorf("ZooKeeper server %q: must be host or host:port", s)
		}
		servers = append(servers, net.JoinHostPort(host, port))
	}
	if len(servers) == 0 {
		return nil, "", errors.New("ZooKeeper ensemble: must be host:port of each of its servers, separated by commas")
	}
	if c.SessionTimeout < 0 {
		return nil, "", fmt.Errorf("ZooKeeper session timeout %s: must not be negative", c.SessionTimeout)
	}
	namespace := strings.Trim(cmp.Or(c.Namespace, DefaultNamespace), "/")
	if namespace == "" {
		return nil, "", fmt.Errorf("ZooKeeper namespace %q: must be a znode such as %s", c.Namespace, DefaultNamespace)
	}
	return servers, path.Join("/", chroot, namespace), nil
}

// NewZooKeeper makes a Set of the HiveServer2s registered in ZooKeeper and follows their coming and going until Close. It waits
// for the first list, which may be empty; when ctx ends before, nothing of the Set is left and the error says what was wrong last.
// While ZooKeeper is away later, the list stays as it was.
func NewZooKeeper(ctx context.Context, cfg ZKConfig, opts Options) (*Set, error) {
	servers, root, err := cfg.parse()
	if err != nil {
		return nil, err
	}
	s, life, err := newSet(opts)
	if err != nil {
		return nil, err
	}
	d := &discovery{
		set: s, servers: servers, root: root, tls: cfg.TLS,
		timeout: cmp.Or(cfg.SessionTimeout, DefaultSessionTimeout),
		first:   make(chan struct{}),
	}
	d.mu.state.Since = s.opts.Now()
	s.discovery = d
	s.work.Go(func() { d.run(life) })
	select {
	case <-d.first:
		return s, nil
	case <-ctx.Done():
		err := ctx.Err()
		if last := d.current().Err; last != nil {
			err = fmt.Errorf("%w (last: %w)", err, last)
		}
		_ = s.Close()
		return nil, fmt.Errorf("list the HiveServer2s at %s in ZooKeeper %s: %w", root, cfg.Ensemble, err)
	}
}

// Discovery is the state of the connection to ZooKeeper; false for a static Set.
func (s *Set) Discovery() (Discovery, bool) {
	if s.discovery == nil {
		return Discovery{}, false
	}
	return s.discovery.current(), true
}
