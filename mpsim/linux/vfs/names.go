package vfs

import (
	"path"
	"strings"
)

// Remove deletes a file, or an empty directory.
func (v *FS) Remove(p string, dir bool) int64 {
	n, covered := v.inMemory(p)
	switch {
	case n == nil && !covered && v.scratch:
		return v.removeHost(p, dir)
	case n == nil && !covered && v.host != nil:
		return v.host.refused(p, dir)
	}
	if n == nil {
		return -ENOENT
	}
	parent, name, e := v.parentOf(p)
	switch {
	case e != 0:
		return e
	case dir && !n.isDir():
		return -ENOTDIR
	case !dir && n.isDir():
		return -EISDIR
	case n.isDir() && !v.empty(n, p):
		return -ENOTEMPTY
	}
	v.drop(parent, name)
	return 0
}

// drop removes a name from a directory of /tmp.
func (v *FS) drop(dir *Node, name string) {
	if d := dir.children[name].data; d != nil {
		d.Release()
	}
	v.forget(dir, name)
	v.nodes--
	v.space.LetGo(nodeBytes)
}

// forget removes a name from a directory. The working directory may be below it.
func (v *FS) forget(dir *Node, name string) {
	delete(dir.children, name)
	if dir.merged {
		if dir.gone == nil {
			dir.gone = map[string]bool{}
		}
		dir.gone[name] = true
	}
	v.cwdNode = nil
}

// nodeBytes is the size of a file besides its content, with the longest name.
const nodeBytes = 1 << 10

// room counts one more file. It reports false if there is no room for it.
func (v *FS) room() bool {
	if v.nodes >= maxNodes || !v.space.Hold(nodeBytes) {
		return false
	}
	v.nodes++
	return true
}

// Mkdir creates a directory.
func (v *FS) Mkdir(p string, perm uint32) int64 {
	n, covered := v.inMemory(p)
	if n == nil && !covered && (v.host != nil || v.scratch) {
		switch _, e := v.Stat(p, false); {
		case e == 0:
			return -EEXIST
		case !v.scratch:
			return -EROFS
		}
	}
	if n != nil {
		return -EEXIST
	}
	parent, name, e := v.parentOf(p)
	if e != 0 {
		return e
	}
	if !v.room() {
		return -ENOSPC
	}
	d := v.dir()
	d.writable, d.perm = true, perm&0o777
	parent.children[name] = d
	return 0
}

// Rename moves a file. It stays in /tmp or in the host's directory.
func (v *FS) Rename(from, to string) int64 {
	if v.scratch {
		if e := v.bringUp(from, to); e != 0 {
			return e
		}
	}
	n, coveredFrom := v.inMemory(from)
	old, coveredTo := v.inMemory(to)
	onHost := v.host != nil && !v.scratch
	switch {
	case n == nil && old == nil && !coveredFrom && !coveredTo && onHost:
		return -EROFS
	case onHost && (n == nil && !coveredFrom || n != nil && !coveredTo):
		return -EXDEV
	case n == nil:
		return -ENOENT
	}
	src, srcName, e := v.parentOf(from)
	if e != 0 {
		return e
	}
	dst, dstName, e := v.parentOf(to)
	switch {
	case e != 0:
		return e
	case n == old:
		return 0
	case strings.HasPrefix(path.Clean(to)+"/", path.Clean(from)+"/"):
		return -EINVAL
	case old != nil && old.isDir() && !n.isDir():
		return -EISDIR
	case old != nil && !old.isDir() && n.isDir():
		return -ENOTDIR
	case old != nil && old.isDir() && !v.empty(old, to):
		return -ENOTEMPTY
	}
	if old != nil {
		v.drop(dst, dstName)
	}
	v.forget(src, srcName)
	dst.children[dstName] = n
	return 0
}

// MakeSocket creates the file that represents the address of a socket.
func (v *FS) MakeSocket(p string) int64 {
	dir, name, e := v.parentOf(p)
	if e != 0 {
		return e
	}
	if !v.room() {
		return -ENOSPC
	}
	ino := v.Inode()
	dir.children[name] = &Node{ino: ino, perm: 0o755, writable: true, open: func() File { return socketFile(ino) }}
	return 0
}

// socketFile is the file of a socket's address. It cannot be opened.
type socketFile uint64

func (f socketFile) Stat() Stat { return Stat{Mode: ModeSocket | 0o755, Ino: uint64(f), Nlink: 1} }
func (f socketFile) Close()     {}

// Link gives a file in memory another name.
func (v *FS) Link(from, to string) int64 {
	if v.scratch {
		if e := v.bringUp(from, to); e != 0 {
			return e
		}
		if _, e := v.Stat(to, false); e == 0 {
			return -EEXIST
		}
	}
	n, covered := v.inMemory(from)
	old, coveredTo := v.inMemory(to)
	switch {
	case n == nil && (covered || v.hostOf(from) == nil):
		return -ENOENT
	case old != nil:
		return -EEXIST
	case n == nil || !coveredTo && !v.scratch:
		return -EPERM
	case n.data == nil || !n.writable:
		return -EPERM
	}
	dir, _, e := v.parentOf(to)
	if e != 0 {
		return e
	}
	if !v.room() {
		return -ENOSPC
	}
	n.data.links++
	dir.children[path.Base(to)] = n
	return 0
}
