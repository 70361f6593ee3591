package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// With Config.Writable, the guest can write everywhere. The host's directories do not
// change. What the guest writes is in memory, in directories that also show the host's
// names. Written.Save saves it. A host file is copied when it is first opened for writing.

// hostNames returns the names that the host has in a directory that is also in memory.
func (v *FS) hostNames(p string, dir *Node) []DirEntry {
	var list []DirEntry
	for i := len(v.under) - 1; i >= 0; i-- {
		list = append(list, v.under[i].list(p)...)
	}
	if v.host != nil {
		list = append(list, v.host.list(p)...)
	}
	kept := list[:0]
	for _, e := range list {
		if !dir.gone[e.Name] {
			kept = append(kept, e)
		}
	}
	return kept
}

// up creates a directory in memory that also shows the names of the host's directory. The
// path must be a directory that is not covered.
func (v *FS) up(p string) (*Node, int64) {
	n := v.tree
	for part := range strings.SplitSeq(strings.Trim(p, "/"), "/") {
		if part == "" {
			continue
		}
		next := n.children[part]
		if next == nil {
			if !v.room() {
				return nil, -ENOSPC
			}
			next = v.dir()
			next.writable, next.merged = true, true
			n.children[part] = next
		}
		n = next
	}
	return n, 0
}

// raise copies a host file into memory.
func (v *FS) raise(p string) (*Node, int64) {
	st, e := v.Stat(p, true)
	if e != 0 {
		return nil, e
	}
	from, e := v.hostOf(p).open(p, 0)
	if e != 0 {
		return nil, e
	}
	defer from.Close()
	content, ok := from.(Regular)
	if !ok {
		return nil, -EISDIR
	}
	to, e := v.create(p, st.Mode&0o777|0o200)
	if e != 0 {
		return nil, e
	}
	defer to.Close()
	into, buf := to.(Regular), make([]byte, chunkBytes)
	for off := int64(0); ; {
		n, e := content.ReadAt(buf, off)
		if e == 0 && n > 0 {
			_, e = into.WriteAt(buf[:n], off)
		}
		if e != 0 {
			v.Remove(p, false)
			return nil, e
		}
		off += int64(n)
		if n == 0 {
			n, _ := v.inMemory(p)
			return n, 0
		}
	}
}

// openScratch opens a path that only the host can have, if everything may be written.
func (v *FS) openScratch(p string, flags, perm uint32) (File, int64) {
	st, e := v.Stat(p, true)
	switch {
	case e == -ENOENT && flags&OpenCreate != 0:
		return v.create(p, perm)
	case e != 0:
		return nil, e
	case flags&(OpenCreate|OpenExcl) == OpenCreate|OpenExcl:
		return nil, -EEXIST
	case st.Mode&ModeType == ModeRegular && (flags&OpenAccess != 0 || flags&OpenTrunc != 0):
		n, e := v.raise(p)
		if e != 0 {
			return nil, e
		}
		return v.openNode(n, p, flags)
	case st.Mode&ModeType == ModeDir && flags&(OpenAccess|OpenCreate) != 0:
		return nil, -EISDIR
	}
	return v.openHost(p, flags)
}

// removeHost hides a name that only the host has from this guest.
func (v *FS) removeHost(p string, dir bool) int64 {
	st, e := v.Stat(p, false)
	isDir := st.Mode&ModeType == ModeDir
	switch {
	case e != 0:
		return e
	case dir && !isDir:
		return -ENOTDIR
	case !dir && isDir:
		return -EISDIR
	case isDir && len(v.hostNames(p, &Node{})) > 0:
		return -ENOTEMPTY
	}
	parent, name, e := v.parentOf(p)
	if e != 0 {
		return e
	}
	v.forget(parent, name)
	return 0
}

// bringUp copies both names of a rename into memory, if only the host has them.
func (v *FS) bringUp(from, to string) int64 {
	if n, covered := v.inMemory(from); n == nil && !covered {
		switch st, e := v.Stat(from, false); {
		case e != 0:
			return e
		case st.Mode&ModeType != ModeRegular:
			return -EXDEV
		}
		if _, e := v.raise(from); e != 0 {
			return e
		}
	}
	if n, covered := v.inMemory(to); n == nil && !covered {
		if st, e := v.Stat(to, false); e == 0 && st.Mode&ModeType == ModeDir {
			_, e := v.up(to)
			return e
		}
	}
	return 0
}

// empty reports whether a directory in memory has no names, including those of the host.
func (v *FS) empty(n *Node, p string) bool {
	return len(n.children) == 0 && (!n.merged || len(v.hostNames(p, n)) == 0)
}

// Written is what a guest wrote to files. It remains valid after the guest has ended.
type Written struct{ v *FS }

// Written returns what the guest wrote to files.
func (v *FS) Written() Written { return Written{v} }

// Save writes the present content of the files that the guest wrote below dir, which it
// creates if necessary. With temporary, this includes files in temporary directories (/tmp,
// /dev/shm). What the guest removed is removed from dir.
func (w Written) Save(dir string, temporary bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return w.v.save(root, "/", w.v.tree, temporary)
}

// save writes the content of a directory.
func (v *FS) save(root *os.Root, p string, dir *Node, temporary bool) error {
	for name := range dir.gone {
		if dir.children[name] != nil {
			continue
		}
		if err := root.Remove(rel(path.Join(p, name))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for name, n := range dir.children {
		at := path.Join(p, name)
		if !temporary && (at == "/tmp" || at == "/dev/shm") {
			continue
		}
		var err error
		switch {
		case n.isDir():
			err = v.saveDir(root, at, n, temporary)
		case n.data != nil && n.writable:
			err = n.data.save(root, at, n.perm)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// saveDir writes a directory, if the guest created it or wrote to it.
func (v *FS) saveDir(root *os.Root, at string, n *Node, temporary bool) error {
	made := n.writable && !n.merged && at != "/tmp" && at != "/dev/shm"
	if made || n.merged && len(n.children) > 0 {
		if err := root.MkdirAll(rel(at), 0o755); err != nil {
			return err
		}
	}
	return v.save(root, at, n, temporary)
}

// save writes a file. If it cannot be written completely, an existing file of that name is
// lost.
func (d *Data) save(root *os.Root, at string, perm uint32) error {
	if err := root.MkdirAll(filepath.Dir(rel(at)), 0o755); err != nil {
		return err
	}
	if err := root.Remove(rel(at)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(rel(at), os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(perm&0o777)|0o200)
	if err != nil {
		return err
	}
	left := d.length
	for _, c := range d.chunks {
		n := min(left, int64(len(c)))
		if _, err := f.Write(c[:n]); err != nil {
			return errors.Join(err, f.Close())
		}
		left -= n
	}
	return f.Close()
}
