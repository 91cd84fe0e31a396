package proxyheader

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/pires/go-proxyproto"
)

const (
	// MaxSize is the longest header taken, in bytes: a reader that peeks this many sees each header whole. Version 2 could
	// carry 64 KiB; a client's certificate, the largest thing in use, is below 2.
	MaxSize = fixedV2 + maxPayloadV2

	fixedV2      = 16
	maxPayloadV2 = 4096
	maxV1        = 107
)

// State is what the first bytes of a connection are.
type State int

const (
	// NeedMore: a header may be beginning; ask again with more bytes. Never with MaxSize bytes or more.
	NeedMore State = iota + 1
	// Complete: a header is there.
	Complete
	// None: the connection begins with something else.
	None
	// Bad: it begins like a header and is none, or one that is too long. The format wants the connection closed.
	Bad
)

func (s State) String() string {
	switch s {
	case NeedMore:
		return "need more"
	case Complete:
		return "complete"
	case None:
		return "none"
	case Bad:
		return "bad"
	default:
		return fmt.Sprintf("State(%d)", int(s))
	}
}

// Header is what a PROXY header says.
type Header struct {
	// Source is the client, Destination what it connected to; IPv4 in IPv6 form is IPv4 here. Not valid when Local.
	Source, Destination netip.AddrPort
	// Local: the sender speaks for itself (a health check), or for something other than TCP. The socket's addresses hold.
	Local bool
	// Err is what is wrong; with Bad only.
	Err error
}

var (
	signatureV1 = append(bytes.Clone(proxyproto.SIGV1), ' ')
	signatureV2 = proxyproto.SIGV2
)

// Parse reads a header at the beginning of b, the first bytes of a connection. With Complete, n of them belong to the header
// and what follows is the client's; otherwise n is 0. TLVs (TLS facts and others) are skipped.
func Parse(b []byte) (h Header, n int, state State) {
	switch {
	case bytes.HasPrefix(b, signatureV1):
		n, state, h.Err = sizeV1(b)
	case bytes.HasPrefix(b, signatureV2):
		n, state, h.Err = sizeV2(b)
	case len(b) < len(signatureV2) && (bytes.HasPrefix(signatureV1, b) || bytes.HasPrefix(signatureV2, b)):
		return Header{}, 0, NeedMore
	default:
		return Header{}, 0, None
	}
	if state != Complete {
		return h, 0, state
	}
	h, err := read(b[:n])
	if err != nil {
		return Header{Err: err}, 0, Bad
	}
	return h, n, Complete
}

// sizeV1 finds the end of the line. Its bytes may come one by one, which go-proxyproto does not take.
func sizeV1(b []byte) (int, State, error) {
	end := bytes.IndexByte(b[:min(len(b), maxV1)], '\n')
	switch {
	case end >= 0:
		return end + 1, Complete, nil
	case len(b) < maxV1:
		return 0, NeedMore, nil
	default:
		return 0, Bad, proxyproto.ErrVersion1HeaderTooLong
	}
}

// sizeV2 reads the length.
func sizeV2(b []byte) (int, State, error) {
	if len(b) < fixedV2 {
		return 0, NeedMore, nil
	}
	payload := int(binary.BigEndian.Uint16(b[fixedV2-2:]))
	switch {
	case payload > maxPayloadV2:
		return 0, Bad, fmt.Errorf("PROXY header of %d bytes after the first %d; at most %d are taken", payload, fixedV2, maxPayloadV2)
	case len(b) < fixedV2+payload:
		return 0, NeedMore, nil
	default:
		return fixedV2 + payload, Complete, nil
	}
}

// read reads exactly one header.
func read(b []byte) (Header, error) {
	// The format leaves it to the receiver whether PROXY for an unspecified protocol is taken; go-proxyproto refuses it.
	if bytes.HasPrefix(b, signatureV2) && b[12] == byte(proxyproto.PROXY) && b[13] == byte(proxyproto.UNSPEC) {
		return Header{Local: true}, nil
	}
	reader := bufio.NewReaderSize(bytes.NewReader(b), len(b))
	if _, err := reader.Peek(len(b)); err != nil { // all of it buffered at once
		return Header{}, err
	}
	p, err := proxyproto.Read(reader)
	if err != nil {
		return Header{}, fmt.Errorf("PROXY header: %w", err)
	}
	if p.Command.IsLocal() || !p.TransportProtocol.IsStream() || p.TransportProtocol.IsUnix() {
		return Header{Local: true}, nil
	}
	source, destination, ok := p.TCPAddrs()
	if !ok {
		return Header{}, errors.New("PROXY header without TCP addresses")
	}
	return Header{Source: plain(source.AddrPort()), Destination: plain(destination.AddrPort())}, nil
}

// plain writes IPv4 as IPv4.
func plain(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }
