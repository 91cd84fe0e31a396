package localpg

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// archiveCache keeps the archive of the binaries, each beside "NAME.sha256", for this PostgreSQL version.
type archiveCache struct{ dir string }

func openArchiveCache(dir string) (archiveCache, error) {
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return archiveCache{}, fmt.Errorf("find the cache folder: %w", err)
		}
		dir = filepath.Join(user, "hs2proxy", "postgres")
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return archiveCache{}, fmt.Errorf("make the cache folder: %w", err)
	}
	return archiveCache{dir: dir}, nil
}

// copyTo puts the archive into dir and reports whether there was one. One that no longer matches its checksum is as
// good as none: it is fetched again.
func (c archiveCache) copyTo(dir string) (bool, error) {
	names, err := archives(c.dir)
	if err != nil {
		return false, err
	}
	found := false
	for _, name := range names {
		want, err := os.ReadFile(filepath.Join(c.dir, name+".sha256")) // #nosec G304 -- our own cache folder
		if errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			return false, fmt.Errorf("read the cached binaries: %w", err)
		}
		to := filepath.Join(dir, name)
		sum, err := copyFile(filepath.Join(c.dir, name), to)
		if err != nil {
			return false, fmt.Errorf("copy the cached binaries: %w", err)
		}
		if sum != strings.TrimSpace(string(want)) {
			if err := os.Remove(to); err != nil {
				return false, fmt.Errorf("copy the cached binaries: %w", err)
			}
			continue
		}
		found = true
	}
	return found, nil
}

// takeFrom keeps what was fetched into dir. The checksum is written last, under its final name only when complete, so
// that a half-written archive is never used.
func (c archiveCache) takeFrom(dir string) error {
	names, err := archives(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		sum, err := fileSum(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("keep the binaries: %w", err)
		}
		sumFile := filepath.Join(c.dir, name+".sha256")
		if old, err := os.ReadFile(sumFile); err == nil && strings.TrimSpace(string(old)) == sum { // #nosec G304 -- our own cache folder
			if have, err := fileSum(filepath.Join(c.dir, name)); err == nil && have == sum {
				continue
			}
		}
		if err := c.replace(name, func(tmp string) error {
			_, err := copyFile(filepath.Join(dir, name), tmp)
			return err
		}); err != nil {
			return err
		}
		if err := c.replace(name+".sha256", func(tmp string) error {
			return os.WriteFile(tmp, []byte(sum+"\n"), 0o600)
		}); err != nil {
			return err
		}
	}
	return nil
}

// replace writes a file beside its place and moves it there.
func (c archiveCache) replace(name string, write func(tmp string) error) error {
	f, err := os.CreateTemp(c.dir, ".partial-")
	if err != nil {
		return fmt.Errorf("keep the binaries: %w", err)
	}
	tmp := f.Name()
	err = f.Close()
	if err == nil {
		err = write(tmp)
	}
	if err == nil {
		err = os.Rename(tmp, filepath.Join(c.dir, name))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("keep the binaries: %w", err), os.Remove(tmp))
	}
	return nil
}

// archives are the names of this version's archives in dir.
func archives(dir string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*-"+string(version)+".txz"))
	if err != nil {
		return nil, fmt.Errorf("look for the binaries: %w", err)
	}
	for i, p := range paths {
		paths[i] = filepath.Base(p)
	}
	return paths, nil
}

func fileSum(path string) (string, error) { return copySum(path, io.Discard) }

// copyFile copies and returns the checksum of what was copied.
func copyFile(from, to string) (sum string, err error) {
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) // #nosec G304 -- our own folders
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	return copySum(from, w)
}

func copySum(from string, to io.Writer) (sum string, err error) {
	r, err := os.Open(from) // #nosec G304 -- our own folders
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(to, h), r); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
