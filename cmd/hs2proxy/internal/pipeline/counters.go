package pipeline

import "sync/atomic"

// Counters count what the pipeline did and what it let go. All are since the start.
type Counters struct {
	Explained, Reused, Refused, Failed, Skipped atomic.Int64
	Recorded, RecordDropped, RecordFailed       atomic.Int64
	// Spooled records were put on disk, Replayed ones came from there into the store, SpoolDropped ones will never (no room,
	// or not readable). SpoolFaults counts the times the disk refused.
	Spooled, Replayed, SpoolDropped, SpoolFaults atomic.Int64
	Panics                                       atomic.Int64
}
