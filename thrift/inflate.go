package thrift

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

var errCoding = errors.New("a Content-Encoding that is not read")

// gunzip is an inflater and where it reads from.
type gunzip struct {
	gzip gzip.Reader
	from bytes.Reader
}

// gunzips keeps them: each has some 40 KiB of tables.
var gunzips = sync.Pool{New: func() any { return new(gunzip) }}

// inflate appends what b inflates to, at most limit bytes; with more the copy is marked truncated. What came before an error
// counts.
func inflate(into *bodyCopy, b []byte, how coding, limit int) error {
	switch how {
	case codingGzip:
		g := gunzips.Get().(*gunzip)
		g.from.Reset(b)
		defer func() {
			g.from.Reset(nil)
			gunzips.Put(g)
		}()
		if err := g.gzip.Reset(&g.from); err != nil {
			return fmt.Errorf("inflate gzip: %w", err)
		}
		return fill(into, &g.gzip, limit)
	case codingDeflate:
		if r, err := zlib.NewReader(bytes.NewReader(b)); err == nil {
			return fill(into, r, limit)
		}
		// Some send the data without zlib's frame.
		return fill(into, flate.NewReader(bytes.NewReader(b)), limit)
	default:
		return errCoding
	}
}

func fill(into *bodyCopy, r io.Reader, limit int) error {
	for {
		b := slices.Grow(*into.buffer, 512)
		*into.buffer = b
		n, err := r.Read(b[len(b):min(cap(b), limit+1)])
		b = b[:len(b)+n]
		if len(b) > limit {
			clear(b[limit:])
			b, into.truncated = b[:limit], true
		}
		*into.buffer = b
		switch {
		case into.truncated || errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("inflate: %w", err)
		}
	}
}
