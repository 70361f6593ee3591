package linux

import (
	"maps"
	"slices"
)

// node is a file or directory of the part of the file system that exists in
// memory only: /dev, /proc, /sys and the run's own /tmp.
type node struct {
	ino      uint64
	perm     uint32
	children map[string]*node // of a directory, else nil
	writable bool             // in /tmp
	data     *memData         // of a regular file
	open     func() file      // of a file that is made anew at each open
	link     string           // of a symbolic link
}

func (n *node) isDir() bool { return n.children != nil }

func (n *node) stat() stat {
	switch {
	case n.isDir():
		return stat{mode: modeDir | n.perm, ino: n.ino, nlink: 2, size: 4096}
	case n.link != "":
		return stat{mode: modeLink | 0o777, ino: n.ino, nlink: 1, size: int64(len(n.link))}
	case n.open != nil:
		f := n.open()
		defer f.close()
		return f.stat()
	}
	return stat{mode: modeRegular | n.perm, ino: n.ino, nlink: 1, size: int64(len(n.data.bytes))}
}

// memData is the content of a file in memory; it outlives its name while it is
// open.
type memData struct {
	bytes []byte
	quota *int64 // bytes that may still be used; nil for a read-only file
	links int    // names and open descriptions
}

func (d *memData) release() {
	if d.links--; d.links == 0 && d.quota != nil {
		*d.quota += int64(cap(d.bytes))
		d.bytes = nil
	}
}

// resize makes the content n bytes long.
func (d *memData) resize(n int64) int64 {
	if d.quota == nil {
		return -EPERM
	}
	if n <= int64(cap(d.bytes)) {
		old := len(d.bytes)
		d.bytes = d.bytes[:n]
		if int(n) > old {
			clear(d.bytes[old:])
		}
		return 0
	}
	// Grow by a quarter, so that appending costs little, but not over the quota.
	have := int64(cap(d.bytes))
	if n-have > *d.quota {
		return -ENOSPC
	}
	want := min(max(n, have+have/4), have+*d.quota)
	*d.quota -= want - have
	grown := make([]byte, n, want)
	copy(grown, d.bytes)
	d.bytes = grown
	return 0
}

// memFile is an open file in memory.
type memFile struct {
	*memData
	st stat
}

func (f *memFile) stat() stat {
	f.st.size = int64(len(f.bytes))
	return f.st
}
func (f *memFile) close()      { f.release() }
func (f *memFile) size() int64 { return int64(len(f.bytes)) }

//nolint:unparam // the interface file has it
func (f *memFile) readAt(p []byte, off int64) (int, int64) {
	if off < 0 || off >= int64(len(f.bytes)) {
		return 0, 0
	}
	return copy(p, f.bytes[off:]), 0
}

func (f *memFile) writeAt(p []byte, off int64) (int, int64) {
	if off < 0 || off > maxFileBytes-int64(len(p)) {
		return 0, -EFBIG
	}
	if end := off + int64(len(p)); end > int64(len(f.bytes)) {
		if e := f.resize(end); e != 0 {
			return 0, e
		}
	}
	return copy(f.bytes[off:], p), 0
}

func (f *memFile) truncate(n int64) int64 {
	if n > maxFileBytes {
		return -EFBIG
	}
	return f.resize(n)
}

// maxFileBytes bounds the offsets of files.
const maxFileBytes = 1 << 46

// memDir is an open directory of the file system in memory.
type memDir struct {
	node *node
	// more gives names that exist elsewhere under the same path.
	more func() []dirEntry
}

func (d *memDir) stat() stat { return d.node.stat() }
func (d *memDir) close()     {}

func (d *memDir) entries() ([]dirEntry, int64) {
	byName := make(map[string]dirEntry)
	if d.more != nil {
		for _, e := range d.more() {
			byName[e.name] = e
		}
	}
	for name, n := range d.node.children {
		st := n.stat()
		byName[name] = dirEntry{name, st.mode, st.ino}
	}
	out := make([]dirEntry, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, byName[name])
	}
	return out, 0
}
