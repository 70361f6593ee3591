package linux

import (
	"encoding/binary"
	"strconv"
	"strings"

	"hindsight/mpsim/linux/vfs"
)

// openat is openat(dirfd, path, flags, mode).
func (c *call) openat() int64 {
	name, e := c.resolve(int32(c.arg[0]), c.arg[1])
	if e != 0 {
		return e
	}
	return c.openPath(name, uint32(c.arg[2]), uint32(c.arg[3]))
}

func (c *call) openPath(name string, flags, perm uint32) int64 {
	if flags&vfs.OpenAccess == 3 {
		return -EINVAL
	}
	if flags&openTmpfile == openTmpfile {
		return -EOPNOTSUPP
	}
	if fd, ok := descriptorName(name); ok {
		f, e := c.files.get(fd)
		if e != 0 {
			return -ENOENT
		}
		return c.files.add(f, 0, flags&openCloexec != 0)
	}
	if flags&vfs.OpenCreate != 0 {
		c.reads(processCell(cellUmask))
	}
	before, missing := vfs.Stat{}, int64(0)
	replaces := flags&(vfs.OpenCreate|vfs.OpenTrunc) != 0 && c.space.Watched()
	if replaces {
		before, missing = c.vfs.Stat(name, true)
	}
	f, e := c.vfs.Open(name, flags, perm&^c.process.umask)
	if e != 0 {
		return e
	}
	if r, ok := f.(vfs.Regular); ok && replaces && (missing != 0 || flags&vfs.OpenTrunc != 0) {
		c.cut(r, before.Size)
		if missing != 0 {
			c.writes(c.content(r.Stat().Ino) + modeCell)
		}
	}
	if _, ok := f.(vfs.Directory); !ok && flags&vfs.OpenDirectory != 0 {
		f.Close()
		return -ENOTDIR
	}
	fd := c.files.add(&openFile{file: f, path: name, flags: flags &^ (vfs.OpenCreate | vfs.OpenExcl | vfs.OpenTrunc)},
		0, flags&openCloexec != 0)
	if fd < 0 {
		f.Close()
	}
	return fd
}

// descriptorName parses names of descriptors, such as /dev/stdin.
func descriptorName(name string) (int32, bool) {
	switch name {
	case "/dev/stdin":
		return 0, true
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	}
	for _, dir := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if n, ok := strings.CutPrefix(name, dir); ok {
			if fd, err := strconv.Atoi(n); err == nil && fd >= 0 && fd < maxFiles {
				return int32(fd), true
			}
		}
	}
	return 0, false
}

func (c *call) closeFD() int64 { return c.files.close(int32(c.arg[0])) }

// closeRange is close_range(first, last, flags).
func (c *call) closeRange() int64 {
	first, last := uint32(c.arg[0]), uint32(c.arg[1])
	if first > last || c.arg[2]&^4 != 0 {
		return -EINVAL
	}
	for fd := int(first); fd < len(c.files.slots) && fd <= int(last); fd++ {
		if c.arg[2]&4 != 0 {
			c.files.slots[fd].cloexec = true
		} else {
			c.files.close(int32(fd))
		}
	}
	return 0
}

func (c *call) lseek() int64 {
	f, e := c.files.get(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	off := int64(c.arg[1])
	var size int64
	switch file := f.file.(type) {
	case vfs.Regular:
		size = file.Size()
	case vfs.Directory:
		c.files.unlist(f)
	case *device:
		return 0
	default:
		return -ESPIPE
	}
	switch c.arg[2] {
	case 0:
	case 1:
		off += f.offset
	case 2:
		off += size
		c.reads(c.content(f.file.Stat().Ino) + sizeCell)
	case 3: // everything is data
		if off >= size {
			return -6 // ENXIO
		}
	case 4: // at the end of the file
		if off >= size {
			return -6
		}
		off = size
	default:
		return -EINVAL
	}
	if off < 0 {
		return -EINVAL
	}
	f.offset = off
	c.writes(c.offset(f))
	return off
}

const (
	blockBytes   = 4096
	deviceNumber = 0x801
	statBytes    = 128
	statxBytes   = 256
)

// putStat writes struct stat in the layout of RISC-V.
func (c *call) putStat(addr uint64, s vfs.Stat) int64 {
	c.attributes(s)
	var b [statBytes]byte
	le := binary.LittleEndian
	le.PutUint64(b[0:], deviceNumber)
	le.PutUint64(b[8:], s.Ino)
	le.PutUint32(b[16:], s.Mode)
	le.PutUint32(b[20:], s.Nlink)
	le.PutUint64(b[32:], s.Rdev)
	le.PutUint64(b[48:], uint64(s.Size))
	le.PutUint32(b[56:], blockBytes)
	le.PutUint64(b[64:], uint64(s.Size+511)/512)
	for at := 72; at < 120; at += 16 {
		le.PutUint64(b[at:], fileTime)
	}
	return c.fault(c.space.Write(addr, b[:]))
}

// fileTime is the time of every file: the start of the run.
const fileTime = uint64(epochNS / second)

func (c *call) fstat() int64 {
	f, e := c.files.get(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	return c.putStat(c.arg[1], f.file.Stat())
}

const (
	atSymlinkNoFollow = 0x100
	atEmptyPath       = 0x1000
)

// statAt returns the status of the file that newfstatat or statx names.
func (c *call) statAt(dirfd int32, addr, flags uint64) (vfs.Stat, int64) {
	var name string
	var e int64
	if addr != 0 || flags&atEmptyPath == 0 {
		name, e = c.pathArg(addr)
		if e != 0 {
			return vfs.Stat{}, e
		}
	}
	if name == "" {
		if flags&atEmptyPath == 0 {
			return vfs.Stat{}, -ENOENT
		}
		if dirfd == atFDCWD {
			return c.vfs.Stat(c.vfs.Cwd(), true)
		}
		f, e := c.files.get(dirfd)
		if e != 0 {
			return vfs.Stat{}, e
		}
		return f.file.Stat(), 0
	}
	name, e = c.absolute(dirfd, name)
	if e != 0 {
		return vfs.Stat{}, e
	}
	if fd, ok := descriptorName(name); ok {
		f, e := c.files.get(fd)
		if e != 0 {
			return vfs.Stat{}, -ENOENT
		}
		return f.file.Stat(), 0
	}
	return c.vfs.Stat(name, flags&atSymlinkNoFollow == 0)
}

func (c *call) newfstatat() int64 {
	s, e := c.statAt(int32(c.arg[0]), c.arg[1], c.arg[3])
	if e != 0 {
		return e
	}
	return c.putStat(c.arg[2], s)
}

// statx is statx(dirfd, path, flags, mask, buf).
func (c *call) statx() int64 {
	s, e := c.statAt(int32(c.arg[0]), c.arg[1], c.arg[2])
	if e != 0 {
		return e
	}
	c.attributes(s)
	var b [statxBytes]byte
	le := binary.LittleEndian
	le.PutUint32(b[0:], 0x7ff) // STATX_BASIC_STATS
	le.PutUint32(b[4:], blockBytes)
	le.PutUint32(b[16:], s.Nlink)
	le.PutUint16(b[28:], uint16(s.Mode))
	le.PutUint64(b[32:], s.Ino)
	le.PutUint64(b[40:], uint64(s.Size))
	le.PutUint64(b[48:], uint64(s.Size+511)/512)
	for at := 64; at < 128; at += 16 {
		le.PutUint64(b[at:], fileTime)
	}
	le.PutUint32(b[128:], uint32(s.Rdev>>8))
	le.PutUint32(b[132:], uint32(s.Rdev&0xff))
	le.PutUint32(b[136:], deviceNumber>>8)
	le.PutUint32(b[140:], deviceNumber&0xff)
	return c.fault(c.space.Write(c.arg[4], b[:]))
}

// faccessat is faccessat(dirfd, path, mode), and faccessat2, which also has flags. The
// guest is root, so only execution requires a permission.
func (c *call) faccessat() int64 {
	if c.arg[2]&^7 != 0 {
		return -EINVAL
	}
	s, e := c.statAt(int32(c.arg[0]), c.arg[1], 0)
	if e != 0 {
		return e
	}
	if c.arg[2]&1 != 0 && s.Mode&0o111 == 0 {
		return -EACCES
	}
	if c.arg[2]&2 != 0 && s.Mode&vfs.ModeType != vfs.ModeChar && s.Mode&0o222 == 0 {
		return -EROFS
	}
	return 0
}

// readlinkat is readlinkat(dirfd, path, buf, size).
func (c *call) readlinkat() int64 {
	name, e := c.resolve(int32(c.arg[0]), c.arg[1])
	if e != 0 {
		return e
	}
	if int64(c.arg[3]) <= 0 {
		return -EINVAL
	}
	var target string
	if fd, ok := descriptorName(name); ok && strings.HasPrefix(name, "/proc") {
		f, e := c.files.get(fd)
		if e != 0 {
			return -ENOENT
		}
		target = f.path
	} else if target, e = c.vfs.Readlink(name); e != 0 {
		return e
	}
	b := []byte(target)
	b = b[:min(uint64(len(b)), c.arg[3])]
	if f := c.space.Write(c.arg[2], b); f != nil {
		return c.fault(f)
	}
	return int64(len(b))
}

// getdents is getdents64(fd, buf, size).
func (c *call) getdents() int64 {
	f, e := c.files.get(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	d, ok := f.file.(vfs.Directory)
	if !ok {
		return -ENOTDIR
	}
	if f.list == nil {
		list, e := d.Entries()
		if e != 0 {
			return e
		}
		st := d.Stat()
		if e := c.files.list(f, append([]vfs.DirEntry{{Name: ".", Mode: vfs.ModeDir, Ino: st.Ino}, {Name: "..", Mode: vfs.ModeDir, Ino: st.Ino}}, list...)); e != 0 {
			return e
		}
	}
	var out []byte
	limit := min(c.arg[2], ioChunk)
	for f.offset < int64(len(f.list)) {
		it := f.list[f.offset]
		n := (19 + len(it.Name) + 1 + 7) &^ 7
		if uint64(len(out)+n) > limit {
			if len(out) == 0 {
				return -EINVAL
			}
			break
		}
		b := make([]byte, n)
		binary.LittleEndian.PutUint64(b[0:], it.Ino)
		binary.LittleEndian.PutUint64(b[8:], uint64(f.offset+1))
		binary.LittleEndian.PutUint16(b[16:], uint16(n))
		b[18] = byte(it.Mode >> 12)
		copy(b[19:], it.Name)
		out = append(out, b...)
		f.offset++
	}
	if fault := c.space.Write(c.arg[1], out); fault != nil {
		return c.fault(fault)
	}
	return int64(len(out))
}

// getcwd is getcwd(buf, size).
func (c *call) getcwd() int64 {
	c.reads(processCell(cellCwd))
	b := append([]byte(c.vfs.Cwd()), 0)
	if uint64(len(b)) > c.arg[1] {
		return -ERANGE
	}
	if f := c.space.Write(c.arg[0], b); f != nil {
		return c.fault(f)
	}
	return int64(len(b))
}

func (c *call) chdir() int64 {
	name, e := c.resolve(atFDCWD, c.arg[0])
	if e != 0 {
		return e
	}
	st, e := c.vfs.Stat(name, true)
	if e != 0 {
		return e
	}
	if st.Mode&vfs.ModeType != vfs.ModeDir {
		return -ENOTDIR
	}
	c.vfs.Enter(name)
	c.writes(processCell(cellCwd))
	return 0
}

func (c *call) fchdir() int64 {
	f, e := c.files.get(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	if _, ok := f.file.(vfs.Directory); !ok {
		return -ENOTDIR
	}
	c.vfs.Enter(f.path)
	c.writes(processCell(cellCwd))
	return 0
}

// unlinkat is unlinkat(dirfd, path, flags).
func (c *call) unlinkat() int64 {
	name, e := c.resolve(int32(c.arg[0]), c.arg[1])
	if e != 0 {
		return e
	}
	dir := c.arg[2]&0x200 != 0
	if c.arg[2]&^0x200 != 0 {
		return -EINVAL
	}
	return c.vfs.Remove(name, dir)
}

// mkdirat is mkdirat(dirfd, path, mode).
func (c *call) mkdirat() int64 {
	name, e := c.resolve(int32(c.arg[0]), c.arg[1])
	if e != 0 {
		return e
	}
	c.reads(processCell(cellUmask))
	return c.vfs.Mkdir(name, uint32(c.arg[2])&^c.process.umask)
}

// renameat is renameat2(olddir, old, newdir, new, flags) and renameat.
func (c *call) renameat() int64 {
	from, e := c.resolve(int32(c.arg[0]), c.arg[1])
	if e != 0 {
		return e
	}
	to, e := c.resolve(int32(c.arg[2]), c.arg[3])
	if e != 0 {
		return e
	}
	if c.nr == 276 && c.arg[4]&^1 != 0 {
		return -EINVAL
	}
	if c.nr == 276 && c.arg[4] == 1 {
		if _, e := c.vfs.Stat(to, false); e == 0 {
			return -EEXIST
		}
	}
	return c.vfs.Rename(from, to)
}

func (c *call) ftruncate() int64 {
	f, e := c.files.get(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	r, ok := f.file.(vfs.Regular)
	if !ok || !f.writable() || int64(c.arg[1]) < 0 {
		return -EINVAL
	}
	return c.resize(r, int64(c.arg[1]))
}

// resize sets the size of a file.
func (c *call) resize(r vfs.Regular, size int64) int64 {
	old := r.Size()
	e := r.Truncate(size)
	if e == 0 {
		c.cut(r, old)
	}
	return e
}

func (c *call) truncate() int64 {
	name, e := c.resolve(atFDCWD, c.arg[0])
	if e != 0 {
		return e
	}
	if int64(c.arg[1]) < 0 {
		return -EINVAL
	}
	f, e := c.vfs.Open(name, vfs.OpenWriteOnly, 0)
	if e != 0 {
		return e
	}
	defer f.Close()
	r, ok := f.(vfs.Regular)
	if !ok {
		return -EINVAL
	}
	return c.resize(r, int64(c.arg[1]))
}

// fsync: there is nothing to wait for.
func (c *call) fsync() int64 {
	f, e := c.files.get(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	if _, ok := f.file.(stream); ok {
		return -EINVAL
	}
	return 0
}

// needFD implements calls that change nothing but require a valid descriptor.
func (c *call) needFD() int64 {
	_, e := c.files.get(int32(c.arg[0]))
	return e
}

// fallocate can only extend files.
func (c *call) fallocate() int64 {
	f, e := c.files.get(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	r, ok := f.file.(vfs.Regular)
	off, n := int64(c.arg[2]), int64(c.arg[3])
	switch {
	case !ok || !f.writable():
		return -EBADF
	case c.arg[1] != 0:
		return -EOPNOTSUPP
	case off < 0 || n <= 0 || off > vfs.MaxFileBytes-n:
		return -EINVAL
	case off+n > r.Size():
		return c.resize(r, off+n)
	}
	return 0
}

// statfs shows an empty file system in memory.
func (c *call) statfs() int64 {
	var b [120]byte
	binary.LittleEndian.PutUint64(b[0:], 0x01021994) // TMPFS_MAGIC
	binary.LittleEndian.PutUint64(b[8:], blockBytes)
	binary.LittleEndian.PutUint64(b[16:], uint64(c.cfg.MaxTempBytes)/blockBytes)
	binary.LittleEndian.PutUint64(b[24:], uint64(max(c.vfs.Free(), 0))/blockBytes)
	binary.LittleEndian.PutUint64(b[32:], uint64(max(c.vfs.Free(), 0))/blockBytes)
	binary.LittleEndian.PutUint64(b[64:], 255)
	binary.LittleEndian.PutUint64(b[72:], blockBytes)
	return c.fault(c.space.Write(c.arg[1], b[:]))
}
