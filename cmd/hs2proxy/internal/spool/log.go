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
	ahead      [][]byte // records from head on, of the oldest segment, as far as they were read
	readAt     int64    // where the next one to read begins

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

func (l *Log) removeEmptyLast() error {
	n := len(l.segments) - 1
	if n == 0 {
		return l.removeOldest()
	}
	s := l.segments[n]
	l.segments = l.segments[:n]
	return l.remove(s)
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
