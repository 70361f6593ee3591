package vfs

import (
	"crypto/sha256"
	"os"
)

// Contents caches the content of host files that were loaded as images, for the kernels of
// several consecutive runs. Its zero value is empty.
type Contents struct {
	known map[string]*Content // by path of the guest
}

// Content is one version of a file.
type Content struct {
	info   os.FileInfo
	Data   []byte
	Digest [sha256.Size]byte
}

// Find returns the content of a host file, or nil if it is not known.
func (c *Contents) Find(f Regular) *Content {
	host, ok := f.(*hostFile)
	if c == nil || !ok || c.known[host.path] == nil {
		return nil
	}
	info, err := host.f.Stat()
	known := c.known[host.path]
	if err != nil || !os.SameFile(info, known.info) || info.Size() != known.info.Size() || !info.ModTime().Equal(known.info.ModTime()) {
		return nil
	}
	return known
}

// Add stores the content of a file, if it is a host file.
func (c *Contents) Add(f Regular, data []byte, digest [sha256.Size]byte) {
	host, ok := f.(*hostFile)
	if c == nil || !ok {
		return
	}
	info, err := host.f.Stat()
	if err != nil || info.Size() != int64(len(data)) {
		return
	}
	if c.known == nil {
		c.known = map[string]*Content{}
	}
	c.known[host.path] = &Content{info, data, digest}
}

// Changeable reports whether the guest can write to a file.
func Changeable(f Regular) bool {
	switch f := f.(type) {
	case *hostFile:
		return false
	case *MemFile:
		return f.quota != nil
	}
	return true
}
