package spool

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func openLog(t testing.TB, dir string, limit int64) *Log {
	t.Helper()
	l, err := OpenLog(dir, limit)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func closeLog(t testing.TB, l *Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func newDir(t testing.TB) string { return filepath.Join(t.TempDir(), "deep", "spool") }

func appendAll(t testing.TB, l *Log, records ...string) []uint64 {
	t.Helper()
	encoded := make([][]byte, len(records))
	for i, r := range records {
		encoded[i] = []byte(r)
	}
	numbers, err := l.Append(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return numbers
}

// popAll takes up to n records.
func popAll(t testing.TB, l *Log, n int) (out []string) {
	t.Helper()
	for len(out) < n {
		number, b, err := l.Front()
		if err != nil {
			t.Fatal(err)
		}
		if number == 0 {
			break
		}
		out = append(out, string(b))
		if err := l.Pop(number); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

const all = 1 << 20

func wantRecords(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %d records %.200q, want %d: %.200q", len(got), got, len(want), want)
	}
}

func segmentsIn(t testing.TB, dir string) (paths []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"+segmentSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestRecordsComeBackInOrderAfterRestarts(t *testing.T) {
	dir := newDir(t)
	l := openLog(t, dir, MinLimit)
	if n := appendAll(t, l, "a", "b", "c"); !slices.Equal(n, []uint64{1, 2, 3}) {
		t.Errorf("numbers %v", n)
	}
	wantRecords(t, popAll(t, l, 1), "a")
	closeLog(t, l)

	l = openLog(t, dir, MinLimit)
	if n := appendAll(t, l, "d"); n[0] != 4 || l.Len() != 3 {
		t.Errorf("number %v, %d waiting", n, l.Len())
	}
	wantRecords(t, popAll(t, l, all), "b", "c", "d")
	if l.Len() != 0 || l.Bytes() != 0 || len(segmentsIn(t, dir)) != 0 {
		t.Errorf("an empty spool: %d records, %d bytes, %v", l.Len(), l.Bytes(), segmentsIn(t, dir))
	}
	appendAll(t, l, "e")
	closeLog(t, l)

	l = openLog(t, dir, MinLimit)
	defer closeLog(t, l)
	if n := appendAll(t, l, "f"); n[0] != 6 {
		t.Errorf("numbers went back to %v", n)
	}
	wantRecords(t, popAll(t, l, all), "e", "f")
}

// What is read ahead are the oldest records, within a bound; popping and appending in between changes nothing of that.
func TestAhead(t *testing.T) {
	l := openLog(t, newDir(t), MinLimit)
	defer closeLog(t, l)
	wantAhead := func(most, bytes int, first uint64, want ...string) {
		t.Helper()
		n, payloads, err := l.Ahead(most, bytes)
		got := make([]string, len(payloads))
		for i, p := range payloads {
			got[i] = string(p)
		}
		if err != nil || n != first || !slices.Equal(got, want) {
			t.Errorf("Ahead(%d, %d) = %d, %q, %v; want %d, %q", most, bytes, n, got, err, first, want)
		}
	}
	wantAhead(3, 100, 0)
	appendAll(t, l, "a", "bb", "c", "d")
	wantAhead(3, 100, 1, "a", "bb", "c")
	wantAhead(1, 100, 1, "a")
	if err := l.Pop(1); err != nil {
		t.Fatal(err)
	}
	appendAll(t, l, "e")
	wantAhead(10, 100, 2, "bb", "c", "d", "e")
	for n := range uint64(4) {
		if err := l.Pop(2 + n); err != nil {
			t.Fatal(err)
		}
	}
	wantAhead(10, 100, 0)
	appendAll(t, l, "ff", "g", "h")
	wantAhead(10, 2, 6, "ff")
	wantAhead(10, 3, 6, "ff", "g")
}

func TestPopIsForTheOldestOnly(t *testing.T) {
	l := openLog(t, newDir(t), MinLimit)
	defer closeLog(t, l)
	numbers := appendAll(t, l, "a", "b", "c")
	for _, n := range []uint64{numbers[1], numbers[0], numbers[0], 99} { // b is not the oldest yet; a once, though never asked for
		if err := l.Pop(n); err != nil {
			t.Fatal(err)
		}
	}
	wantRecords(t, popAll(t, l, all), "b", "c")
	if err := l.Pop(4); err != nil { // not written yet
		t.Fatal(err)
	}
	if n := appendAll(t, l, "d"); n[0] != 4 {
		t.Errorf("number %v", n)
	}
	wantRecords(t, popAll(t, l, all), "d")
}

func TestFolderAndFilesAreForTheirUserAlone(t *testing.T) {
	dir := newDir(t)
	l := openLog(t, dir, MinLimit)
	defer closeLog(t, l)
	appendAll(t, l, "a")
	wantMode := func(path string, want os.FileMode) {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s: mode %04o, want %04o", path, got, want)
		}
	}
	wantMode(dir, 0o700)
	wantMode(filepath.Join(dir, "front"), 0o600)
	wantMode(filepath.Join(dir, "lock"), 0o600)
	for _, s := range segmentsIn(t, dir) {
		wantMode(s, 0o600)
	}
}

func TestOpenRefuses(t *testing.T) {
	held := newDir(t)
	l := openLog(t, held, MinLimit)
	wide := t.TempDir()
	if err := os.Chmod(wide, 0o755); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	future := newDir(t)
	if err := os.MkdirAll(future, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(segmentPath(future, 1), []byte(segmentMagic[:segmentHeader-1]+"\x02 something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		held: "another hs2proxy uses", wide: "chmod 700", plain: "is not a folder", future: "format 2",
	} {
		if _, err := OpenLog(dir, MinLimit); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := OpenLog(newDir(t), MinLimit-1); err == nil {
		t.Error("a limit that is too low is taken")
	}
	if info, err := os.Stat(wide); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the mode of a folder that was refused: %v, %v", info.Mode(), err)
	}
	closeLog(t, l)
	closeLog(t, openLog(t, held, MinLimit)) // the lock is free again
}

// Whatever is left of the last record, or garbage in its place, the records before it come back, and the next process goes
// on behind them.
func TestTornTailIsCut(t *testing.T) {
	whole := appendRecord(nil, []byte("the last record"))
	tails := map[string][]byte{
		"zeros":    make([]byte, 100),
		"garbage":  []byte("this is no record at all, but long enough to have a header"),
		"bit flip": append(slices.Clone(whole[:len(whole)-1]), whole[len(whole)-1]^1),
		"length":   append([]byte{0xff, 0xff, 0xff, 0xff}, whole[4:]...),
	}
	for n := 1; n < len(whole); n++ {
		tails[fmt.Sprintf("first %d bytes", n)] = whole[:n]
	}
	for name, tail := range tails {
		dir := newDir(t)
		l := openLog(t, dir, MinLimit)
		appendAll(t, l, "a", "b")
		closeLog(t, l)
		addTail(t, dir, tail)

		l = openLog(t, dir, MinLimit)
		if l.Lost().Torn != int64(len(tail)) || l.Lost().Damaged != 0 {
			t.Errorf("%s: lost %+v, want %d torn bytes", name, l.Lost(), len(tail))
		}
		closeLog(t, l)
		l = openLog(t, dir, MinLimit)
		if l.Lost().Torn != 0 || diskUse(t, dir) != l.Bytes() {
			t.Errorf("%s: the tail is still there", name)
		}
		appendAll(t, l, "c")
		closeLog(t, l)
		l = openLog(t, dir, MinLimit)
		wantRecords(t, popAll(t, l, all), "a", "b", "c")
		closeLog(t, l)
	}
}

func addTail(t testing.TB, dir string, tail []byte) {
	t.Helper()
	paths := segmentsIn(t, dir)
	f, err := os.OpenFile(paths[len(paths)-1], os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(tail); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTornHeaderOfASegment(t *testing.T) {
	for n := range segmentHeader {
		dir := newDir(t)
		l := openLog(t, dir, MinLimit)
		appendAll(t, l, "a")
		closeLog(t, l)
		if err := os.WriteFile(segmentPath(dir, 2), []byte(segmentMagic[:n]), 0o600); err != nil {
			t.Fatal(err)
		}
		l = openLog(t, dir, MinLimit)
		if n := appendAll(t, l, "b"); n[0] != 2 {
			t.Errorf("number %v", n)
		}
		wantRecords(t, popAll(t, l, all), "a", "b")
		closeLog(t, l)
	}
}

func TestDamageInTheMiddleIsCounted(t *testing.T) {
	dir := newDir(t)
	l := openLog(t, dir, MinLimit)
	record := strings.Repeat("x", 10<<10)
	var want []string
	for i := range 30 { // six in a segment of 64 KiB
		want = append(want, fmt.Sprintf("%02d%s", i, record))
		appendAll(t, l, want[i])
	}
	closeLog(t, l)
	paths := segmentsIn(t, dir)
	if len(paths) != 5 {
		t.Fatalf("%d segments, want 5", len(paths))
	}
	flip(t, paths[1], segmentHeader+2*(recordHeader+10<<10)+100) // the third record of the second segment
	if err := os.Remove(paths[3]); err != nil {
		t.Fatal(err)
	}
	l = openLog(t, dir, MinLimit)
	defer closeLog(t, l)
	// A missing segment belongs to the one before it: its records are missed there.
	wantRecords(t, popAll(t, l, all), append(slices.Clone(want[:8]), append(want[12:18], want[24:]...)...)...)
	if l.Lost().Damaged != 4+6 {
		t.Errorf("lost %+v, want 10 damaged", l.Lost())
	}
}

func flip(t testing.TB, path string, offset int64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[offset] ^= 0x40
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTheOldestMakeRoom(t *testing.T) {
	dir := newDir(t)
	l := openLog(t, dir, MinLimit)
	record := strings.Repeat("x", 10<<10)
	const n = 300
	for i := range n {
		appendAll(t, l, fmt.Sprintf("%03d%s", i, record))
		if size := diskUse(t, dir); size > MinLimit || size != l.Bytes() {
			t.Fatalf("%d bytes on disk, %d known, %d allowed", size, l.Bytes(), MinLimit)
		}
	}
	dropped := int(l.Lost().Dropped)
	if kept := n - dropped; dropped == 0 || int64(kept) != l.Len() || kept < MinLimit/(11<<10)*7/8 {
		t.Errorf("%d dropped, %d waiting", dropped, l.Len())
	}
	closeLog(t, l)
	l = openLog(t, dir, MinLimit)
	defer closeLog(t, l)
	got := popAll(t, l, all)
	for i, r := range got {
		if want := fmt.Sprintf("%03d", dropped+i); r[:3] != want {
			t.Fatalf("record %d is %s, want %s", i, r[:3], want)
		}
	}
	if len(got) != n-dropped {
		t.Errorf("%d came back, want %d", len(got), n-dropped)
	}
}

// The oldest may be dropped while the store has it in hand.
func TestPopOfADroppedRecord(t *testing.T) {
	l := openLog(t, newDir(t), MinLimit)
	defer closeLog(t, l)
	record := strings.Repeat("x", 60<<10)
	appendAll(t, l, "in hand")
	number, _, err := l.Front()
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; l.Lost().Dropped == 0; i++ {
		appendAll(t, l, fmt.Sprintf("%02d%s", i, record))
	}
	left := l.Len()
	if err := l.Pop(number); err != nil || l.Len() != left {
		t.Errorf("%v, %d records, want %d", err, l.Len(), left)
	}
	if got := popAll(t, l, all); int64(len(got)) != left || len(got[0]) != 2+len(record) {
		t.Errorf("%d came back, want %d", len(got), left)
	}
}

func diskUse(t testing.TB, dir string) (sum int64) {
	t.Helper()
	for _, p := range segmentsIn(t, dir) {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	return sum
}

func TestWhatIsTooLongOrEmptyIsLeftOut(t *testing.T) {
	dir := newDir(t)
	l := openLog(t, dir, MinLimit)
	defer closeLog(t, l)
	longest := strings.Repeat("l", MinLimit/4-recordHeader)
	numbers := appendAll(t, l, "a", longest+"x", "b", "", longest, "c")
	if !slices.Equal(numbers, []uint64{1, 0, 2, 0, 3, 4}) {
		t.Errorf("numbers %v", numbers)
	}
	for range 20 { // long ones fit, in a segment of their own
		appendAll(t, l, longest)
		if diskUse(t, dir) > MinLimit {
			t.Fatal("over the limit")
		}
	}
}

func TestFrontFileIsTornOrLost(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"gone":      os.Remove,
		"empty":     func(p string) error { return os.Truncate(p, 0) },
		"half":      func(p string) error { return os.Truncate(p, frontSlot+3) },
		"both torn": func(p string) error { return os.WriteFile(p, bytes.Repeat([]byte{7}, 2*frontSlot), 0o600) },
	} {
		dir := newDir(t)
		l := openLog(t, dir, MinLimit)
		appendAll(t, l, "a", "b", "c")
		popAll(t, l, 2)
		closeLog(t, l)
		if err := spoil(filepath.Join(dir, "front")); err != nil {
			t.Fatal(err)
		}
		l = openLog(t, dir, MinLimit)
		got := popAll(t, l, all)
		// Records may come again, none may be missing.
		if want := []string{"a", "b", "c"}; len(got) == 0 || !slices.Equal(got, want[3-len(got):]) {
			t.Errorf("%s: got %v", name, got)
		}
		closeLog(t, l)
	}
}

// A write of the front torn at any byte leaves the number before or the new one.
func TestTornMoveOfTheFront(t *testing.T) {
	dir := newDir(t)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "front")
	images := make([][]byte, 0, 40)
	f, n, err := openFront(path)
	if err != nil || n != 0 {
		t.Fatal(n, err)
	}
	for n := uint64(1); n < 12; n++ {
		if err := f.move(n * 1009); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, append(b, make([]byte, 2*frontSlot-len(b))...))
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(images); i++ {
		for cut := range 2 * frontSlot {
			torn := append(slices.Clone(images[i][:cut]), images[i-1][cut:]...)
			if err := os.WriteFile(path, torn, 0o600); err != nil {
				t.Fatal(err)
			}
			f, n, err := openFront(path)
			if err != nil {
				t.Fatal(err)
			}
			if n != uint64(i)*1009 && n != uint64(i+1)*1009 {
				t.Errorf("torn at byte %d of move %d: %d", cut, i, n)
			}
			if err := f.close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// brokenFile is a disk that is full after some bytes, or whose fsync fails, and that may refuse to cut what it wrote.
type brokenFile struct {
	file
	d *brokenDisk
}

type brokenDisk struct {
	room            int // bytes
	sync, open, cut error
}

var errFull = errors.New("no space left on device")

func (f brokenFile) Write(p []byte) (int, error) {
	if len(p) <= f.d.room {
		f.d.room -= len(p)
		return f.file.Write(p)
	}
	n, err := f.file.Write(p[:f.d.room])
	f.d.room = 0
	return n, errors.Join(errFull, err)
}

func (f brokenFile) Sync() error { return errors.Join(f.d.sync, f.file.Sync()) }

func (f brokenFile) Truncate(size int64) error {
	if f.d.cut != nil {
		return f.d.cut
	}
	return f.file.Truncate(size)
}

func (d *brokenDisk) openFile(path string) (file, error) {
	if d.open != nil {
		return nil, d.open
	}
	f, err := createFile(path)
	return brokenFile{f, d}, err
}

func TestDiskFailsAndWorksAgain(t *testing.T) {
	for name, broken := range map[string]brokenDisk{
		"full in a record":        {room: 30},
		"full in a later record":  {room: 300},
		"full, and cannot be cut": {room: 300, cut: errFull},
		"full in the header":      {room: 3},
		"fsync":                   {room: all, sync: errFull},
		"open":                    {room: all, open: errFull},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newDir(t)
			l := openLog(t, dir, MinLimit)
			appendAll(t, l, "before")
			closeLog(t, l)
			l = openLog(t, dir, MinLimit)
			l.openFile = broken.openFile
			record := strings.Repeat("r", 50)
			want := []string{"before"}
			var refused error
			for i := range 8 {
				numbers, err := l.Append([][]byte{fmt.Appendf(nil, "%d%s", i, record)})
				if (err == nil) != (len(numbers) == 1) {
					t.Fatalf("%v with %v", err, numbers)
				}
				if err != nil {
					refused = err
					continue
				}
				want = append(want, fmt.Sprintf("%d%s", i, record))
			}
			if !errors.Is(refused, errFull) {
				t.Errorf("got %v", refused)
			}
			l.openFile = createFile
			appendAll(t, l, "after", "again")
			if l.Lost() != (Lost{}) {
				t.Errorf("lost %+v", l.Lost())
			}
			closeLog(t, l)
			l = openLog(t, dir, MinLimit)
			defer closeLog(t, l)
			wantRecords(t, popAll(t, l, all), append(want, "after", "again")...)
			if l.Lost().Damaged != 0 {
				t.Errorf("lost %+v", l.Lost())
			}
		})
	}
}

func TestReplayAndAppendInTurn(t *testing.T) {
	l := openLog(t, newDir(t), MinLimit)
	defer closeLog(t, l)
	next, done := 0, 0
	for round := range 150 {
		for range round % 7 {
			appendAll(t, l, fmt.Sprintf("%d-%s", next, strings.Repeat("y", next*37%3000)))
			next++
		}
		for _, r := range popAll(t, l, round%6) {
			if n, _, _ := strings.Cut(r, "-"); n != fmt.Sprint(done) {
				t.Fatalf("got %s, want %d", n, done)
			}
			done++
		}
	}
	if got := len(popAll(t, l, all)); done+got != next || l.Lost() != (Lost{}) {
		t.Errorf("%d of %d came back, lost %+v", done+got, next, l.Lost())
	}
}
