package load

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/time/rate"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/wirebench/fakehs2"
)

const (
	// slowPiece is how much a slow reader takes at a time, and its socket's buffer, in bytes.
	slowPiece = 64 << 10
	// slowFrame is about a batch's size, in bytes: HiveServer2's frames may well be larger than the 16 MiB at which some
	// proxies give up.
	slowFrame = 20 << 20
	slowWidth = 1000
)

// Slow reads a result of at least size bytes, bytesPerSecond at most (0: as fast as it comes), and returns what it received.
func Slow(ctx context.Context, addr string, size, bytesPerSecond int64) (int64, error) {
	limit := rate.Inf
	if bytesPerSecond > 0 {
		limit = rate.Limit(bytesPerSecond)
		ctx2, cancel := context.WithTimeout(ctx, 4*time.Duration(size/bytesPerSecond)*time.Second+grace)
		defer cancel()
		ctx = ctx2
	}
	limiter := rate.NewLimiter(limit, slowPiece)
	c, err := dial(ctx, addr, func(conn net.Conn) io.Reader {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(slowPiece) // else the kernel takes megabytes for the reader
		}
		return slowReader{ctx, conn, limiter}
	})
	if err != nil {
		return 0, fmt.Errorf("slow: %w", err)
	}
	defer c.close()
	rows := int(size/slowWidth) + 1
	b, err := newBulkOn(c, fakehs2.Result{Rows: rows, Width: slowWidth, Batch: min(rows, slowFrame/slowWidth)})
	for more := err == nil; more; more = err == nil && b.open {
		_, err = b.do(ctx, words.Add(1))
	}
	if err != nil {
		return c.read, fmt.Errorf("slow: %w", err)
	}
	return c.read, nil
}

type slowReader struct {
	ctx     context.Context
	from    io.Reader
	limiter *rate.Limiter
}

func (r slowReader) Read(p []byte) (int, error) {
	p = p[:min(len(p), slowPiece)]
	n, err := r.from.Read(p)
	if n > 0 {
		if werr := r.limiter.WaitN(r.ctx, n); werr != nil && err == nil {
			err = werr
		}
	}
	return n, err
}
