package upstream

import (
	"fmt"
	"sync"

	"github.com/rs/zerolog"
)

// quiet is the client's log, at debug level: what matters is reported as a Change.
type quiet struct{ log zerolog.Logger }

func (q quiet) Printf(format string, args ...any) {
	if e := q.log.Debug(); e.Enabled() {
		e.Str("said", fmt.Sprintf(format, args...)).Msg("ZooKeeper client")
	}
}

// hosts walks through the ensemble's names in turn. The library's own resolves them once and for all; these are resolved with
// each connect.
type hosts struct {
	mu      sync.Mutex
	names   []string
	next    int
	failing int // connects since the last that succeeded
}

func (h *hosts) Init(names []string) error {
	h.names = names
	return nil
}

func (h *hosts) Len() int { return len(h.names) }

// Next is the name to try, and whether all have been tried in vain.
func (h *hosts) Next() (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	name := h.names[h.next%len(h.names)]
	h.next++
	h.failing++
	return name, h.failing > len(h.names) && (h.failing-1)%len(h.names) == 0
}

func (h *hosts) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failing = 0
}
