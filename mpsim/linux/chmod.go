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
	e := c.vfs.Chmod(name, mode&0o7777)
	if e == 0 && c.space.Watched() {
		if st, e := c.vfs.Stat(name, true); e == 0 {
			c.writes(c.content(st.Ino) + modeCell)
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
	return c.vfs.MayChange(name)
}

// fchown is fchown(fd, owner, group).
func (c *call) fchown() int64 {
	name, e := c.named(int32(c.arg[0]))
	if e != 0 || name == "" {
		return e
	}
	return c.vfs.MayChange(name)
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
