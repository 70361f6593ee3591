package vfs

import (
	"crypto/sha256"
	"path"
)

// Digests returns the SHA-256 of the content of each file that the guest wrote, by path.
func (w Written) Digests() map[string][sha256.Size]byte {
	files := map[string][sha256.Size]byte{}
	var walk func(at string, n *Node)
	walk = func(at string, n *Node) {
		for name, child := range n.children {
			switch p := path.Join(at, name); {
			case child.isDir():
				walk(p, child)
			case child.writable && child.data != nil:
				files[p] = child.data.digest()
			}
		}
	}
	walk("/", w.v.tree)
	return files
}

// digest returns the SHA-256 of the content.
func (d *Data) digest() (sum [sha256.Size]byte) {
	h := sha256.New()
	left := d.length
	for _, c := range d.chunks {
		n := min(int64(len(c)), left)
		h.Write(c[:n])
		left -= n
	}
	return [sha256.Size]byte(h.Sum(nil))
}
