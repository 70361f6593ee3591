package linux

import "hindsight/mpsim/linux/vfs"

// Files without a name, additional names of files in memory, and inotify.

// memfdCreate is memfd_create(name, flags).
func (c *call) memfdCreate() int64 {
	const cloexec, sealable = 1, 2
	name, e := c.pathArg(c.arg[0])
	if e != 0 {
		return e
	}
	if c.arg[1]&^(cloexec|sealable) != 0 {
		return -EINVAL
	}
	return c.files.add(&openFile{file: c.vfs.OpenAnonymous(0o777), path: "/memfd:" + name + " (deleted)", flags: vfs.OpenReadWrite},
		0, c.arg[1]&cloexec != 0)
}

// linkat is linkat(dirfd, path, dirfd, path, flags). It works only within the directories
// in memory.
func (c *call) linkat() int64 {
	from, e := c.resolve(int32(c.arg[0]), c.arg[1])
	if e != 0 {
		return e
	}
	to, e := c.resolve(int32(c.arg[2]), c.arg[3])
	if e != 0 {
		return e
	}
	return c.vfs.Link(from, to)
}

// inotify accepts watches and never reports anything, because only the guest changes
// the files.
type inotify struct {
	ino     uint64
	watches int32
}

func (f *inotify) Stat() vfs.Stat                    { return vfs.Stat{Mode: 0o600, Ino: f.ino, Nlink: 1} }
func (f *inotify) Close()                            {}
func (f *inotify) read([]byte) (int, int64)          { return 0, -EAGAIN }
func (f *inotify) write([]byte) (int, int64)         { return 0, -EBADF }
func (f *inotify) ready() (read, write, hangup bool) { return false, false, false }

// inotifyInit is inotify_init1(flags).
func (c *call) inotifyInit() int64 {
	flags := uint32(c.arg[0])
	if flags&^(openCloexec|openNonblock) != 0 {
		return -EINVAL
	}
	return c.files.add(&openFile{file: &inotify{ino: c.vfs.Inode()}, path: "anon_inode:inotify", flags: flags & openNonblock},
		0, flags&openCloexec != 0)
}

// inotifyAdd is inotify_add_watch(fd, path, mask).
func (c *call) inotifyAdd() int64 {
	f, e := c.files.get(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	w, ok := f.file.(*inotify)
	if !ok {
		return -EINVAL
	}
	name, e := c.resolve(atFDCWD, c.arg[1])
	if e != 0 {
		return e
	}
	if _, e := c.vfs.Stat(name, true); e != 0 {
		return e
	}
	w.watches++
	return int64(w.watches)
}

// inotifyRemove is inotify_rm_watch(fd, watch).
func (c *call) inotifyRemove() int64 {
	f, e := c.files.get(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	if w, ok := f.file.(*inotify); !ok || int32(c.arg[1]) < 1 || int32(c.arg[1]) > w.watches {
		return -EINVAL
	}
	return 0
}
