package vfs

import (
	"maps"
	"math/bits"
	"slices"

	"hindsight/mpsim/mem"
)

// Node is a file or directory of the part of the file system that exists only in memory:
// /dev, /proc, /sys and the run's own /tmp.
type Node struct {
	ino      uint64
	perm     uint32
	children map[string]*Node // of a directory; otherwise nil
	merged   bool             // of a directory: it also has the host's names, except those in gone
	gone     map[string]bool
	writable bool        // in /tmp, or everywhere in a scratch layer
	data     *Data       // of a regular file
	open     func() File // of a file that is created at each open
	link     string      // of a symbolic link
}

func (n *Node) isDir() bool { return n.children != nil }

func (n *Node) Stat() Stat {
	switch {
	case n.isDir():
		return Stat{Mode: ModeDir | n.perm, Ino: n.ino, Nlink: 2, Size: 4096}
	case n.link != "":
		return Stat{Mode: ModeLink | 0o777, Ino: n.ino, Nlink: 1, Size: int64(len(n.link))}
	case n.open != nil:
		f := n.open()
		defer f.Close()
		return f.Stat()
	}
	return Stat{Mode: ModeRegular | n.perm, Ino: n.ino, Nlink: 1, Size: n.data.length}
}

// Data is the content of a file in memory. It exists as long as the file has a name or
// is open. It is stored in chunks, so that a growing file leaves no garbage.
type Data struct {
	chunks [][]byte // all of chunkBytes except the first, which may be shorter
	length int64
	quota  *int64     // bytes that may still be used; nil for a read-only file
	space  *mem.Space // where these bytes count as memory, too
	links  int        // number of names and open descriptions
}

const (
	chunkBytes = 64 << 10
	leastChunk = 512
)

// fixed returns read-only content.
func fixed(content []byte) *Data {
	d := &Data{length: int64(len(content)), links: 1}
	for at := 0; at < len(content); at += chunkBytes {
		d.chunks = append(d.chunks, content[at:min(at+chunkBytes, len(content))])
	}
	return d
}

// Constant reports whether the content never changes, because it is read-only. It
// implements rewind.Constant.
func (d *Data) Constant() bool { return d.quota == nil }

// Release drops a reference to the content.
func (d *Data) Release() {
	d.links--
	if d.links == 0 && d.quota != nil {
		d.length = 0
		d.trim()
	}
}

// allocated returns the number of bytes in the chunks.
func (d *Data) allocated() int64 {
	if len(d.chunks) == 0 {
		return 0
	}
	return int64(len(d.chunks[0])) + int64(len(d.chunks)-1)*chunkBytes
}

// trim releases the chunks after the end.
func (d *Data) trim() {
	before := d.allocated()
	need := int((d.length + chunkBytes - 1) / chunkBytes)
	clear(d.chunks[need:])
	d.chunks = d.chunks[:need]
	freed := before - d.allocated()
	*d.quota += freed
	d.space.LetGo(uint64(freed))
	if need > 0 { // what is read there later must be zero
		clear(d.chunks[need-1][d.length-int64(need-1)*chunkBytes:])
	}
}

// Resize sets the length of the content to n bytes.
func (d *Data) Resize(n int64) int64 {
	if d.quota == nil {
		return -EPERM
	}
	if n <= d.length {
		d.length = n
		d.trim()
		return 0
	}
	first := int64(chunkBytes)
	if n <= chunkBytes { // doubled each time
		first = max(leastChunk, int64(1)<<bits.Len64(uint64(n-1)))
	}
	count := (n + chunkBytes - 1) / chunkBytes
	more := first + (count-1)*chunkBytes - d.allocated()
	if more > *d.quota || more > 0 && !d.space.Hold(uint64(more)) {
		return -ENOSPC
	}
	if more > 0 {
		*d.quota -= more
		if len(d.chunks) == 0 {
			d.chunks = append(d.chunks, nil)
		}
		if int64(len(d.chunks[0])) < first {
			grown := make([]byte, first)
			copy(grown, d.chunks[0])
			d.chunks[0] = grown
		}
		for int64(len(d.chunks)) < count {
			d.chunks = append(d.chunks, make([]byte, chunkBytes))
		}
	}
	d.length = n
	return 0
}

// Pages returns the pages of up to n bytes of the content from off, for a mapping that
// shares them. The last mapping releases chunks with shared pages.
func (d *Data) Pages(off, n int64) []*mem.Page {
	if len(d.chunks) > 0 && len(d.chunks[0]) < chunkBytes { // it must not be replaced when the file grows
		whole := make([]byte, chunkBytes)
		copy(whole, d.chunks[0])
		more := chunkBytes - int64(len(d.chunks[0]))
		if d.quota == nil || more > *d.quota || !d.space.Hold(uint64(more)) {
			return nil
		}
		*d.quota -= more
		d.chunks[0] = whole
	}
	var pages []*mem.Page
	for end := min(off+n, d.length); off < end; off += mem.PageSize {
		pages = append(pages, (*mem.Page)(d.chunks[off/chunkBytes][off%chunkBytes:]))
	}
	return pages
}

// move copies between p and the content from off, which must exist.
func (d *Data) move(p []byte, off int64, copy func(p, content []byte) int) {
	for len(p) > 0 {
		n := copy(p, d.chunks[off/chunkBytes][off%chunkBytes:])
		p, off = p[n:], off+int64(n)
	}
}

// MemFile is an open file in memory.
type MemFile struct {
	*Data
	st Stat
}

func (f *MemFile) Stat() Stat {
	f.st.Size = f.length
	return f.st
}
func (f *MemFile) Close()      { f.Release() }
func (f *MemFile) Size() int64 { return f.length }

func (f *MemFile) ReadAt(p []byte, off int64) (int, int64) {
	if off < 0 || off >= f.length {
		return 0, 0
	}
	p = p[:min(int64(len(p)), f.length-off)]
	f.move(p, off, func(p, content []byte) int { return copy(p, content) })
	return len(p), 0
}

func (f *MemFile) WriteAt(p []byte, off int64) (int, int64) {
	if off < 0 || off > MaxFileBytes-int64(len(p)) {
		return 0, -EFBIG
	}
	if end := off + int64(len(p)); end > f.length {
		if e := f.Resize(end); e != 0 {
			return 0, e
		}
	}
	f.move(p, off, func(p, content []byte) int { return copy(content, p) })
	return len(p), 0
}

func (f *MemFile) Truncate(n int64) int64 {
	if n > MaxFileBytes {
		return -EFBIG
	}
	return f.Resize(n)
}

// MaxFileBytes bounds the offsets of files.
const MaxFileBytes = 1 << 46

// memDir is an open directory of the file system in memory.
type memDir struct {
	Node *Node
	// more returns names that exist elsewhere under the same path.
	more func() []DirEntry
}

func (d *memDir) Stat() Stat { return d.Node.Stat() }
func (d *memDir) Close()     {}

func (d *memDir) Entries() ([]DirEntry, int64) {
	var list []DirEntry
	if d.more != nil {
		list = d.more()
	}
	for name, n := range d.Node.children {
		st := n.Stat()
		list = append(list, DirEntry{name, st.Mode, st.Ino})
	}
	return inOrder(list), 0
}

// inOrder sorts names. Of several entries with the same name, the last one counts.
func inOrder(list []DirEntry) []DirEntry {
	byName := make(map[string]DirEntry, len(list))
	for _, e := range list {
		byName[e.Name] = e
	}
	out := make([]DirEntry, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, byName[name])
	}
	return out
}
