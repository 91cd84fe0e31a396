package limit

import (
	"fmt"
	"time"
)

// What is the limit that was reached; its text is fit for a metric's label.
type What string

// The limits there are.
const (
	Connections        What = "connections"
	AddressConnections What = "connections_per_address"
	UserConnections    What = "connections_per_user"
	RefusedLogins      What = "failed_logins"
)

// maxShown bounds a user's name in a message: clients choose it.
const maxShown = 64

// Exceeded is why a connection is refused. Its text may be shown to the client: it holds only what the client knows itself
// and the limit's name.
type Exceeded struct {
	What What
	// Who is the address, the IPv6 network ("2001:db8::/64") or the user; empty with Connections.
	Who string
	// Limit is the limit's value.
	Limit int
	// Wait is how long the address will still be turned away; with RefusedLogins only.
	Wait time.Duration
}

func (e *Exceeded) Error() string {
	switch e.What {
	case Connections:
		return fmt.Sprintf("too many connections: limit %d (clients.max_connections)", e.Limit)
	case AddressConnections:
		return fmt.Sprintf("too many connections from %s: limit %d (clients.max_connections_per_address)", e.Who, e.Limit)
	case UserConnections:
		return fmt.Sprintf("too many connections of user %.*q: limit %d (clients.max_connections_per_user)", maxShown, e.Who, e.Limit)
	case RefusedLogins:
		return fmt.Sprintf("too many refused logins from %s: limit %d, try again in %v (clients.failed_logins)", e.Who, e.Limit, (e.Wait + time.Second - 1).Truncate(time.Second))
	default:
		return fmt.Sprintf("limit %d of %s reached", e.Limit, e.What)
	}
}
