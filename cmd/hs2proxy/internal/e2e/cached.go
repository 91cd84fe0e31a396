package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive/filelock"
)

// cacheDir is a folder of that name in hs2proxy's part of the user's cache.
func cacheDir(name string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache folder: %w", err)
	}
	return filepath.Join(cache, "hs2proxy", name), nil
}

// filledOnce makes dir a folder that fill has filled from just this content, unless it is one already. Processes that
// want the same folder at the same time wait for each other, and a folder that was not filled to its end is made anew.
func filledOnce(ctx context.Context, dir, content string, fill func() error) error {
	sum := sha256.Sum256([]byte(content))
	want := hex.EncodeToString(sum[:])
	stampFile := filepath.Join(dir, ".complete")
	complete := func() bool {
		got, err := os.ReadFile(stampFile) //nolint:gosec // in the user's cache folder
		return err == nil && string(got) == want
	}
	if complete() {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return fmt.Errorf("make the cache folder: %w", err)
	}
	unlock, err := filelock.Wait(ctx, dir+".lock")
	if err != nil {
		return fmt.Errorf("wait for another process that fills %s: %w", dir, err)
	}
	defer unlock()
	if complete() {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("clear what was there: %w", err)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	if err := fill(); err != nil {
		return err
	}
	if err := os.WriteFile(stampFile, []byte(want), 0o600); err != nil {
		return fmt.Errorf("write the folder's stamp: %w", err)
	}
	return nil
}
