package pipeline

import (
	"fmt"
	"runtime/debug"

	"github.com/rs/zerolog"
)

// isolate is deferred around what must not end the proxy: a panic becomes a counter and a line in the log.
func isolate(log zerolog.Logger, counters *Counters, message string) {
	if p := recover(); p != nil {
		counters.Panics.Add(1)
		log.Error().Str("panic", fmt.Sprint(p)).Bytes("stack", debug.Stack()).Msg(message)
	}
}
