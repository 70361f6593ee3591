package linux

import (
	"encoding/binary"

	"hindsight/mpsim/linux/vfs"
	"hindsight/mpsim/mem"
)

// Newer variants of older calls, with flags.

// Flags of preadv2 and pwritev2.
const (
	rwHighPriority = 1
	rwDataSync     = 2
	rwSync         = 4
)

func (c *call) preadv2() int64  { return c.vector2(c.readFile) }
func (c *call) pwritev2() int64 { return c.vector2(c.writeFile) }

// vector2 is call(fd, buffers, n, offset, high half of offset, flags). The flags for
// durability and priority have no effect on files in memory.
func (c *call) vector2(do func(int32, []buffer, int64) int64) int64 {
	if c.arg[5]&^(rwHighPriority|rwDataSync|rwSync) != 0 {
		return -EOPNOTSUPP
	}
	return c.vector(do, int64(c.arg[3]))
}

// openHowBytes is the size of the first struct open_how: flags, mode, resolve.
const openHowBytes = 24

// openat2 is openat2(dirfd, path, how, size). Flags that restrict how the path is resolved
// are not supported, except two that make no difference.
func (c *call) openat2() int64 {
	const noDevice, noMagicLinks = 1, 2
	if c.arg[3] < openHowBytes {
		return -EINVAL
	}
	how := make([]byte, min(c.arg[3], mem.PageSize))
	if f := c.space.Read(c.arg[2], how); f != nil {
		return c.fault(f)
	}
	for _, b := range how[openHowBytes:] {
		if b != 0 {
			return -E2BIG
		}
	}
	le := binary.LittleEndian
	flags, mode, resolve := le.Uint64(how), le.Uint64(how[8:]), le.Uint64(how[16:])
	creates := flags&vfs.OpenCreate != 0 || flags&openTmpfile == openTmpfile
	switch {
	case flags>>32 != 0 || mode&^0o7777 != 0 || mode != 0 && !creates:
		return -EINVAL
	case resolve&^(noDevice|noMagicLinks) != 0:
		c.note("openat2 with resolve")
		return -ENOSYS
	}
	name, e := c.resolve(int32(c.arg[0]), c.arg[1])
	if e != 0 {
		return e
	}
	return c.openPath(name, uint32(flags), uint32(mode))
}

// fchmodat2 is fchmodat2(dirfd, path, mode, flags).
func (c *call) fchmodat2() int64 {
	switch {
	case c.arg[3]&^(atEmptyPath|atSymlinkNoFollow) != 0:
		return -EINVAL
	case c.arg[3]&atEmptyPath != 0:
		if name, e := c.pathArg(c.arg[1]); e != 0 || name == "" {
			c.arg[1] = c.arg[2]
			return c.fchmod()
		}
	}
	return c.fchmodat()
}

// Offsets in the first version of struct sched_attr: size, policy, flags, nice, priority,
// and three times.
const (
	schedAttrBytes  = 48
	schedAttrPolicy = 4
	schedAttrUrgent = 20
)

// schedGetattr is sched_getattr(pid, attr, size, flags).
func (c *call) schedGetattr() int64 {
	if _, e := c.taskOrSelf(); e != 0 {
		return e
	}
	if c.arg[2] < schedAttrBytes || c.arg[2] > mem.PageSize || c.arg[3] != 0 || int32(c.arg[0]) < 0 {
		return -EINVAL
	}
	var b [schedAttrBytes]byte
	binary.LittleEndian.PutUint32(b[:], schedAttrBytes)
	return c.fault(c.space.Write(c.arg[1], b[:]))
}

// schedSetattr is sched_setattr(pid, attr, flags). Priorities have no effect.
func (c *call) schedSetattr() int64 {
	var b [schedAttrBytes]byte
	if f := c.space.Read(c.arg[1], b[:]); f != nil {
		return c.fault(f)
	}
	le := binary.LittleEndian
	if size := le.Uint32(b[:]); size != 0 && size < schedAttrBytes {
		return -E2BIG
	}
	return c.setScheduler(uint64(le.Uint32(b[schedAttrPolicy:])), le.Uint32(b[schedAttrUrgent:]))
}

// schedInterval is sched_rr_get_interval(pid, time).
func (c *call) schedInterval() int64 {
	const slice = 4_000_000 // nanoseconds
	if _, e := c.taskOrSelf(); e != 0 {
		return e
	}
	return c.putTime(c.arg[1], slice, 1)
}
