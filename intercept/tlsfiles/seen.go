package tlsfiles

import "os"

// seen is a file as it was. Links are followed: another file behind the same name is a change.
type seen struct {
	path string
	info os.FileInfo
}

func see(path string) (seen, error) {
	info, err := os.Stat(path)
	return seen{path, info}, err
}

func (s seen) changed() bool {
	info, err := os.Stat(s.path)
	return err != nil || !os.SameFile(info, s.info) || info.Size() != s.info.Size() || !info.ModTime().Equal(s.info.ModTime())
}
