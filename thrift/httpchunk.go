package thrift

import "errors"

var errChunk = errors.New("not the framing of a chunked body")

// chunkPlace is what a chunked body's framing expects next.
type chunkPlace uint8

const (
	chunkSize      chunkPlace = iota // hexadecimal digits
	chunkExtension                   // the rest of their line, not looked at
	chunkEnd                         // the line end behind the data
	chunkTrailer                     // lines up to an empty one
)

// maxChunkDigits is the longest chunk size: 60 bits.
const maxChunkDigits = 15

// chunks reads what lies between the data of a chunked body (RFC 9112, section 7.1) in pieces. Trailers are not looked at.
type chunks struct {
	at     chunkPlace
	digits uint8
	size   int64
	line   int // bytes of the extension, or of the trailers
	cr     bool
	end    headEnd
}

// feed takes framing bytes from p. data: size bytes of the body come next, after which feed goes on. ended: that was all.
func (c *chunks) feed(p []byte) (n int, data, ended bool, err error) {
	for n < len(p) {
		if c.at == chunkTrailer {
			k, done := c.end.feed(p[n:])
			c.line += k
			if c.line > maxHead {
				return n + k, false, false, errChunk
			}
			return n + k, false, done, nil
		}
		b := p[n]
		n++
		switch c.at {
		case chunkSize:
			err = c.digit(b)
		case chunkExtension:
			if c.line++; c.line > maxHead {
				err = errChunk
			}
		default:
			if c.cr && b != '\n' || b != '\r' && b != '\n' {
				err = errChunk
			}
			c.cr = b == '\r'
		}
		switch {
		case err != nil:
			return n, false, false, err
		case b != '\n':
		case c.at == chunkEnd:
			c.at, c.size, c.digits = chunkSize, 0, 0
		case c.size > 0:
			c.at, c.cr = chunkEnd, false
			return n, true, false, nil
		default:
			c.at, c.line, c.end = chunkTrailer, 0, headEnd{}
		}
	}
	return n, false, false, nil
}

// digit takes a byte of a chunk's size, or the first one behind it.
func (c *chunks) digit(b byte) error {
	var value byte
	switch {
	case '0' <= b && b <= '9':
		value = b - '0'
	case 'a' <= b && b <= 'f':
		value = b - 'a' + 10
	case 'A' <= b && b <= 'F':
		value = b - 'A' + 10
	case c.digits > 0 && endsSize(b):
		c.at, c.line = chunkExtension, 0
		return nil
	default:
		return errChunk
	}
	if c.digits == maxChunkDigits {
		return errChunk
	}
	c.digits++
	c.size = c.size<<4 | int64(value)
	return nil
}

// endsSize: the line's end, an extension, or the white space that some write before either.
func endsSize(b byte) bool {
	switch b {
	case '\r', '\n', ';', ' ', '\t':
		return true
	default:
		return false
	}
}
