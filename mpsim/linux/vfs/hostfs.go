package vfs

import (
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// hostRoot is the directory of the host that the guest sees as "/". os.Root keeps every
// name inside it, including symbolic links.
type hostRoot struct {
	root *os.Root
}

// hostError converts an error of the host to a negative error number.
func hostError(err error) int64 {
	if err == nil {
		return 0
	}
	for _, m := range [...]struct {
		host  syscall.Errno
		guest int64
	}{
		{syscall.ENOTDIR, ENOTDIR}, {syscall.EISDIR, EISDIR}, {syscall.ENOTEMPTY, ENOTEMPTY},
		{syscall.ELOOP, ELOOP}, {syscall.EINVAL, EINVAL}, {syscall.ENOSPC, ENOSPC},
		{syscall.EXDEV, EXDEV}, {syscall.ENAMETOOLONG, ENAMETOOLONG}, {syscall.EFBIG, EFBIG},
		{syscall.EROFS, EROFS},
	} {
		if errors.Is(err, m.host) {
			return -m.guest
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return -ENOENT
	case errors.Is(err, fs.ErrExist):
		return -EEXIST
	case errors.Is(err, fs.ErrPermission):
		return -EACCES
	case errors.Is(err, fs.ErrInvalid):
		return -EINVAL
	}
	// The rest is mostly "path escapes from parent" by os.Root.
	return -EACCES
}

// rel returns the name of an absolute guest path relative to the root.
func rel(path string) string {
	if p := strings.TrimLeft(path, "/"); p != "" {
		return p
	}
	return "."
}

// InodeOf returns an inode number that depends only on the name of the file.
func InodeOf(path string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, path)
	return h.Sum64()>>16 | 1<<40
}

// hostStat returns the type, size and executability of a host file.
func (h *hostRoot) hostStat(path string, info fs.FileInfo) (Stat, int64) {
	st := Stat{Ino: InodeOf(path), Nlink: 1}
	switch m := info.Mode(); {
	case m.IsDir():
		st.Mode, st.Size, st.Nlink = ModeDir|0o755, 4096, 2
	case m.IsRegular():
		st.Mode, st.Size = ModeRegular|0o644|uint32(m.Perm()&0o111), info.Size()
	case m&fs.ModeSymlink != 0:
		st.Mode, st.Size = ModeLink|0o777, info.Size()
	default:
		// Devices, sockets and pipes of the host cannot be used.
		st.Mode = ModeRegular
	}
	st.Mode &^= 0o222
	return st, 0
}

func (h *hostRoot) Stat(path string, follow bool) (Stat, int64) {
	look := h.root.Stat
	if !follow {
		look = h.root.Lstat
	}
	info, err := look(rel(path))
	if err != nil {
		return Stat{}, hostError(err)
	}
	return h.hostStat(path, info)
}

// Open opens a regular file or a directory for reading.
func (h *hostRoot) open(path string, flags uint32) (File, int64) {
	name := rel(path)
	info, err := h.root.Stat(name)
	switch {
	case err == nil && flags&(OpenCreate|OpenExcl) == OpenCreate|OpenExcl:
		return nil, -EEXIST
	case err == nil && info.IsDir():
		if flags&OpenAccess != 0 {
			return nil, -EISDIR
		}
		return &hostDir{host: h, path: path}, 0
	case err == nil && !info.Mode().IsRegular():
		return nil, -EACCES
	case err == nil && flags&OpenDirectory != 0:
		return nil, -ENOTDIR
	case err != nil && (!errors.Is(err, fs.ErrNotExist) || flags&OpenCreate == 0):
		return nil, hostError(err)
	}
	if flags&OpenAccess != 0 || flags&OpenTrunc != 0 || flags&OpenCreate != 0 && err != nil {
		return nil, -EROFS
	}
	f, err := h.root.Open(name)
	if err != nil {
		return nil, hostError(err)
	}
	return &hostFile{h, f, path}, 0
}

// hostFile is an open regular file of the host.
type hostFile struct {
	host *hostRoot
	f    *os.File
	path string
}

func (f *hostFile) Close() { _ = f.f.Close() }

// again opens the file again if the error says that it is closed: a machine that returns to
// a checkpoint may find files open that it has closed since.
func (f *hostFile) again(err error) bool {
	if !errors.Is(err, os.ErrClosed) {
		return false
	}
	o, err := f.host.root.Open(rel(f.path))
	if err == nil {
		f.f = o
	}
	return err == nil
}

func (f *hostFile) Stat() Stat {
	info, err := f.f.Stat()
	if f.again(err) {
		info, err = f.f.Stat()
	}
	if err != nil {
		return Stat{Mode: ModeRegular, Nlink: 1}
	}
	st, _ := f.host.hostStat(f.path, info)
	return st
}

func (f *hostFile) Size() int64 { return f.Stat().Size }

func (f *hostFile) ReadAt(p []byte, off int64) (int, int64) {
	if off < 0 {
		return 0, -EINVAL
	}
	n, err := f.f.ReadAt(p, off)
	if f.again(err) {
		n, err = f.f.ReadAt(p, off)
	}
	if err != nil && err != io.EOF && n == 0 {
		return 0, hostError(err)
	}
	return n, 0
}

// It is never open for writing.
func (f *hostFile) WriteAt([]byte, int64) (int, int64) { return 0, -EBADF }
func (f *hostFile) Truncate(int64) int64               { return -EINVAL }

// hostDir is an open directory of the host.
type hostDir struct {
	host *hostRoot
	path string
	more func() []DirEntry // returns the names that all directories of the host have at that path
}

func (d *hostDir) Close() {}

func (d *hostDir) Stat() Stat {
	st, e := d.host.Stat(d.path, true)
	if e != 0 {
		return Stat{Mode: ModeDir | 0o755, Nlink: 2}
	}
	return st
}

func (d *hostDir) Entries() ([]DirEntry, int64) { return inOrder(d.more()), 0 }

// list returns the names in a directory, or none if it does not exist.
func (h *hostRoot) list(path string) []DirEntry {
	f, err := h.root.Open(rel(path))
	if err != nil {
		return nil
	}
	defer f.Close()
	list, err := f.ReadDir(-1)
	if err != nil {
		return nil
	}
	out := make([]DirEntry, 0, len(list))
	for _, e := range list {
		var mode uint32 = ModeRegular
		switch {
		case e.IsDir():
			mode = ModeDir
		case e.Type()&fs.ModeSymlink != 0:
			mode = ModeLink
		}
		out = append(out, DirEntry{e.Name(), mode, InodeOf(strings.TrimRight(path, "/") + "/" + e.Name())})
	}
	return out
}

// has reports whether there is something at a path.
func (h *hostRoot) has(path string) bool {
	_, err := h.root.Lstat(rel(path))
	return err == nil
}

func (h *hostRoot) readlink(path string) (string, int64) {
	s, err := h.root.Readlink(rel(path))
	return s, hostError(err)
}

// refused returns the error of a call that would change what a path names: either it cannot
// be changed, or it does not exist.
func (h *hostRoot) refused(path string, dir bool) int64 {
	info, err := h.root.Lstat(rel(path))
	switch {
	case err != nil:
		return hostError(err)
	case dir && !info.IsDir():
		return -ENOTDIR
	case !dir && info.IsDir():
		return -EISDIR
	}
	return -EROFS
}
