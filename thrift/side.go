package thrift

// Side is one end of a relayed connection: the one bytes come from, or the one that failed.
type Side uint8

// The two ends.
const (
	Client Side = iota + 1
	HiveServer2
)

// String names the side as log lines do.
func (s Side) String() string {
	switch s {
	case Client:
		return "client"
	case HiveServer2:
		return "HiveServer2"
	default:
		return "unknown side"
	}
}
