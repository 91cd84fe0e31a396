package thrift

import "fmt"

// Defaults of Limits. HiveServer2 refuses messages over hive.server2.thrift.max.message.size, 100 MiB; the margin leaves that
// refusal to it where the two could disagree. Replies have no such limit of the server's, only an int32 length: Java clients
// raise theirs for wide results, so the default only stops the absurd.
const (
	DefaultMaxCallBytes  = 101 << 20
	DefaultMaxReplyBytes = 1 << 30
	DefaultCopyBytes     = 1 << 20
	DefaultWalkBytes     = 64 << 10
	DefaultPendingCalls  = 256
)

// Limits bound what a Conn accepts and keeps. A zero field stands for its default.
type Limits struct {
	// MaxCallBytes is the longest frame (SASL) or message (NOSASL) a client may send, in bytes.
	MaxCallBytes int64
	// MaxReplyBytes is the same for HiveServer2's replies.
	MaxReplyBytes int64
	// CopyBytes is the longest copy kept of a watched message; what is longer is decoded as far as it goes and marked truncated.
	// Calls other than ExecuteStatement are small, and kept to 64 KiB, for a client may send many before a reply comes.
	CopyBytes int
	// WalkBytes is the longest frame whose unwatched message is walked to its end. In a longer one it is taken to fill the frame,
	// so that the frame can be spliced; a watched message is always walked.
	WalkBytes int
	// PendingCalls is how many calls of one connection may wait for a reply; with more the connection turns blind.
	PendingCalls int
}

func (l Limits) withDefaults() Limits {
	if l.MaxCallBytes == 0 {
		l.MaxCallBytes = DefaultMaxCallBytes
	}
	if l.MaxReplyBytes == 0 {
		l.MaxReplyBytes = DefaultMaxReplyBytes
	}
	if l.CopyBytes == 0 {
		l.CopyBytes = DefaultCopyBytes
	}
	if l.WalkBytes == 0 {
		l.WalkBytes = DefaultWalkBytes
	}
	if l.PendingCalls == 0 {
		l.PendingCalls = DefaultPendingCalls
	}
	return l
}

// OversizeError is a length beyond the limit, or a negative one. Nothing was allocated for it.
type OversizeError struct {
	// Side sent it.
	Side Side
	// Length as announced, in bytes (in elements when a container was announced); negative lengths are kept as they came.
	Length int64
	// Limit it broke, in bytes.
	Limit int64
}

// Error says who announced what.
func (e *OversizeError) Error() string {
	return fmt.Sprintf("%s announced a length of %d, limit %d bytes", e.Side, e.Length, e.Limit)
}
