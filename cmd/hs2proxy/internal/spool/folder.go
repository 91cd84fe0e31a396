package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive/filelock"
)

// lockFolder makes the folder, for this user alone, and takes it for this process.
func lockFolder(dir string) (unlock func(), err error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make the folder: %w", err)
		}
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a folder", dir)
	case info.Mode().Perm()&0o077 != 0: // not changed here: it may be the folder of something else
		return nil, fmt.Errorf("others may enter %s (mode %04o): chmod 700 it, or name a folder in it, which is then made", dir, info.Mode().Perm())
	}
	unlock, err = filelock.Try(filepath.Join(dir, "lock"))
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fmt.Errorf("another hs2proxy uses %s: give each proxy a folder of its own", dir)
	}
	return unlock, err
}

// listSegments finds the segments, the oldest first. Each ends where the next begins; the end and size of the last are open.
func listSegments(dir string) ([]*segment, error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, fmt.Errorf("read the folder: %w", err)
	}
	var out []*segment
	for _, e := range entries {
		first, ok := segmentNumber(e.Name())
		if !ok {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, fmt.Errorf("read the folder: %w", err)
		}
		if n := len(out); n > 0 {
			out[n-1].end = first
		}
		out = append(out, &segment{first: first, size: info.Size()})
	}
	return out, nil
}

// syncFolder makes a new file's name last.
func syncFolder(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // the spool's own folder
	if err != nil {
		return fmt.Errorf("open the folder: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync the folder: %w", err)
	}
	return nil
}
