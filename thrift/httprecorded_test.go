package thrift

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is observed of testdata/http")

// recorded are the conversations in testdata/http, by client: the segments of each connection.
func recorded(tb testing.TB) map[string][][]segment {
	tb.Helper()
	files, err := filepath.Glob("testdata/http/*.txt")
	if err != nil || len(files) == 0 {
		tb.Fatal("no recordings", err)
	}
	all := map[string][][]segment{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		var connections [][]segment
		for line := range strings.Lines(string(text)) {
			tag, quoted, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			side := Client
			switch tag {
			case "#":
				continue
			case "connection":
				connections = append(connections, nil)
				continue
			case "s":
				side = HiveServer2
			}
			b, err := strconv.Unquote(quoted)
			if err != nil {
				tb.Fatalf("%s: %v: %s", file, err, quoted)
			}
			last := len(connections) - 1
			connections[last] = append(connections[last], segment{side, []byte(b)})
		}
		all[strings.TrimSuffix(filepath.Base(file), ".txt")] = connections
	}
	return all
}

// watch plays a connection and writes down what is observed. cut is a byte of the whole conversation before which its segment is
// cut in two, -1 for none.
func watch(tb testing.TB, segments []segment, size int, skip bool, cut int) []string {
	tb.Helper()
	var seen httpRecorder
	c := NewConn(Limits{}, &seen)
	at := 0
	for _, s := range segments {
		parts := [][]byte{s.bytes}
		if here := cut - at; cut >= 0 && here > 0 && here < len(s.bytes) {
			parts = [][]byte{s.bytes[:here], s.bytes[here:]}
		}
		for _, p := range parts {
			if err := play(tb, c, size, skip, segment{s.side, p}); err != nil {
				tb.Fatal(err)
			}
		}
		at += len(s.bytes)
	}
	if c.Waiting() != 0 || c.Stream(Client).Inside() || c.Stream(HiveServer2).Inside() {
		seen.say("%d wait, inside %t %t", c.Waiting(), c.Stream(Client).Inside(), c.Stream(HiveServer2).Inside())
	}
	return seen.events
}

// TestRecorded plays what real clients and HiveServer2 sent, and compares what is observed with testdata/http/*.want.
func TestRecorded(t *testing.T) {
	for name, connections := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for _, segments := range connections {
				b.WriteString("connection\n")
				for _, event := range watch(t, segments, 64<<10, false, -1) {
					b.WriteString(event + "\n")
				}
			}
			file := "testdata/http/" + name + ".want"
			if *update {
				if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if b.String() != string(want) {
				t.Errorf("observed\n%s\nwanted\n%s", b.String(), want)
			}
		})
	}
}

// TestRecordedCuts: the same conversation is observed alike wherever the reads cut it. Long ones are cut at some bytes only, and
// read byte by byte once.
func TestRecordedCuts(t *testing.T) {
	for name, connections := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			for _, segments := range connections {
				want := watch(t, segments, 64<<10, false, -1)
				length := 0
				for _, s := range segments {
					length += len(s.bytes)
				}
				check := func(got []string, how string, n int) {
					if !slices.Equal(got, want) {
						t.Fatalf("%s %d: observed\n%s\nwanted\n%s", how, n, strings.Join(got, "\n"), strings.Join(want, "\n"))
					}
				}
				step := 1 + length/1500*7
				for cut := 0; cut < length; cut += step {
					check(watch(t, segments, 64<<10, cut%2 == 0, cut), "cut at", cut)
				}
				for _, size := range readSizes {
					for _, skip := range []bool{false, true} {
						check(watch(t, segments, size, skip, -1), "reads of", size)
					}
				}
			}
		})
	}
}
