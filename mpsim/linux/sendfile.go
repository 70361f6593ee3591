package linux

import (
	"encoding/binary"

	"hindsight/mpsim/linux/vfs"
)

// Calls that copy bytes from one descriptor to another.

// place is where a call reads or writes: an open file, and an offset unless it is the
// file's own.
type place struct {
	f  *openFile
	at *int64 // nil: the file's own
}

// placeOf returns the place of a descriptor and of the offset at addr, if addr is not 0.
func (c *call) placeOf(fd int32, addr uint64) (place, int64) {
	f, e := c.files.get(fd)
	if e != 0 || addr == 0 {
		return place{f: f}, e
	}
	if _, ok := f.file.(vfs.Regular); !ok {
		return place{}, -ESPIPE
	}
	at, fault := c.space.Uint64(addr)
	if fault != nil {
		return place{}, c.fault(fault)
	}
	off := int64(at)
	if off < 0 {
		return place{}, -EINVAL
	}
	return place{f, &off}, 0
}

func (p place) offset() *int64 {
	if p.at != nil {
		return p.at
	}
	return &p.f.offset
}

// peekable is a stream whose bytes can be read without removing them.
type peekable interface {
	stream
	peek(p []byte) (int, int64)
}

// transfer moves up to n bytes. With all, it waits until all of them are moved; otherwise
// it waits only for the first. done is called with the result.
func (c *call) transfer(out, in place, n uint64, all, nonblock bool, done func(int64) int64) int64 {
	k, t := c.Kernel, c.t
	n = min(n, maxRW)
	var moved int64
	try := func() (int64, bool) {
		for uint64(moved) < n {
			m, e := k.transferSome(out, in, min(n-uint64(moved), ioChunk))
			if e == -EPIPE {
				k.sendTask(t, siginfo{sig: SIGPIPE, code: codeUser})
			}
			switch {
			case e == -EAGAIN && (all && !nonblock || moved == 0):
				return -EAGAIN, false
			case e != 0 && moved == 0:
				return e, true
			case e != 0 || m == 0:
				return done(moved), true
			}
			moved += int64(m)
		}
		return done(moved), true
	}
	r, ok := try()
	if ok || nonblock {
		return r
	}
	b := blockState{restart: true, retry: try}
	if all {
		b.partial = func() int64 {
			if moved == 0 {
				return 0
			}
			return done(moved)
		}
	}
	return c.sleepIO(Wait{Kind: WaitIPC}, out.f, b)
}

// transferSome moves what can be moved without waiting.
func (k *Kernel) transferSome(out, in place, n uint64) (int, int64) {
	buf := make([]byte, n)
	var e int64
	var have int
	switch from := in.f.file.(type) {
	case vfs.Regular:
		have, e = from.ReadAt(buf, *in.offset())
	case peekable:
		have, e = from.peek(buf)
	default:
		return 0, -EINVAL
	}
	if e != 0 || have == 0 {
		return 0, e
	}
	buf = buf[:have]
	switch to := out.f.file.(type) {
	case vfs.Regular:
		if out.at == nil && out.f.flags&openAppend != 0 {
			out.f.offset = to.Size()
		}
		have, e = to.WriteAt(buf, *out.offset())
		k.moved(to, *out.offset(), have, writeAccess)
		*out.offset() += int64(have)
	case stream:
		have, e = k.writeTo(to, buf)
	default:
		return 0, -EINVAL
	}
	if e != 0 {
		return 0, e
	}
	switch from := in.f.file.(type) {
	case vfs.Regular:
		k.moved(from, *in.offset(), have, readAccess)
		*in.offset() += int64(have)
	case stream:
		_, e = k.readFrom(from, buf[:have])
	}
	k.keep()
	return have, e
}

// putOffset stores an offset at a guest address.
func (c *call) putOffset(addr uint64, p place) int64 {
	if addr == 0 {
		return 0
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(*p.at))
	return c.fault(c.space.Write(addr, b[:]))
}

// between moves bytes from one descriptor to another. Either offset is at an address,
// unless that is 0.
func (c *call) between(fdIn int32, offIn uint64, fdOut int32, offOut, n uint64, all bool, flags uint32, check func(in, out vfs.File) int64) int64 {
	in, e := c.placeOf(fdIn, offIn)
	if e != 0 {
		return e
	}
	out, e := c.placeOf(fdOut, offOut)
	switch {
	case e != 0:
		return e
	case !in.f.readable() || !out.f.writable():
		return -EBADF
	}
	if e := check(in.f.file, out.f.file); e != 0 {
		return e
	}
	own := *c
	nonblock := (in.f.flags|out.f.flags|flags)&openNonblock != 0
	return c.transfer(out, in, n, all, nonblock, func(moved int64) int64 {
		if e := own.putOffset(offIn, in); e != 0 {
			return e
		}
		if e := own.putOffset(offOut, out); e != 0 {
			return e
		}
		return moved
	})
}

func isRegular(f vfs.File) bool { _, ok := f.(vfs.Regular); return ok }
func isPipe(f vfs.File) bool    { _, ok := f.(*pipeEnd); return ok }

// sendfile is sendfile(out, in, offset, count).
func (c *call) sendfile() int64 {
	return c.between(int32(c.arg[1]), c.arg[2], int32(c.arg[0]), 0, c.arg[3], true, 0, func(in, _ vfs.File) int64 {
		if !isRegular(in) {
			return -EINVAL
		}
		return 0
	})
}

// splice is splice(in, offset, out, offset, count, flags).
func (c *call) splice() int64 {
	const move, nonblock, more, gift = 1, 2, 4, 8
	flags := uint32(0)
	switch {
	case c.arg[5]&^(move|nonblock|more|gift) != 0:
		return -EINVAL
	case c.arg[5]&nonblock != 0:
		flags = openNonblock
	}
	return c.between(int32(c.arg[0]), c.arg[1], int32(c.arg[2]), c.arg[3], c.arg[4], false, flags, func(in, out vfs.File) int64 {
		if !isPipe(in) && !isPipe(out) {
			return -EINVAL
		}
		return 0
	})
}

// copyFileRange is copy_file_range(in, offset, out, offset, count, flags).
func (c *call) copyFileRange() int64 {
	if c.arg[5] != 0 {
		return -EINVAL
	}
	return c.between(int32(c.arg[0]), c.arg[1], int32(c.arg[2]), c.arg[3], c.arg[4], true, 0, func(in, out vfs.File) int64 {
		if !isRegular(in) || !isRegular(out) {
			return -EINVAL
		}
		return 0
	})
}
