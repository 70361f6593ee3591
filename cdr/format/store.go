package format

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
)

// ImageStore is a directory for the executables and shared objects of many
// traces. It holds each file once, under the SHA-256 of its content.
type ImageStore struct{ Dir string }

func (s *ImageStore) path(sum [sha256.Size]byte) string {
	return filepath.Join(s.Dir, hex.EncodeToString(sum[:]))
}

// Put stores a file unless the store already has it, and returns its SHA-256.
func (s *ImageStore) Put(data []byte) (sum [sha256.Size]byte, err error) {
	sum = sha256.Sum256(data)
	if info, err := os.Stat(s.path(sum)); err == nil && info.Size() == int64(len(data)) {
		return sum, nil
	}
	if err := os.MkdirAll(s.Dir, 0o777); err != nil {
		return sum, err
	}
	f, err := os.CreateTemp(s.Dir, "new-*")
	if err != nil {
		return sum, err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), s.path(sum))
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return sum, err
}

// Get reads a file and checks its content.
func (s *ImageStore) Get(sum [sha256.Size]byte, size uint64) ([]byte, bool) {
	info, err := os.Stat(s.path(sum))
	if err != nil || !info.Mode().IsRegular() || uint64(info.Size()) != size {
		return nil, false
	}
	data, err := os.ReadFile(s.path(sum))
	return data, err == nil && sha256.Sum256(data) == sum
}
