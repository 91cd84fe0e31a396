package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
)

// Limits of a Log, in bytes.
const (
	// MinLimit is the least bound of a spool.
	MinLimit = 1 << 20
	// maxSegment bounds a segment, and with it what is dropped at once; a smaller spool has segments of a sixteenth of it.
	maxSegment = 16 << 20
	// maxPayload bounds a record; a smaller spool takes records of a quarter of it.
	maxPayload = 64 << 20
	// writeSize is about how much is written at once.
	writeSize = 1 << 20
)

// Log is a bounded queue of records on disk. One goroutine uses it; Len and Bytes may be called from any.
type Log struct {
	dir         string
	limit       int64
	segmentSize int64
	maxRecord   int64
	openFile    func(path string) (file, error)
	unlock      func()

	segments []*segment // the oldest first
	active   file       // the last segment while it is written to; nil: the next append begins one
	buf      []byte     // records of the active segment not written yet
	buffered []int      // their lengths

	front      front
	head, next uint64 // the oldest record and the one to come
	reader     *os.File
	readAt     int64  // where record head begins in the oldest segment
	payload    []byte // record head, once read

	records, bytes atomic.Int64
	lost           Lost
}

// Lost counts records that will not be replayed.
type Lost struct {
	// Dropped made room for newer ones; Damaged did not come back from the disk as they were written.
	Dropped, Damaged uint64
	// Torn counts the bytes cut from the end at the start: what a crash left of a record that was never acknowledged.
	Torn int64
}

// file is the part of os.File that a segment is written through.
type file interface {
	Write(p []byte) (int, error)
	Sync() error
	Truncate(size int64) error
	Close() error
}

func createFile(path string) (file, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600) //nolint:gosec // a file of the spool's own folder
}

// OpenLog takes the folder for this process, makes it where it is missing, and goes on where the last process ended. Its
// segments never take more than limit bytes.
func OpenLog(dir string, limit int64) (*Log, error) {
	if limit < MinLimit {
		return nil, fmt.Errorf("a limit of %d bytes is less than %d", limit, MinLimit)
	}
	unlock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	l := &Log{
		dir: dir, limit: limit, segmentSize: min(limit/16, maxSegment), maxRecord: min(limit/4, maxPayload), openFile: createFile, unlock: unlock,
	}
	if l.front, l.head, err = openFront(filepath.Join(dir, "front")); err != nil {
		unlock()
		return nil, err
	}
	if err := l.load(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Log) load() error {
	var err error
	if l.segments, err = listSegments(l.dir); err != nil {
		return err
	}
	l.next = max(l.head, 1)
	if n := len(l.segments); n > 0 {
		last, cut, err := recoverSegment(segmentPath(l.dir, l.segments[n-1].first), l.segments[n-1].first)
		if err != nil {
			return err
		}
		l.lost.Torn = cut
		*l.segments[n-1] = last
		l.next = max(l.next, last.end)
		l.head = max(l.head, l.segments[0].first)
	} else {
		l.head = l.next
	}
	for _, s := range l.segments {
		l.bytes.Add(s.size)
		if err := l.check(s); err != nil {
			return err
		}
	}
	for len(l.segments) > 0 && l.segments[0].end <= l.head {
		if err := l.removeOldest(); err != nil {
			return err
		}
	}
	if n := len(l.segments); n > 0 && l.segments[n-1].first == l.segments[n-1].end {
		if err := l.removeEmptyLast(); err != nil {
			return err
		}
	}
	if len(l.segments) == 0 {
		l.head = l.next
	}
	l.count()
	return nil
}

// check refuses a segment of another format, so that nothing is lost by going back to an older version.
func (l *Log) check(s *segment) error {
	f, err := os.Open(segmentPath(l.dir, s.first))
	if err != nil {
		return fmt.Errorf("open segment: %w", err)
	}
	err = checkMagic(f)
	if errors.Is(err, errDamaged) { // told when its records are asked for
		err = nil
	}
	return errors.Join(err, f.Close())
}

func (l *Log) count() {
	if l.head < l.next {
		l.records.Store(int64(l.next - l.head)) //nolint:gosec // far below 2^63
	} else {
		l.records.Store(0)
	}
}

// Len is how many records wait. It may be called at any time.
func (l *Log) Len() int64 { return l.records.Load() }

// Bytes is what the segments take on disk. It may be called at any time.
func (l *Log) Bytes() int64 { return l.bytes.Load() }

// Lost is what was lost since OpenLog.
func (l *Log) Lost() Lost { return l.lost }

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

func (l *Log) removeEmptyLast() error {
	n := len(l.segments) - 1
	if n == 0 {
		return l.removeOldest()
	}
	s := l.segments[n]
	l.segments = l.segments[:n]
	return l.remove(s)
}

// Front is the oldest record and its number, which is 0 when there is none. What cannot be read as it was written is
// counted and left out; an error means that the disk did not answer and may do so later.
func (l *Log) Front() (uint64, []byte, error) {
	defer l.count()
	for l.head < l.next && l.payload == nil {
		if l.segments[0].end <= l.head {
			if err := l.removeOldest(); err != nil {
				return 0, nil, err
			}
			continue
		}
		err := l.read()
		if errors.Is(err, errDamaged) || errors.Is(err, fs.ErrNotExist) {
			end := l.segments[0].end
			l.lost.Damaged += end - l.head
			l.moveTo(end)
			err = l.settle()
		}
		if err != nil {
			return 0, nil, err
		}
	}
	if l.payload == nil {
		return 0, nil, nil
	}
	return l.head, l.payload, nil
}

// read reads record head.
func (l *Log) read() error {
	s := l.segments[0]
	if l.reader == nil {
		f, err := os.Open(segmentPath(l.dir, s.first))
		if err != nil {
			return fmt.Errorf("open segment: %w", err)
		}
		if err := checkMagic(f); err != nil {
			return errors.Join(err, f.Close())
		}
		l.reader, l.readAt = f, segmentHeader
		for n := s.first; n < l.head; n++ {
			payload, err := readRecord(f, l.readAt, s.size)
			if err != nil {
				return err
			}
			l.readAt += recordHeader + int64(len(payload))
		}
	}
	var err error
	l.payload, err = readRecord(l.reader, l.readAt, s.size)
	return err
}

// moveTo makes number the oldest record; what is known of the one before is forgotten.
func (l *Log) moveTo(number uint64) {
	l.head, l.payload = number, nil
	if l.reader != nil {
		_ = l.reader.Close() // read only
		l.reader = nil
	}
}

// Pop forgets the oldest record, when that is still its number. An error means that a crash would bring it back.
func (l *Log) Pop(number uint64) error {
	if number != l.head || l.head >= l.next {
		return nil
	}
	defer l.count()
	if l.payload == nil { // it was never asked for
		l.moveTo(l.head + 1)
	} else {
		l.head++
		l.readAt += recordHeader + int64(len(l.payload))
		l.payload = nil
	}
	return l.settle()
}

// settle writes the front down and removes the oldest segment when nothing in it is left. Where only the one succeeds, the
// next start makes the other good.
func (l *Log) settle() error {
	err := l.front.move(l.head)
	if len(l.segments) == 0 || l.head < l.segments[0].end {
		return err
	}
	if l.active != nil && len(l.segments) == 1 {
		if cerr := l.active.Close(); cerr != nil {
			err = errors.Join(err, fmt.Errorf("close segment: %w", cerr))
		}
		l.active = nil
	}
	return errors.Join(err, l.removeOldest())
}

func (l *Log) removeOldest() error {
	s := l.segments[0]
	l.segments = l.segments[1:]
	if l.reader != nil {
		_ = l.reader.Close() // read only
		l.reader = nil
	}
	return l.remove(s)
}

func (l *Log) remove(s *segment) error {
	l.bytes.Add(-s.size)
	if err := os.Remove(segmentPath(l.dir, s.first)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove segment: %w", err)
	}
	return nil
}

// Close gives the folder back. Nothing is lost by not calling it.
func (l *Log) Close() error {
	var errs []error
	if l.active != nil {
		errs = append(errs, l.active.Close())
	}
	if l.reader != nil {
		errs = append(errs, l.reader.Close())
	}
	errs = append(errs, l.front.close())
	l.unlock()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}
