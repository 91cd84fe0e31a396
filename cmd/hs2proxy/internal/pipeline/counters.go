package pipeline

import "sync/atomic"

// Counters count what the pipeline did and what it let go. All are since the start.
type Counters struct {
	Explained, Reused, Refused, Failed, Skipped atomic.Int64
	Recorded, RecordDropped, RecordFailed       atomic.Int64
	Panics                                      atomic.Int64
}
