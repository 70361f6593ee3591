package linux

import (
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// hostRoot is the directory of the host that the guest sees as "/". os.Root
// keeps every name inside it, symbolic links too.
type hostRoot struct {
	root     *os.Root
	writable bool
}

// hostError turns an error of the host into an error number.
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
	// What is left is mostly os.Root's "path escapes from parent".
	return -EACCES
}

// rel gives the name under the root of an absolute guest path.
func rel(path string) string {
	if p := strings.TrimLeft(path, "/"); p != "" {
		return p
	}
	return "."
}

// inodeOf gives a file an inode number that depends on its name alone.
func inodeOf(path string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, path)
	return h.Sum64()>>16 | 1<<40
}

// hostStat shows of a host file its type, its size and whether it can be
// executed.
func (h *hostRoot) hostStat(path string, info fs.FileInfo) (stat, int64) {
	st := stat{ino: inodeOf(path), nlink: 1}
	switch m := info.Mode(); {
	case m.IsDir():
		st.mode, st.size, st.nlink = modeDir|0o755, 4096, 2
	case m.IsRegular():
		st.mode, st.size = modeRegular|0o644|uint32(m.Perm()&0o111), info.Size()
	case m&fs.ModeSymlink != 0:
		st.mode, st.size = modeLink|0o777, info.Size()
	default:
		// Devices, sockets and pipes of the host cannot be used.
		st.mode = modeRegular
	}
	if !h.writable {
		st.mode &^= 0o222
	}
	return st, 0
}

func (h *hostRoot) stat(path string, follow bool) (stat, int64) {
	look := h.root.Stat
	if !follow {
		look = h.root.Lstat
	}
	info, err := look(rel(path))
	if err != nil {
		return stat{}, hostError(err)
	}
	return h.hostStat(path, info)
}

// open opens a regular file or a directory.
func (h *hostRoot) open(path string, flags, perm uint32) (file, int64) {
	name := rel(path)
	info, err := h.root.Stat(name)
	switch {
	case err == nil && flags&(openCreate|openExcl) == openCreate|openExcl:
		return nil, -EEXIST
	case err == nil && info.IsDir():
		if flags&openAccess != 0 {
			return nil, -EISDIR
		}
		return &hostDir{h, path}, 0
	case err == nil && !info.Mode().IsRegular():
		return nil, -EACCES
	case err == nil && flags&openDirectory != 0:
		return nil, -ENOTDIR
	case err != nil && (!errors.Is(err, fs.ErrNotExist) || flags&openCreate == 0):
		return nil, hostError(err)
	}
	write := flags&openAccess != 0 || flags&(openTrunc|openCreate) != 0 && (err != nil || flags&openTrunc != 0)
	if write && !h.writable {
		return nil, -EROFS
	}
	mode := os.O_RDONLY
	switch flags & openAccess {
	case openWriteOnly:
		mode = os.O_WRONLY
	case openReadWrite:
		mode = os.O_RDWR
	}
	if flags&openCreate != 0 && h.writable {
		mode |= os.O_CREATE
	}
	if flags&openExcl != 0 && h.writable {
		mode |= os.O_EXCL
	}
	if flags&openTrunc != 0 {
		mode |= os.O_TRUNC
	}
	f, err := h.root.OpenFile(name, mode, fs.FileMode(perm&0o777))
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

func (f *hostFile) close() { _ = f.f.Close() }

func (f *hostFile) stat() stat {
	info, err := f.f.Stat()
	if err != nil {
		return stat{mode: modeRegular, nlink: 1}
	}
	st, _ := f.host.hostStat(f.path, info)
	return st
}

func (f *hostFile) size() int64 { return f.stat().size }

func (f *hostFile) readAt(p []byte, off int64) (int, int64) {
	if off < 0 {
		return 0, -EINVAL
	}
	n, err := f.f.ReadAt(p, off)
	if err != nil && err != io.EOF && n == 0 {
		return 0, hostError(err)
	}
	return n, 0
}

func (f *hostFile) writeAt(p []byte, off int64) (int, int64) {
	if off < 0 || off > maxFileBytes-int64(len(p)) {
		return 0, -EFBIG
	}
	n, err := f.f.WriteAt(p, off)
	if n > 0 {
		return n, 0
	}
	return 0, hostError(err)
}

func (f *hostFile) truncate(n int64) int64 {
	if n > maxFileBytes {
		return -EFBIG
	}
	return hostError(f.f.Truncate(n))
}

// hostDir is an open directory of the host.
type hostDir struct {
	host *hostRoot
	path string
}

func (d *hostDir) close() {}

func (d *hostDir) stat() stat {
	st, e := d.host.stat(d.path, true)
	if e != 0 {
		return stat{mode: modeDir | 0o755, nlink: 2}
	}
	return st
}

func (d *hostDir) entries() ([]dirEntry, int64) { return d.host.list(d.path) }

// list gives the names in a directory, in order.
func (h *hostRoot) list(path string) ([]dirEntry, int64) {
	f, err := h.root.Open(rel(path))
	if err != nil {
		return nil, hostError(err)
	}
	defer f.Close()
	list, err := f.ReadDir(-1)
	if err != nil {
		return nil, hostError(err)
	}
	out := make([]dirEntry, 0, len(list))
	for _, e := range list {
		var mode uint32 = modeRegular
		switch {
		case e.IsDir():
			mode = modeDir
		case e.Type()&fs.ModeSymlink != 0:
			mode = modeLink
		}
		out = append(out, dirEntry{e.Name(), mode, inodeOf(strings.TrimRight(path, "/") + "/" + e.Name())})
	}
	slices.SortFunc(out, func(a, b dirEntry) int { return strings.Compare(a.name, b.name) })
	return out, 0
}

// has says whether there is something at a path.
func (h *hostRoot) has(path string) bool {
	_, err := h.root.Lstat(rel(path))
	return err == nil
}

// names gives what is in a directory here and in those under it.
func (h *hostRoot) names(path string, under []*hostRoot) []dirEntry {
	list, _ := h.list(path)
	for _, u := range under {
		more, _ := u.list(path)
		list = append(list, more...)
	}
	return list
}

func (h *hostRoot) readlink(path string) (string, int64) {
	s, err := h.root.Readlink(rel(path))
	return s, hostError(err)
}

// remove deletes a file or an empty directory.
func (h *hostRoot) remove(path string, dir bool) int64 {
	info, err := h.root.Lstat(rel(path))
	switch {
	case err != nil:
		return hostError(err)
	case !h.writable:
		return -EROFS
	case dir && !info.IsDir():
		return -ENOTDIR
	case !dir && info.IsDir():
		return -EISDIR
	}
	return hostError(h.root.Remove(rel(path)))
}

func (h *hostRoot) mkdir(path string) int64 {
	if _, err := h.root.Lstat(rel(path)); err == nil {
		return -EEXIST
	}
	if !h.writable {
		return -EROFS
	}
	return hostError(h.root.Mkdir(rel(path), 0o755))
}

func (h *hostRoot) rename(from, to string) int64 {
	if !h.writable {
		return -EROFS
	}
	return hostError(h.root.Rename(rel(from), rel(to)))
}
