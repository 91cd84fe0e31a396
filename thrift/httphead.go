package thrift

import (
	"bytes"
	"math"
)

// maxHead bounds the head of a request or a response, in bytes. Jetty's own bound in HiveServer2 is
// hive.server2.thrift.http.request.header.size, 6 KiB.
const maxHead = 64 << 10

// headEnd finds the empty line that ends a head, however the reads cut it.
type headEnd struct {
	line int  // bytes of the current line
	cr   bool // the line's only byte is a CR
}

// feed takes what belongs to the head from p, the empty line included.
func (e *headEnd) feed(p []byte) (n int, done bool) {
	for n < len(p) {
		line, _, ended := bytes.Cut(p[n:], []byte{'\n'})
		if len(line) > 0 {
			e.cr = e.line == 0 && len(line) == 1 && line[0] == '\r'
			e.line += len(line)
		}
		n += len(line)
		if !ended {
			break
		}
		n++
		empty := e.line == 0 || e.cr
		*e = headEnd{}
		if empty {
			return n, true
		}
	}
	return n, false
}

// coding is a body's Content-Encoding.
type coding uint8

const (
	codingNone coding = iota
	codingGzip
	codingDeflate
	codingOther
)

// framing is what a head says of the body behind it (RFC 9112, section 6).
type framing struct {
	length  int64 // Content-Length, -1 without one
	chunked bool
	coding  coding
	closing bool // the connection ends with this exchange
}

// requestHead is what is read of a request's head; its slices lie within the head.
type requestHead struct {
	framing
	method, target []byte
	expect         bool   // Expect: 100-continue
	authorization  []byte // the header's value
	cookie         []byte // HiveServer2's, its value
	forwarded      []byte // X-Forwarded-For
}

// responseHead is what is read of a response's head.
type responseHead struct {
	framing
	status int
	thrift bool   // Content-Type is Thrift's
	text   bool   // or some kind of text
	cookie []byte // HiveServer2's, as it is set
}

// parseRequest reads a whole head. A reason other than NotBlind says why the request cannot be followed.
func parseRequest(head []byte) (r requestHead, why BlindReason) {
	r.length = -1
	line, rest := cutLine(head)
	method, line, _ := bytes.Cut(line, []byte{' '})
	target, version, found := bytes.Cut(line, []byte{' '})
	r.method, r.target = method, target
	switch {
	case !found || !isToken(method) || len(target) == 0:
		return r, BlindMalformed
	case string(version) == "HTTP/2.0", string(method) == "CONNECT":
		return r, BlindHTTP
	case string(version) != "HTTP/1.1" && string(version) != "HTTP/1.0":
		return r, BlindMalformed
	}
	r.closing = string(version) == "HTTP/1.0"
	why = eachField(rest, func(name, value []byte) BlindReason {
		switch string(name) {
		case "expect":
			r.expect = bytes.EqualFold(value, []byte("100-continue"))
		case "authorization":
			r.authorization = value
		case "cookie":
			if cookie := cookieIn(value); cookie != nil {
				r.cookie = cookie
			}
		case "x-forwarded-for":
			r.forwarded = joined(r.forwarded, value)
		}
		return r.field(name, value)
	})
	if why == NotBlind && r.chunked && r.length >= 0 {
		why = BlindMalformed
	}
	return r, why
}

// parseResponse reads a whole head.
func parseResponse(head []byte) (r responseHead, why BlindReason) {
	r.length = -1
	line, rest := cutLine(head)
	version, line, _ := bytes.Cut(line, []byte{' '})
	code, _, _ := bytes.Cut(line, []byte{' '})
	if string(version) != "HTTP/1.1" && string(version) != "HTTP/1.0" || len(code) != 3 {
		return r, BlindMalformed
	}
	status, ok := decimal(code)
	if !ok || status < 100 {
		return r, BlindMalformed
	}
	r.status = int(status)
	r.closing = string(version) == "HTTP/1.0"
	why = eachField(rest, func(name, value []byte) BlindReason {
		switch string(name) {
		case "content-type":
			kind, _, _ := bytes.Cut(value, []byte{';'})
			r.thrift = bytes.EqualFold(bytes.TrimSpace(kind), []byte("application/x-thrift"))
			r.text = len(kind) >= 5 && bytes.EqualFold(kind[:5], []byte("text/"))
		case "set-cookie":
			pair, _, _ := bytes.Cut(value, []byte{';'})
			if cookie := cookieIn(pair); cookie != nil {
				r.cookie = cookie
			}
		}
		return r.field(name, value)
	})
	if why == NotBlind && r.chunked && r.length >= 0 {
		why = BlindMalformed
	}
	return r, why
}

// field notes a header that frames the body, or says what follows it. What two readers could take in two ways is malformed here.
func (f *framing) field(name, value []byte) BlindReason {
	switch string(name) {
	case "content-length":
		n, ok := decimal(value)
		if !ok || f.length >= 0 && f.length != n {
			return BlindMalformed
		}
		f.length = n
	case "transfer-encoding":
		switch {
		case f.chunked:
			return BlindMalformed
		case !bytes.EqualFold(value, []byte("chunked")):
			return BlindHTTP
		}
		f.chunked = true
	case "connection":
		for option := range bytes.SplitSeq(value, []byte{','}) {
			option = bytes.TrimSpace(option)
			switch {
			case bytes.EqualFold(option, []byte("close")):
				f.closing = true
			case bytes.EqualFold(option, []byte("keep-alive")):
				f.closing = false
			}
		}
	case "content-encoding":
		switch {
		case len(value) == 0 || bytes.EqualFold(value, []byte("identity")):
		case f.coding != codingNone:
			f.coding = codingOther
		case bytes.EqualFold(value, []byte("gzip")), bytes.EqualFold(value, []byte("x-gzip")):
			f.coding = codingGzip
		case bytes.EqualFold(value, []byte("deflate")):
			f.coding = codingDeflate
		default:
			f.coding = codingOther
		}
	}
	return NotBlind
}

// longestField is the longest name of a header that is looked at, with room.
const longestField = 24

// eachField visits the header fields, their names in lower case (empty for long ones). A line that is no field, one that
// continues the line before it for one, is malformed.
func eachField(b []byte, visit func(name, value []byte) BlindReason) BlindReason {
	var lower [longestField]byte
	for {
		line, rest := cutLine(b)
		if len(line) == 0 {
			return NotBlind
		}
		b = rest
		name, value, found := bytes.Cut(line, []byte{':'})
		if !found || !isToken(name) {
			return BlindMalformed
		}
		n := 0
		if len(name) <= len(lower) {
			for i, c := range name {
				if 'A' <= c && c <= 'Z' {
					c += 'a' - 'A'
				}
				lower[i] = c
			}
			n = len(name)
		}
		if why := visit(lower[:n], bytes.Trim(value, " \t")); why != NotBlind {
			return why
		}
	}
}

// cutLine cuts the first line off, without its end: CR LF, or the LF alone that Jetty takes too.
func cutLine(b []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(b, []byte{'\n'})
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, rest
}

// isToken reports whether b is a token of RFC 9110, section 5.6.2.
func isToken(b []byte) bool {
	for _, c := range b {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), c) < 0:
			return false
		}
	}
	return len(b) > 0
}

// decimal reads digits, as many as fit.
func decimal(b []byte) (n int64, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' || n > math.MaxInt64/100 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, len(b) > 0
}

// joined adds a further value of a header that may come several times.
func joined(before, value []byte) []byte {
	if before == nil {
		return value
	}
	return bytes.Join([][]byte{before, value}, []byte(", "))
}
