package linux

// Modes and owners. Everything belongs to the only user. The mode of a file can be changed
// if the file itself can.

// fchmodat is fchmodat(dirfd, path, mode).
func (c *call) fchmodat() int64 {
	name, e := c.resolve(int32(c.arg[0]), c.arg[1])
	if e != 0 {
		return e
	}
	return c.changeMode(name, uint32(c.arg[2]))
}

// fchmod is fchmod(fd, mode).
func (c *call) fchmod() int64 {
	name, e := c.named(int32(c.arg[0]))
	if e != 0 || name == "" {
		return e
	}
	return c.changeMode(name, uint32(c.arg[1]))
}

// changeMode sets the mode of a file.
func (c *call) changeMode(name string, mode uint32) int64 {
	e := c.vfs.chmod(name, mode&0o7777)
	if e == 0 && c.space.Watched() {
		if st, e := c.vfs.stat(name, true); e == 0 {
			c.writes(c.content(st.ino) + modeCell)
		}
	}
	return e
}

// fchownat is fchownat(dirfd, path, owner, group, flags).
func (c *call) fchownat() int64 {
	if _, e := c.statAt(int32(c.arg[0]), c.arg[1], c.arg[4]&atEmptyPath); e != 0 {
		return e
	}
	name, e := c.pathArg(c.arg[1])
	if e != 0 || name == "" {
		return e
	}
	name, e = c.absolute(int32(c.arg[0]), name)
	if e != 0 {
		return e
	}
	return c.vfs.mayChange(name)
}

// fchown is fchown(fd, owner, group).
func (c *call) fchown() int64 {
	name, e := c.named(int32(c.arg[0]))
	if e != 0 || name == "" {
		return e
	}
	return c.vfs.mayChange(name)
}

// named returns the path with which a descriptor was opened, or "" for a pipe or similar
// object.
func (c *call) named(fd int32) (string, int64) {
	f, e := c.files.get(fd)
	switch {
	case e != 0:
		return "", e
	case f.flags&openPath != 0:
		return "", -EBADF
	case len(f.path) == 0 || f.path[0] != '/':
		return "", 0
	}
	return f.path, 0
}

// mayChange reports whether the attributes of a file can be changed.
func (v *vfs) mayChange(p string) int64 {
	n, covered := v.inMemory(p)
	switch {
	case n != nil && n.link != "":
		return v.mayChange(n.link)
	case n != nil && !n.writable && n.open == nil && (n != v.tree || v.host == nil):
		return -EROFS
	case n != nil && (n != v.tree || v.host == nil):
		return 0
	case covered || v.hostOf(p) == nil:
		return -ENOENT
	}
	if _, e := v.hostOf(p).stat(p, true); e != 0 {
		return e
	}
	if !v.scratch {
		return -EROFS
	}
	return 0
}

func (v *vfs) chmod(p string, perm uint32) int64 {
	if e := v.mayChange(p); e != 0 {
		return e
	}
	n, _ := v.inMemory(p)
	if n == nil {
		st, e := v.stat(p, true)
		if e == 0 && st.mode&modeType == modeDir {
			n, e = v.up(p)
		} else if e == 0 {
			n, e = v.raise(p)
		}
		if e != 0 {
			return e
		}
	}
	if n.writable {
		n.perm = perm
	}
	return 0
}
