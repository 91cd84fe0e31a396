package client

import (
	"strings"
	"time"

	"github.com/beltran/gohive/hiveserver"
)

// The pause between two questions for an operation's state: HiveServer2 already holds its answer back while the
// operation runs, so it matters for the fast ones and for servers that do not.
const (
	firstPause = 5 * time.Millisecond
	maxPause   = 250 * time.Millisecond
)

// stateName is the state in Hive's words without its suffix.
func stateName(s hiveserver.TOperationState) string {
	return strings.TrimSuffix(s.String(), "_STATE")
}

// running reports whether the operation has not ended.
func running(s hiveserver.TOperationState) bool {
	switch s {
	case hiveserver.TOperationState_INITIALIZED_STATE, hiveserver.TOperationState_PENDING_STATE, hiveserver.TOperationState_RUNNING_STATE:
		return true
	default:
		return false
	}
}

// pauses yields firstPause, then twice as much each time up to maxPause.
func pauses() func() time.Duration {
	next := firstPause
	return func() time.Duration {
		pause := next
		next = min(2*next, maxPause)
		return pause
	}
}
