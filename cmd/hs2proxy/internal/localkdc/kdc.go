package localkdc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Realm is the realm of every KDC of this package.
const Realm = "HS2PROXY.TEST"

// Patience: how long the KDC may take to listen, and to end.
const patience = 20 * time.Second

// KDC is a running Kerberos realm. Its methods may be called from any goroutine; after Stop, principals can still be
// made, but nobody gets a ticket.
type KDC struct {
	dir, realm, address string
	programs            programs
	process             *os.Process
	stop                sync.Once
	stopErr             error
	admin               sync.Mutex    // kadmin.local locks the database and would fail instead of waiting
	exited              chan struct{} // closed when the process has ended
}

// Start makes a realm in dir, which must exist and be empty, and starts its KDC. It returns when the KDC listens. When
// the programs are missing its error is one line that says what to install.
func Start(ctx context.Context, dir string) (_ *KDC, err error) {
	found, err := find(folders)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("resolve the KDC's folder: %w", err)
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	k := &KDC{dir: dir, realm: Realm, address: address, programs: found, exited: make(chan struct{})}
	if err := k.writeConf(); err != nil {
		return nil, err
	}
	if err := k.run(ctx, found.database, "create", "-s", "-r", Realm, "-P", "only for tests"); err != nil {
		return nil, fmt.Errorf("make the realm %s: %w", Realm, err)
	}
	if err := k.launch(); err != nil {
		return nil, err
	}
	if err := k.waitReady(ctx); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "kdc.log")) //nolint:gosec // in the caller's own folder
		return nil, errors.Join(fmt.Errorf("the KDC did not come up: %w\n%s", err, log), k.Stop())
	}
	return k, nil
}

// launch starts the process and the goroutine that waits for it. That goroutine keeps its thread: on Linux the kernel
// ties the child's life to the thread that started it.
func (k *KDC) launch() error {
	out, err := os.OpenFile(filepath.Join(k.dir, "kdc.out"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the KDC's output file: %w", err)
	}
	cmd := exec.Command(k.programs.kdc, "-n", "-r", k.realm, "-P", filepath.Join(k.dir, "kdc.pid")) //nolint:gosec,noctx // as find found it; Stop ends it
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = k.dir, k.env(), out, out
	dieWithParent(cmd)
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer close(k.exited)
		defer func() { _ = out.Close() }()
		if err := cmd.Start(); err != nil {
			started <- fmt.Errorf("start %s: %w", k.programs.kdc, err)
			return
		}
		k.process = cmd.Process
		started <- nil
		_ = cmd.Wait() // how it ended does not matter
	}()
	return <-started
}

// waitReady connects until the KDC listens.
func (k *KDC) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it does not listen within %s", patience))
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "tcp", k.address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-tick.C:
		case <-k.exited:
			return errors.New("it ended")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Stop ends the KDC: SIGTERM, and SIGKILL after 20 seconds. A second Stop returns what the first did.
func (k *KDC) Stop() error {
	k.stop.Do(func() {
		if err := terminate(k.process); err != nil && !errors.Is(err, os.ErrProcessDone) {
			k.stopErr = fmt.Errorf("stop the KDC, process %d: %w", k.process.Pid, err)
			return
		}
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-k.exited:
			return
		case <-timer.C:
		}
		if err := k.process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			k.stopErr = fmt.Errorf("kill the KDC, process %d: %w", k.process.Pid, err)
			return
		}
		<-k.exited
	})
	return k.stopErr
}

// Address is host:port of the KDC, UDP and TCP.
func (k *KDC) Address() string { return k.address }

// Krb5Conf is the path of a krb5.conf with this realm, for clients and servers of any kind.
func (k *KDC) Krb5Conf() string { return filepath.Join(k.dir, "krb5.conf") }

// AddPrincipals makes principals of the realm with random keys, such as "hive/localhost".
func (k *KDC) AddPrincipals(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := k.query(ctx, "addprinc", "-randkey", name); err != nil {
			return fmt.Errorf("make principal %s: %w", name, err)
		}
	}
	return nil
}

// RemovePrincipal removes a principal.
func (k *KDC) RemovePrincipal(ctx context.Context, name string) error {
	if err := k.query(ctx, "delprinc", "-force", name); err != nil {
		return fmt.Errorf("remove principal %s: %w", name, err)
	}
	return nil
}

// RenewKeys gives a principal new random keys: the keytabs written before are outdated.
func (k *KDC) RenewKeys(ctx context.Context, name string) error {
	if err := k.query(ctx, "cpw", "-randkey", name); err != nil {
		return fmt.Errorf("renew the keys of %s: %w", name, err)
	}
	return nil
}

// Keytab writes the present keys of principals into a keytab and returns its path, below the KDC's folder. An existing
// file of that name gets them too.
func (k *KDC) Keytab(ctx context.Context, file string, names ...string) (string, error) {
	path := filepath.Join(k.dir, filepath.Base(file))
	if err := k.query(ctx, append([]string{"ktadd", "-norandkey", "-k", path}, names...)...); err != nil {
		return "", fmt.Errorf("write keytab %s: %w", path, err)
	}
	return path, nil
}

// query runs one query of kadmin.local.
func (k *KDC) query(ctx context.Context, words ...string) error {
	for _, word := range words {
		if strings.ContainsAny(word, " \t\n\"'") {
			return fmt.Errorf("%q: no blanks and quotes here", word)
		}
	}
	k.admin.Lock()
	defer k.admin.Unlock()
	return k.run(ctx, k.programs.admin, "-r", k.realm, "-q", strings.Join(words, " "))
}

// freeAddress is a port of 127.0.0.1 that is free for TCP and UDP.
func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	for range 20 {
		tcp, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
		if err != nil {
			return "", fmt.Errorf("find a free port: %w", err)
		}
		address := tcp.Addr().String()
		udp, err := config.ListenPacket(ctx, "udp4", address)
		_ = tcp.Close()
		if err == nil {
			_ = udp.Close()
			return address, nil
		}
	}
	return "", errors.New("find a port that is free for TCP and UDP: 20 were not")
}
