package intercept

import (
	"encoding/hex"
	"time"
)

// SessionHandle addresses a HiveServer2 session from any connection: Thrift's THandleIdentifier.
// The secret is as good as a password inside the server; it is never logged and never stored.
type SessionHandle struct {
	GUID   [16]byte
	Secret [16]byte
}

// ID is the GUID as Hive's own log prints it (java.util.UUID, lower case); it holds no secret.
func (h SessionHandle) ID() string { return formatGUID(h.GUID) }

// String is ID, so that a handle printed by mistake shows no secret.
func (h SessionHandle) String() string { return h.ID() }

func formatGUID(g [16]byte) string {
	var b [36]byte
	hex.Encode(b[0:8], g[0:4])
	b[8] = '-'
	hex.Encode(b[9:13], g[4:6])
	b[13] = '-'
	hex.Encode(b[14:18], g[6:8])
	b[18] = '-'
	hex.Encode(b[19:23], g[8:10])
	b[23] = '-'
	hex.Encode(b[24:36], g[10:16])
	return string(b[:])
}

// Session is what the wire has told of one HiveServer2 session. Values are copies: a Session in an
// Event never changes afterwards.
type Session struct {
	// Handle addresses the session; Handle.ID() is its public name.
	Handle SessionHandle
	// Upstream is the configured name of the HiveServer2 that owns the session.
	Upstream string
	// Server is the ID of the HiveServer2, among those of the upstream, that has the session.
	Server string
	// User is the SASL PLAIN authentication name, else OpenSession's user name; empty when neither was readable.
	User string
	// ClientAddr is the client's host and port.
	ClientAddr string
	// Auth is the authentication seen on the opening connection: "SASL PLAIN", "SASL GSSAPI", "NOSASL", "HTTP BASIC", …
	Auth string
	// ClientProtocol is TProtocolVersion as the server answered it, counted as Hive counts (10 is V10); 0 when unknown.
	ClientProtocol int
	// ClientName is what the client calls itself in its configuration ("hive.client.application.name" and the like); may be empty.
	ClientName string
	// Configuration is OpenSession's map without passwords and tokens.
	Configuration map[string]string
	// Settings are the session's own settings now: OpenSession's "set:hiveconf:" entries overlaid by every successful SET.
	Settings map[string]string
	// Database is the current database, "default" until USE or "use:database" changed it.
	Database string
	OpenedAt time.Time
	// ClosedAt is zero while the session lives.
	ClosedAt time.Time
}
