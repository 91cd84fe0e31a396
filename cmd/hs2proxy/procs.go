package main

import (
	"os"
	"runtime"
	"runtime/debug"

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

// rarerCollection lets the heap grow to three times what is in use, in place of twice, before garbage is collected. What the
// observation allocates lives for a query at most, and the little that stays makes collections frequent; halving their number
// takes four percent off what a query costs. GOGC wins where it is set.
func rarerCollection() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
}
