package localhive

import (
	"io"
	"os"
	"strings"
)

// tails renders the last lines of each file that has any.
func tails(paths ...string) string {
	var b strings.Builder
	for _, path := range paths {
		lines := lastLines(path, 20)
		if len(lines) == 0 {
			continue
		}
		b.WriteString("\nlast lines of " + path + ":\n  " + strings.Join(lines, "\n  "))
	}
	return b.String()
}

// lastLines reads at most n lines, from the last 32 KiB of a file; none when it cannot be read.
func lastLines(path string, n int) []string {
	f, err := os.Open(path) //nolint:gosec // a log of a server of ours
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Size() > 32<<10 {
		if _, err := f.Seek(-32<<10, io.SeekEnd); err != nil {
			return nil
		}
	}
	content, err := io.ReadAll(f)
	if err != nil {
		return nil
	}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	return lines[max(0, len(lines)-n):]
}
