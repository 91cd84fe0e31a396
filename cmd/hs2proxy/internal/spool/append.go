package spool

import (
	"errors"
	"fmt"
	"os"
)

// Append adds records at the end; they are on disk when it returns. Each gets the next number; one that is empty or
// too long gets 0 and is left out. When the disk refuses, numbers covers the records before that only; the others are not kept, and the
// same call may be made again for them.
func (l *Log) Append(records [][]byte) (numbers []uint64, err error) {
	defer l.count()
	numbers = make([]uint64, 0, len(records))
	var waiting []uint64 // numbers of what is buffered, and zeros between them
	flush := func() error {
		if err := l.flush(); err != nil {
			return err
		}
		numbers = append(numbers, waiting...)
		waiting = waiting[:0]
		return nil
	}
	for _, r := range records {
		size := recordHeader + int64(len(r))
		if size > l.maxRecord || len(r) == 0 {
			waiting = append(waiting, 0)
			continue
		}
		if full := l.active != nil && l.filled()+size > l.segmentSize; full || len(l.buf) >= writeSize {
			if err := flush(); err != nil {
				return numbers, err
			}
			if full {
				if err := l.seal(); err != nil {
					return numbers, err
				}
			}
		}
		if err := l.begin(size); err != nil {
			l.discard()
			return numbers, err
		}
		l.buf = appendRecord(l.buf, r)
		l.buffered = append(l.buffered, len(r))
		waiting = append(waiting, l.next+uint64(len(l.buffered))-1)
	}
	return numbers, flush()
}

// filled is the size the active segment has with what is buffered.
func (l *Log) filled() int64 { return l.segments[len(l.segments)-1].size + int64(len(l.buf)) }

// begin makes room for size bytes, and a segment where none is active.
func (l *Log) begin(size int64) error {
	need := size + int64(len(l.buf))
	if l.active == nil {
		need += segmentHeader
	}
	for l.Bytes()+need > l.limit && len(l.segments) > 0 && (len(l.segments) > 1 || l.active == nil) {
		oldest := l.segments[0]
		if l.head < oldest.end {
			l.lost.Dropped += oldest.end - l.head
			l.moveTo(oldest.end)
			if err := l.front.move(l.head); err != nil {
				return err
			}
		}
		if err := l.removeOldest(); err != nil {
			return err
		}
	}
	if l.active != nil {
		return nil
	}
	s := &segment{first: l.next, end: l.next, size: segmentHeader}
	path := segmentPath(l.dir, s.first)
	f, err := l.openFile(path)
	if err != nil {
		return fmt.Errorf("make segment: %w", err)
	}
	if _, err = f.Write([]byte(segmentMagic)); err == nil {
		err = syncFolder(l.dir)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("begin segment: %w", err), f.Close(), os.Remove(path))
	}
	l.active, l.segments = f, append(l.segments, s)
	l.bytes.Add(segmentHeader)
	return nil
}

// flush writes what is buffered. When that fails, nothing of it counts, and the segment is not written to again.
func (l *Log) flush() error {
	if len(l.buffered) == 0 {
		return nil
	}
	s := l.segments[len(l.segments)-1]
	_, err := l.active.Write(l.buf)
	if err == nil {
		err = l.active.Sync()
	}
	if err != nil {
		// A remainder that cannot be cut is ignored by this process, and by the next one: the following segment's number
		// says where this one ends.
		_ = l.active.Truncate(s.size)
		return errors.Join(fmt.Errorf("write segment: %w", err), l.seal())
	}
	s.size += int64(len(l.buf))
	l.bytes.Add(int64(len(l.buf)))
	l.next += uint64(len(l.buffered))
	s.end = l.next
	l.discard()
	return nil
}

func (l *Log) discard() {
	l.buf, l.buffered = l.buf[:0], l.buffered[:0]
	if cap(l.buf) > 4*writeSize {
		l.buf = nil
	}
}

// seal ends the active segment; one without a record is removed.
func (l *Log) seal() error {
	l.discard()
	err := l.active.Close()
	l.active = nil
	if s := l.segments[len(l.segments)-1]; s.first == s.end {
		err = errors.Join(err, l.removeEmptyLast())
	}
	if err != nil {
		return fmt.Errorf("close segment: %w", err)
	}
	return nil
}
