package localpg

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// binaryCache keeps the unpacked binaries of this PostgreSQL version as one tar file beside "NAME.sha256": to unpack the
// archive as it is fetched (xz) takes seconds each time.
type binaryCache struct{ dir, name string }

func openBinaryCache(dir string) (binaryCache, error) {
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return binaryCache{}, fmt.Errorf("find the cache folder: %w", err)
		}
		dir = filepath.Join(user, "hs2proxy", "postgres")
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return binaryCache{}, fmt.Errorf("make the cache folder: %w", err)
	}
	return binaryCache{dir: dir, name: fmt.Sprintf("postgres-%s-%s-%s.tar", version, runtime.GOOS, runtime.GOARCH)}, nil
}

func (c binaryCache) path() string { return filepath.Join(c.dir, c.name) }

// unpackTo puts the binaries into dir and reports whether there were any. What no longer matches its checksum is as good
// as none: it is fetched again.
func (c binaryCache) unpackTo(dir string) (found bool, err error) {
	want, err := os.ReadFile(c.path() + ".sha256")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("read the cached binaries: %w", err)
	}
	sum, err := fileSum(c.path())
	if errors.Is(err, fs.ErrNotExist) || err == nil && sum != strings.TrimSpace(string(want)) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("read the cached binaries: %w", err)
	}
	if err := unpack(c.path(), dir); err != nil {
		return false, fmt.Errorf("unpack the cached binaries: %w", err)
	}
	return true, nil
}

// keep packs the binaries in dir. The checksum is written last, so that half a file is never used.
func (c binaryCache) keep(dir string) error {
	h := sha256.New()
	if err := c.replace(c.name, func(w io.Writer) error { return pack(dir, io.MultiWriter(w, h)) }); err != nil {
		return err
	}
	return c.replace(c.name+".sha256", func(w io.Writer) error {
		_, err := io.WriteString(w, hex.EncodeToString(h.Sum(nil))+"\n")
		return err
	})
}

// replace writes a file beside its place and moves it there.
func (c binaryCache) replace(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(c.dir, ".partial-")
	if err != nil {
		return fmt.Errorf("keep the binaries: %w", err)
	}
	err = errors.Join(write(f), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(c.dir, name))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("keep the binaries: %w", err), os.Remove(f.Name()))
	}
	return nil
}

func fileSum(path string) (sum string, err error) {
	r, err := os.Open(path) // #nosec G304 -- our own cache folder
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// pack writes the files, folders and links below dir.
func pack(dir string, to io.Writer) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	w := tar.NewWriter(to)
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		link := ""
		if info.Mode()&fs.ModeSymlink != 0 {
			if link, err = root.Readlink(path); err != nil {
				return err
			}
		} else if !info.Mode().IsRegular() && !info.IsDir() {
			return nil
		}
		h, err := tar.FileInfoHeader(info, link)
		if err != nil {
			return err
		}
		h.Name, h.Uid, h.Gid, h.Uname, h.Gname = path, 0, 0, "", ""
		if err := w.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
			return err
		}
		return packFile(root, path, w)
	})
	return errors.Join(err, w.Close())
}

func packFile(root *os.Root, path string, w io.Writer) (err error) {
	f, err := root.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = io.Copy(w, f)
	return err
}

// unpack is the reverse of pack; nothing can land outside dir.
func unpack(file, dir string) (err error) {
	r, err := os.Open(file) // #nosec G304 -- our own cache folder
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(h.Name, 0o755)
		case tar.TypeSymlink:
			err = root.Symlink(h.Linkname, h.Name)
		case tar.TypeReg:
			err = unpackFile(root, h, t)
		}
		if err != nil {
			return err
		}
	}
}

func unpackFile(root *os.Root, h *tar.Header, from io.Reader) (err error) {
	f, err := root.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, h.FileInfo().Mode().Perm())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = io.CopyN(f, from, h.Size)
	return err
}
