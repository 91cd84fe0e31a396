package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Front is the oldest record and its number, which is 0 when there is none. What cannot be read as it was written is
// counted and left out; an error means that the disk did not answer and may do so later.
func (l *Log) Front() (uint64, []byte, error) {
	first, payloads, err := l.Ahead(1, 0)
	if first == 0 || err != nil {
		return 0, nil, err
	}
	return first, payloads[0], nil
}

// Ahead are the oldest records and the number of the first, as Front gives it; the others follow it by one. There are at most so many, of so many
// bytes but for the last, and they end where a segment ends or the next one cannot be read.
func (l *Log) Ahead(most, bytes int) (first uint64, payloads [][]byte, err error) {
	defer l.count()
	for l.head < l.next && len(l.ahead) == 0 {
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
	if len(l.ahead) == 0 {
		return 0, nil, nil
	}
	size := 0
	for _, b := range l.ahead[:min(most, len(l.ahead))] {
		size += len(b)
	}
	for len(l.ahead) < most && size < bytes && l.head+uint64(len(l.ahead)) < l.segments[0].end {
		if l.read() != nil { // told when its turn comes
			break
		}
		size += len(l.ahead[len(l.ahead)-1])
	}
	return l.head, l.ahead[:min(most, len(l.ahead))], nil
}

// read reads the record behind those read ahead.
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
	payload, err := readRecord(l.reader, l.readAt, s.size)
	if err != nil {
		return err
	}
	l.readAt += recordHeader + int64(len(payload))
	l.ahead = append(l.ahead, payload)
	return nil
}

// moveTo makes number the oldest record; what was read ahead is forgotten.
func (l *Log) moveTo(number uint64) {
	l.head, l.ahead = number, nil
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
	if len(l.ahead) == 0 { // it was never asked for
		l.moveTo(l.head + 1)
	} else {
		l.head++
		l.ahead = l.ahead[1:]
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
