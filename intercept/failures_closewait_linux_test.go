package intercept_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept"
)

// closeWait is a socket's state in /proc/net/tcp after the other side has closed and before the own does.
const closeWait = "08"

// sockets counts this machine's sockets that have one of the ports at one of their ends, in a state; "" is any.
func sockets(t *testing.T, state string, ports ...int) (n int) {
	t.Helper()
	f, err := os.Open("/proc/self/net/tcp")
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = f.Close() }()
	var ends []string
	for _, port := range ports {
		ends = append(ends, fmt.Sprintf(":%04X", port))
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text()) // sl local remote state …
		if len(fields) < 4 || state != "" && fields[3] != state {
			continue
		}
		for _, end := range ends {
			if strings.HasSuffix(fields[1], end) || strings.HasSuffix(fields[2], end) {
				n++
				break
			}
		}
	}
	return n
}

func port(t *testing.T, addr string) int {
	t.Helper()
	_, text, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestFailureCloseWaitPilesUp: whichever side closes or only stops sending, the proxy closes both of its sockets. The other side
// leaves its own open, so that nothing but the proxy can be the reason.
func TestFailureCloseWaitPilesUp(t *testing.T) {
	const each = 3
	var ports []int
	for _, side := range []string{"client stops sending", "client closes", "server stops sending", "server closes"} {
		t.Run(side, func(t *testing.T) {
			forEachWire(t, func(t *testing.T, tr transport) {
				hive := newTape(t)
				p := tr.proxy(t, hive.addr, intercept.Config{HalfClose: time.Millisecond})
				var clients, servers []duplex
				for range each {
					client, server := hive.connect(t, p)
					pass(t, client, server, tr.query()...)
					clients, servers = append(clients, client), append(servers, server)
				}
				leaving := clients
				if strings.HasPrefix(side, "server") {
					leaving = servers
				}
				for _, conn := range leaving {
					leave := conn.CloseWrite
					if strings.HasSuffix(side, "closes") {
						leave = socket(conn).Close
					}
					if err := leave(); err != nil {
						t.Fatal(err)
					}
				}
				if tr.name == "HTTP" && strings.HasPrefix(side, "client") {
					// A client that only stopped sending may still wait for a reply; Jetty answers what it has, then closes.
					for _, server := range servers {
						gone(t, server)
						_ = server.Close()
					}
				}
				eventually(t, "the end of all connections", func() bool { return p.server.Stats().Open == 0 })
				// The peers that did not leave see the end; once they close, no socket of either port is left waiting.
				for _, conn := range append(clients, servers...) {
					gone(t, conn)
					_ = conn.Close()
				}
				ports = append(ports, port(t, p.addr), port(t, hive.addr))
			})
		})
	}
	eventually(t, "the end of all sockets", func() bool { return sockets(t, closeWait, ports...) == 0 })
}
