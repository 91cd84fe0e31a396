package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// syncEvery is after how many moves the front is forced to disk. The kernel has every move, so only a power failure can
// take the front back, by less than this.
const syncEvery = 64

// front is the number of the oldest record not yet replayed, in a file of two slots written in turn: number and CRC-32C. A
// torn write spoils one slot, and the other holds the number before it.
type front struct {
	f     *os.File
	slot  int64 // to be written next
	moves int
}

const frontSlot = 12

// openFront opens or makes the file and reads it; 0 when it tells nothing.
func openFront(path string) (front, uint64, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // a file of the spool's own folder
	if err != nil {
		return front{}, 0, fmt.Errorf("open front: %w", err)
	}
	var b [2 * frontSlot]byte
	if _, err := f.ReadAt(b[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return front{}, 0, errors.Join(fmt.Errorf("read front: %w", err), f.Close())
	}
	fr, number := front{f: f}, uint64(0)
	for slot := range int64(2) {
		s := b[slot*frontSlot:][:frontSlot]
		n := binary.LittleEndian.Uint64(s)
		if crc32.Checksum(s[:8], castagnoli) == binary.LittleEndian.Uint32(s[8:]) && n > number {
			number, fr.slot = n, 1-slot
		}
	}
	return fr, number, nil
}

func (f *front) move(number uint64) error {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, frontSlot), number)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	if _, err := f.f.WriteAt(b, f.slot*frontSlot); err != nil {
		return fmt.Errorf("write front: %w", err)
	}
	f.slot = 1 - f.slot
	if f.moves++; f.moves%syncEvery == 0 {
		if err := f.f.Sync(); err != nil {
			return fmt.Errorf("sync front: %w", err)
		}
	}
	return nil
}

func (f *front) close() error { return errors.Join(f.f.Sync(), f.f.Close()) }
