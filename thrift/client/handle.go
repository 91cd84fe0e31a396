package client

import (
	"encoding/hex"
	"errors"

	"github.com/beltran/gohive/hiveserver"
)

// Handle addresses a session from any connection. The secret is as good as a password inside the server.
type Handle struct {
	GUID   [16]byte
	Secret [16]byte
}

// String is the GUID in hexadecimal, so that a handle printed by mistake shows no secret.
func (h Handle) String() string { return hex.EncodeToString(h.GUID[:]) }

// GoString is String.
func (h Handle) GoString() string { return h.String() }

func (h Handle) identifier() *hiveserver.THandleIdentifier {
	return &hiveserver.THandleIdentifier{GUID: h.GUID[:], Secret: h.Secret[:]}
}

func (h Handle) session() *hiveserver.TSessionHandle {
	return &hiveserver.TSessionHandle{SessionId: h.identifier()}
}

// handleOf reads a session handle from a reply.
func handleOf(s *hiveserver.TSessionHandle) (Handle, error) {
	id := s.GetSessionId()
	if id == nil || len(id.GUID) != 16 || len(id.Secret) != 16 {
		return Handle{}, errors.New("a reply without a session handle of 16 and 16 bytes")
	}
	return Handle{GUID: [16]byte(id.GUID), Secret: [16]byte(id.Secret)}, nil
}
