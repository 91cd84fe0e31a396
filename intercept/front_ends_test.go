package intercept

import (
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
)

// TestResets: RST from either side at every stage ends the other side, and is a failure only where something was interrupted.
func TestResets(t *testing.T) {
	forWays(t, func(t *testing.T, w way) {
		for _, stage := range stages() {
			for _, by := range []string{"client", "HiveServer2"} {
				if by != "client" && (stage.lazy || stage.lost) {
					continue // it is not there yet
				}
				t.Run(stage.name+" by "+by, func(t *testing.T) {
					hive := newScript(t)
					r, client, server, found := stage.reach(t, w, Config{}, hive)
					who, other := client, server
					if by != "client" {
						who, other = server, client
					}
					reset(t, who)
					found()
					if stage.lost {
						other = hive.next(t)
					}
					if other != nil {
						ends(t, other)
					}
					r.over()
					got := r.log.failures(t)
					if stage.open != (len(got) == 1) || len(got) > 1 || stage.open && !strings.HasPrefix(got[0], by) {
						t.Errorf("failures %q", got)
					}
				})
			}
		}
	})
}

// TestShutdownAtEveryStage: a connection is cut at every stage, both sides see it, and nothing is left open.
func TestShutdownAtEveryStage(t *testing.T) {
	forWays(t, func(t *testing.T, w way) {
		for _, stage := range stages() {
			t.Run(stage.name, func(t *testing.T) {
				hive := newScript(t)
				before := openFiles(t)
				r, client, server, found := stage.reach(t, w, Config{}, hive)
				if err := r.stop(); err == nil || !strings.Contains(err.Error(), "cut 1 connections") {
					t.Errorf("shutdown: %v", err)
				}
				found()
				for _, conn := range []*net.TCPConn{client, server} {
					if conn != nil {
						ends(t, conn)
						_ = conn.Close()
					}
				}
				if got := r.log.failures(t); len(got) > 0 || r.server.Stats().Open != 0 {
					t.Errorf("failures %q, %d open", got, r.server.Stats().Open)
				}
				eventually(t, "the end of every descriptor", func() bool { return openFiles(t) <= before })
				for _, server := range r.server.Servers() {
					if server.Open != 0 {
						t.Errorf("%s: %d connections", server.ID, server.Open)
					}
				}
			})
		}
	})
}

// openFiles is how many descriptors this process has; 0 where that is not known.
func openFiles(t *testing.T) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
