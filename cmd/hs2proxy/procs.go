package main

import (
	"runtime"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
)

// spareProcessor gives Go one processor more than there are event loops. A loop that waits for events blocks in a system call; while
// every processor of Go's does, its monitor wakes fifty thousand times a second to take one away, and each event then has to get it
// back. With one to spare it leaves them alone.
func spareProcessor(relay *config.Relay) {
	if relay.Loops == 0 {
		relay.Loops = runtime.GOMAXPROCS(0)
	}
	if runtime.GOMAXPROCS(0) <= relay.Loops {
		runtime.GOMAXPROCS(relay.Loops + 1)
	}
}
