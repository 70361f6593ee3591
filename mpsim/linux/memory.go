package linux

import (
	"errors"

	"hindsight/mpsim/linux/vfs"
	"hindsight/mpsim/mem"
)

// Flags of mmap.
const (
	mapShared         = 0x01
	mapPrivate        = 0x02
	mapSharedValidate = 0x03
	mapTypeMask       = 0x0f
	mapFixed          = 0x10
	mapAnonymous      = 0x20
	mapNoReserve      = 0x4000
	mapStack          = 0x20000
	mapFixedNoReplace = 0x100000
)

// Flags of mremap.
const (
	mremapMayMove   = 1
	mremapFixed     = 2
	mremapDontUnmap = 4
)

const pageMask = mem.PageSize - 1

// mapError converts an error of the space to an error number.
func mapError(err error) int64 {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, mem.ErrExists):
		return -EEXIST
	case errors.Is(err, mem.ErrNoMemory):
		return -ENOMEM
	}
	return -EINVAL
}

func (c *call) brk() int64 {
	if inGuard(c.space.Break(), c.arg[0]) {
		return int64(c.space.Break())
	}
	return int64(c.space.SetBreak(c.arg[0]))
}

// inGuard reports whether [addr, end) intersects the gap below the main stack. Only
// mappings at a fixed address may do so.
func inGuard(addr, end uint64) bool {
	const stackLow = stackTop - stackBytes
	return addr < stackLow && end > stackLow-stackGuard
}

// prot converts PROT_ bits to permissions. On RISC-V, writable memory is also readable.
func prot(bits uint64) mem.Prot {
	p := mem.Prot(bits & 7)
	if p&mem.Write != 0 {
		p |= mem.Read
	}
	return p
}

// mmap is mmap(addr, length, prot, flags, fd, offset).
func (c *call) mmap() int64 {
	addr, length, flags, off := c.arg[0], mem.Pages(c.arg[1]), c.arg[3], c.arg[5]
	kind := flags & mapTypeMask
	if off&pageMask != 0 || c.arg[1] == 0 || (kind != mapShared && kind != mapPrivate && kind != mapSharedValidate) {
		return -EINVAL
	}
	if length == 0 || length > userTop {
		return -ENOMEM
	}
	fixed := flags&(mapFixed|mapFixedNoReplace) != 0
	attr := mem.Attr{Prot: prot(c.arg[2]), Uncounted: flags&(mapNoReserve|mapStack) != 0, Shared: kind != mapPrivate}
	var content pager
	if flags&mapAnonymous == 0 {
		var e int64
		content, e = c.pagerOf(int32(c.arg[4]), kind != mapPrivate, attr.Prot)
		if e != 0 {
			return e
		}
		attr.Kind, attr.Name = mem.File, content.name
	}
	switch {
	case fixed && addr&pageMask != 0:
		return -EINVAL
	case fixed && (addr > userTop || length > userTop-addr):
		return -ENOMEM
	case fixed && addr < mem.LowestAddress:
		return -EPERM
	case !fixed:
		var ok bool
		addr, ok = c.mmapPlace(addr, length, off, content)
		if !ok {
			return -ENOMEM
		}
	}
	if err := c.space.Map(addr, length, attr, fixed && flags&mapFixedNoReplace == 0); err != nil {
		return mapError(err)
	}
	if content.file != nil {
		if e := c.mapContent(addr, length, off, attr, content); e != 0 {
			_ = c.space.Unmap(addr, length)
			return e
		}
		if attr.Prot&mem.Exec != 0 && !attr.Shared {
			c.mappedCode(content, addr, off)
		}
	}
	return int64(addr)
}

// pager is a file to be mapped.
type pager struct {
	file vfs.Regular
	name string
}

// pagerOf returns the file of a descriptor, if it can be mapped in this way.
func (c *call) pagerOf(fd int32, shared bool, p mem.Prot) (pager, int64) {
	f, e := c.files.get(fd)
	if e != 0 {
		return pager{}, e
	}
	file, ok := f.file.(vfs.Regular)
	if !ok {
		return pager{}, -ENODEV
	}
	if !f.readable() || shared && p&mem.Write != 0 && !f.writable() {
		return pager{}, -EACCES
	}
	if _, own := f.file.(*vfs.MemFile); shared && p&mem.Write != 0 && !own {
		c.note("mmap of a file of the root directory, shared and writable")
		return pager{}, -ENODEV
	}
	return pager{file, f.path}, 0
}

// mapContent copies a file's content into the new mapping at addr. Whole pages after the
// end of the file raise SIGBUS.
func (c *call) mapContent(addr, length, off uint64, attr mem.Attr, from pager) int64 {
	size := uint64(max(from.file.Size(), 0))
	var have uint64
	if off < size {
		have = min(size-off, length)
	}
	if have > c.space.MaxBytes() {
		return -ENOMEM
	}
	if end := mem.Pages(have); end < length {
		attr.Hole = true
		if err := c.space.Map(addr+end, length-end, attr, true); err != nil {
			return mapError(err)
		}
	}
	if f, ok := from.file.(*vfs.MemFile); ok && attr.Shared && vfs.Changeable(f) && have > 0 {
		pages := f.Pages(int64(off), int64(have))
		if pages == nil {
			return -ENOMEM
		}
		if err := c.space.Share(addr, pages); err != nil {
			return mapError(err)
		}
		c.moved(from.file, int64(off), int(have), readAccess) // the present content of the file
		c.space.Tell(addr, have, mem.Write)
		return 0
	}
	buf := make([]byte, min(have, ioChunk))
	for done := uint64(0); done < have; {
		n, e := from.file.ReadAt(buf[:min(have-done, ioChunk)], int64(off+done))
		if e != 0 {
			return e
		}
		if n == 0 {
			break // the file became shorter: the rest is zero
		}
		c.moved(from.file, int64(off+done), n, readAccess)
		if f := c.space.Fill(addr+done, buf[:n]); f != nil {
			if f.Cause == mem.OverLimit {
				return -ENOMEM
			}
			return c.fault(f)
		}
		done += uint64(n)
	}
	return 0
}

func (c *call) munmap() int64 {
	addr, length := c.arg[0], mem.Pages(c.arg[1])
	if addr&pageMask != 0 || length == 0 || addr > userTop || length > userTop-addr {
		return -EINVAL
	}
	return mapError(c.space.Unmap(addr, length))
}

func (c *call) mprotect() int64 {
	addr, length := c.arg[0], mem.Pages(c.arg[1])
	if addr&pageMask != 0 || c.arg[2]&^7 != 0 {
		return -EINVAL
	}
	if length == 0 {
		if c.arg[1] != 0 {
			return -ENOMEM
		}
		return 0
	}
	if addr > userTop || length > userTop-addr {
		return -ENOMEM
	}
	return mapError(c.space.Protect(addr, length, prot(c.arg[2])))
}

// madvise drops pages when asked to. Other advice has no effect.
func (c *call) madvise() int64 {
	c.quiet = true
	addr, length := c.arg[0], mem.Pages(c.arg[1])
	if addr&pageMask != 0 || length == 0 && c.arg[1] != 0 {
		return -EINVAL
	}
	switch c.arg[2] {
	case 4, 8: // MADV_DONTNEED, MADV_FREE
		if length == 0 {
			return 0
		}
		if addr > userTop || length > userTop-addr || !c.space.Mapped(addr, length) {
			return -ENOMEM
		}
		return c.dropAnonymous(addr, addr+length)
	case 0, 1, 2, 3, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21:
		return 0
	}
	return -EINVAL
}

// dropAnonymous discards the pages of a range, except those of files and of the program,
// which would then have the content of the file.
func (c *call) dropAnonymous(addr, end uint64) int64 {
	for addr < end {
		v, ok := c.space.Find(addr)
		if !ok {
			return -ENOMEM
		}
		to := min(v.End, end)
		if v.Kind != mem.File && v.Kind != mem.Image && v.Kind != mem.Trampoline {
			if err := c.space.Drop(addr, to-addr); err != nil {
				return mapError(err)
			}
		}
		addr = to
	}
	return 0
}

// mremap is mremap(old, old length, new length, flags, new).
func (c *call) mremap() int64 {
	c.quiet = true
	old, flags, to := c.arg[0], c.arg[3], c.arg[4]
	oldLen, newLen := mem.Pages(c.arg[1]), mem.Pages(c.arg[2])
	if old&pageMask != 0 || newLen == 0 || oldLen == 0 || flags&^(mremapMayMove|mremapFixed|mremapDontUnmap) != 0 {
		return -EINVAL
	}
	if flags&mremapDontUnmap != 0 {
		c.note("mremap that keeps the old mapping")
		return -EINVAL
	}
	if oldLen > userTop || newLen > userTop {
		return -ENOMEM
	}
	v, ok := c.space.Find(old)
	if !ok || old+oldLen > v.End {
		return -EFAULT
	}
	if flags&mremapFixed != 0 {
		return c.mremapTo(old, oldLen, to, newLen, flags)
	}
	switch {
	case newLen == oldLen:
		return int64(old)
	case newLen < oldLen:
		if err := c.space.Unmap(old+newLen, oldLen-newLen); err != nil {
			return mapError(err)
		}
		return int64(old)
	}
	grown := newLen - oldLen
	if old+oldLen == v.End && c.space.Free(v.End, grown) && v.End+grown <= userTop && !inGuard(v.End, v.End+grown) {
		return c.settle(c.space.Map(v.End, grown, v.Attr, false), old)
	}
	if flags&mremapMayMove == 0 {
		return -ENOMEM
	}
	at, ok := c.space.FindFree(newLen)
	if !ok {
		return -ENOMEM
	}
	return c.settle(c.space.Move(old, oldLen, at, newLen), at)
}

// mremapTo moves a mapping to a fixed address.
func (c *call) mremapTo(old, oldLen, to, newLen, flags uint64) int64 {
	if flags&mremapMayMove == 0 || to&pageMask != 0 || to < mem.LowestAddress ||
		to > userTop-newLen || to < old+oldLen && old < to+newLen {
		return -EINVAL
	}
	if err := c.space.Unmap(to, newLen); err != nil {
		return mapError(err)
	}
	return c.settle(c.space.Move(old, oldLen, to, newLen), to)
}

// settle returns addr, or the error as a number.
func (c *call) settle(err error, addr uint64) int64 {
	if err != nil {
		return mapError(err)
	}
	return int64(addr)
}

// msync has nothing to write, because a shared mapping is the file.
func (c *call) msync() int64 {
	if c.arg[0]&pageMask != 0 || c.arg[2]&^7 != 0 {
		return -EINVAL
	}
	if n := mem.Pages(c.arg[1]); n != 0 && !c.space.Mapped(c.arg[0], n) {
		return -ENOMEM
	}
	return 0
}

// mincore reports that all pages are resident.
func (c *call) mincore() int64 {
	if c.arg[0]&pageMask != 0 {
		return -EINVAL
	}
	n := mem.Pages(c.arg[1])
	if n == 0 {
		return 0
	}
	if n > userTop || !c.space.Mapped(c.arg[0], n) {
		return -ENOMEM
	}
	return c.copyOutAll(c.arg[2], n/mem.PageSize, func(p []byte) {
		for i := range p {
			p[i] = 1
		}
	})
}
