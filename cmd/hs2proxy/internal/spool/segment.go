package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A segment is segmentMagic, then records: length and CRC-32C (of length and payload), both four bytes little endian, then
// the payload. The last byte of the magic is the format's version.
const (
	segmentMagic  = "HS2SPOL\x01"
	segmentHeader = int64(len(segmentMagic))
	recordHeader  = 8
	segmentSuffix = ".segment"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errDamaged: what is on disk is not what was written.
var errDamaged = errors.New("damaged")

// segment is one file: the records from number first to before end, in size good bytes.
type segment struct {
	first, end uint64
	size       int64
}

func segmentPath(dir string, first uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%020d%s", first, segmentSuffix))
}

// segmentNumber reads a file's name; false for other files.
func segmentNumber(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, segmentSuffix)
	if !ok || len(digits) != 20 {
		return 0, false
	}
	first, err := strconv.ParseUint(digits, 10, 64)
	return first, err == nil && first > 0
}

func appendRecord(dst, payload []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(payload))) //nolint:gosec // Append refuses longer ones
	sum := checksum(dst[len(dst)-4:], payload)
	dst = binary.LittleEndian.AppendUint32(dst, sum)
	return append(dst, payload...)
}

func checksum(length, payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(length, castagnoli), castagnoli, payload)
}

// readRecord reads the record at offset, which ends at or before limit. errDamaged when there is no whole record.
func readRecord(r io.ReaderAt, offset, limit int64) ([]byte, error) {
	var head [recordHeader]byte
	if offset+recordHeader > limit {
		return nil, fmt.Errorf("%w: record header at %d", errDamaged, offset)
	}
	if err := readFull(r, head[:], offset); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(head[:4]))
	if n == 0 || offset+recordHeader+n > limit { // the length is checked before memory is taken for it
		return nil, fmt.Errorf("%w: record length at %d", errDamaged, offset)
	}
	payload := make([]byte, n)
	if err := readFull(r, payload, offset+recordHeader); err != nil {
		return nil, err
	}
	if checksum(head[:4], payload) != binary.LittleEndian.Uint32(head[4:]) {
		return nil, fmt.Errorf("%w: record checksum at %d", errDamaged, offset)
	}
	return payload, nil
}

func readFull(r io.ReaderAt, p []byte, offset int64) error {
	n, err := r.ReadAt(p, offset)
	switch {
	case n == len(p):
		return nil
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%w: file ends before %d", errDamaged, offset+int64(len(p)))
	default:
		return fmt.Errorf("read segment: %w", err)
	}
}

// checkMagic tells a file of ours; another version is an error of its own, so that nothing of it is cut.
func checkMagic(r io.ReaderAt) error {
	var magic [segmentHeader]byte
	if err := readFull(r, magic[:], 0); err != nil {
		return err
	}
	switch last := segmentHeader - 1; {
	case string(magic[:]) == segmentMagic:
		return nil
	case string(magic[:last]) == segmentMagic[:last]:
		return fmt.Errorf("segment of format %d, this version reads %d", magic[last], segmentMagic[last])
	default:
		return fmt.Errorf("%w: not a segment", errDamaged)
	}
}

// recoverSegment counts the whole records of the last segment a process left and cuts what follows them.
func recoverSegment(path string, first uint64) (s segment, cut int64, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0) //nolint:gosec // a file of the spool's own folder
	if err != nil {
		return s, 0, fmt.Errorf("open segment: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return s, 0, fmt.Errorf("segment: %w", err)
	}
	s = segment{first: first, end: first}
	if err := checkMagic(f); err == nil {
		s.size = segmentHeader
	} else if !errors.Is(err, errDamaged) {
		return s, 0, err
	}
	for s.size > 0 && s.size < info.Size() {
		payload, err := readRecord(f, s.size, info.Size())
		if errors.Is(err, errDamaged) {
			break
		}
		if err != nil {
			return s, 0, err
		}
		s.size += recordHeader + int64(len(payload))
		s.end++
	}
	if cut = info.Size() - s.size; cut == 0 {
		return s, 0, nil
	}
	if err := f.Truncate(s.size); err != nil {
		return s, cut, fmt.Errorf("cut segment: %w", err)
	}
	if err := f.Sync(); err != nil {
		return s, cut, fmt.Errorf("sync segment: %w", err)
	}
	return s, cut, nil
}
