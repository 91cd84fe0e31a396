package localhive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Auth is hive.server2.authentication.
type Auth string

// The authentications this package can start a server with.
const (
	// AuthNone is SASL PLAIN in which any non-empty user and password is right.
	AuthNone Auth = "NONE"
	// AuthNoSASL is bare Thrift without a login.
	AuthNoSASL Auth = "NOSASL"
	// AuthCustom is SASL PLAIN, or Basic over HTTP, with a checked password: Options.Users. It needs a JDK.
	AuthCustom Auth = "CUSTOM"
	// AuthKerberos is SASL GSSAPI, or SPNEGO over HTTP. The KDC, principal and keytab are the caller's, by Conf, CoreSite
	// and JavaOptions, and so is the Probe.
	AuthKerberos Auth = "KERBEROS"
)

// Options say where and how a server runs. The zero value is a server on a free port with folders in the user's cache.
type Options struct {
	// Dir holds configuration, logs, tables and metastore; by default hs2proxy/local-hive in the user's cache folder.
	// One server at a time runs in a folder.
	Dir string
	// Release is the release of Hive: "4.0" (4.0.1; the default), "3.1" (3.1.3) or "2.3" (2.3.9). Those before 4.0 need a JDK and
	// serve no HTTP.
	Release string
	// LibDir holds the jars and may be shared by any number of servers of a release; by default hs2proxy/hive-4.0.1 in the
	// user's cache folder, for 3.1 hive-3.1.3 and so on. It must be a folder of this package's own: a missing, an empty or an earlier one.
	LibDir string
	// Port is the Thrift port on 127.0.0.1; 0 takes a free one.
	Port int
	// Auth is AuthNone when empty; Users are the names and passwords under AuthCustom.
	Auth  Auth
	Users map[string]string
	// HTTP serves the HTTP transport too, on a port of its own (Server.HTTPAddress) under /cliservice.
	HTTP bool
	// TLS is spoken on both ports, with a certificate made anew (Server.CertFile).
	TLS bool
	// Conf are further properties of hive-site.xml; they win over this package's own.
	Conf map[string]string
	// Transactions makes the metastore by Hive's own schema script (79 MB, fetched once): the server then has ACID tables, locks and
	// direct SQL, as one in production. For 4.0 only.
	Transactions bool
	// Jars is a folder of further jars for the class path, behind LibDir's: such as Iceberg's handler for Hive 4, which Hive's release
	// carries in its lib folder and no Maven repository does.
	Jars string
	// CoreSite are the properties of core-site.xml, which Hadoop reads before Hive's: its security, above all.
	CoreSite map[string]string
	// JavaOptions are further arguments of the java command, such as -Djava.security.krb5.conf=…; they come after this
	// package's own.
	JavaOptions []string
	// Probe, when set, tells in place of a login of ours whether the server at an address (host:port) serves yet: it
	// is called every 200 ms until it returns nil. AuthKerberos needs one.
	Probe func(ctx context.Context, address string) error
	// Heap is the JVM's -Xmx, "2g" when empty.
	Heap string
	// Fresh forgets the databases and tables of an earlier server in Dir.
	Fresh bool
	// Timeout is how long the server may take from the start of its process to the first session; 3 minutes when 0.
	// Fetching the jars has no limit but the context's.
	Timeout time.Duration
	// Progress, when set, is told in short sentences what is being waited for, from one goroutine at a time.
	Progress func(string)
}

// plainPath is what a folder's name may consist of: Derby and Tez read it as part of a URL, Java splits a class path at colons.
var plainPath = regexp.MustCompile(`^[A-Za-z0-9_./@+,-]+$`)

var heapSize = regexp.MustCompile(`^[0-9]+[kKmMgG]$`)

// withDefaults fills what is empty and refuses what cannot work.
func (o Options) withDefaults() (Options, error) {
	var err error
	if o.Dir == "" {
		if o.Dir, err = inCache("local-hive"); err != nil {
			return o, err
		}
	}
	if o, err = o.withRelease(); err != nil {
		return o, err
	}
	for _, dir := range []*string{&o.Dir, &o.LibDir, &o.Jars} {
		if *dir == "" {
			continue
		}
		abs, err := filepath.Abs(*dir)
		if err != nil {
			return o, fmt.Errorf("resolve %s: %w", *dir, err)
		}
		if !plainPath.MatchString(abs) {
			return o, fmt.Errorf("folder %q: Hive takes no blanks, colons or other special characters in its folders' names", abs)
		}
		*dir = abs
	}
	if o.Dir == o.LibDir {
		return o, fmt.Errorf("folder %s: the jars need a folder of their own", o.Dir)
	}
	switch o.Auth {
	case "":
		o.Auth = AuthNone
	case AuthNone, AuthNoSASL, AuthCustom:
	case AuthKerberos:
		if o.Probe == nil {
			return o, errors.New("authentication KERBEROS: needs a Probe that logs in with a ticket")
		}
	default:
		return o, fmt.Errorf("authentication %q: a local HiveServer2 takes NONE, NOSASL, CUSTOM or KERBEROS", o.Auth)
	}
	if err := checkUsers(o); err != nil {
		return o, err
	}
	for _, name := range slices.Sorted(maps.Keys(o.CoreSite)) {
		if strings.HasPrefix(name, "hive.") {
			return o, fmt.Errorf("property %s: belongs into hive-site.xml (Conf), not into core-site.xml", name)
		}
	}
	if o.Port < 0 || o.Port > 65535 {
		return o, fmt.Errorf("port %d: must be between 0 (any free port) and 65535", o.Port)
	}
	if o.Heap == "" {
		o.Heap = "2g"
	}
	if !heapSize.MatchString(o.Heap) {
		return o, fmt.Errorf("heap %q: must be a number with k, m or g, such as 2g", o.Heap)
	}
	if o.Timeout < 0 {
		return o, errors.New("timeout: must not be negative")
	}
	if o.Timeout == 0 {
		o.Timeout = 3 * time.Minute
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o, nil
}

// DefaultLibDir is the folder of the jars where Options name none and no other release.
func DefaultLibDir() (string, error) { return inCache("hive-4.0.1") }

func inCache(name string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache folder: %w", err)
	}
	return filepath.Join(cache, "hs2proxy", name), nil
}

// choosePorts finds the ports of a server.
func choosePorts(o Options) (ports, error) {
	var p ports
	var err error
	if p.binary, err = choosePort(net.Listen, o.Port); err != nil || !o.HTTP {
		return p, err
	}
	p.http, err = choosePort(net.Listen, 0)
	return p, err
}

// Free ports are chosen from below the range that systems give to outgoing connections: until the server listens, seconds later,
// one of those could take a port of that range.
const firstPort, lastPort = 20_000, 30_000

// choosePort checks that the wanted port is free, or finds a free one.
func choosePort(listen func(network, address string) (net.Listener, error), port int) (int, error) {
	if port != 0 {
		return port, checkPort(listen, port)
	}
	var err error
	for range 100 {
		port = firstPort + rand.IntN(lastPort-firstPort) //nolint:gosec // any free port will do
		if err = checkPort(listen, port); err == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("find a free port: %w", err)
}

func checkPort(listen func(network, address string) (net.Listener, error), port int) error {
	l, err := listen("tcp4", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("port %d of %s is not free: %w", port, host, err)
	}
	if err := l.Close(); err != nil {
		return fmt.Errorf("release port %d: %w", port, err)
	}
	return nil
}
