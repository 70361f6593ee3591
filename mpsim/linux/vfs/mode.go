package vfs

// MayChange returns 0 if the attributes of a file can be changed, and otherwise the error.
func (v *FS) MayChange(p string) int64 {
	n, covered := v.inMemory(p)
	switch {
	case n != nil && n.link != "":
		return v.MayChange(n.link)
	case n != nil && !n.writable && n.open == nil && (n != v.tree || v.host == nil):
		return -EROFS
	case n != nil && (n != v.tree || v.host == nil):
		return 0
	case covered || v.hostOf(p) == nil:
		return -ENOENT
	}
	if _, e := v.hostOf(p).Stat(p, true); e != 0 {
		return e
	}
	if !v.scratch {
		return -EROFS
	}
	return 0
}

// Chmod changes the permissions of a file. A file of the host is copied into memory first.
func (v *FS) Chmod(p string, perm uint32) int64 {
	if e := v.MayChange(p); e != 0 {
		return e
	}
	n, _ := v.inMemory(p)
	if n == nil {
		st, e := v.Stat(p, true)
		if e == 0 && st.Mode&ModeType == ModeDir {
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
