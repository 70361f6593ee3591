package linux

import (
	"encoding/binary"

	"hindsight/mpsim/linux/vfs"
)

func (c *call) dup() int64 {
	f, e := c.files.get(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	return c.files.add(f, 0, false)
}

// dup3 is dup3(old, new, flags).
func (c *call) dup3() int64 {
	from, to := int32(c.arg[0]), int32(c.arg[1])
	if from == to || uint32(c.arg[2])&^openCloexec != 0 {
		return -EINVAL
	}
	f, e := c.files.get(from)
	if e != 0 {
		return e
	}
	if to < 0 || to >= maxFiles {
		return -EBADF
	}
	f.refs++ // so that closing the old descriptor keeps it open
	c.files.close(to)
	c.files.set(int(to), f, uint32(c.arg[2])&openCloexec != 0)
	f.refs--
	return int64(to)
}

// fcntl is fcntl(fd, command, arg).
func (c *call) fcntl() int64 {
	fd := int32(c.arg[0])
	f, e := c.files.get(fd)
	if e != 0 {
		return e
	}
	slot := &c.files.slots[fd]
	switch c.arg[1] {
	case 0: // F_DUPFD
		return c.files.add(f, int(int32(c.arg[2])), false)
	case 1030: // F_DUPFD_CLOEXEC
		return c.files.add(f, int(int32(c.arg[2])), true)
	case 1: // F_GETFD
		if slot.cloexec {
			return 1
		}
		return 0
	case 2: // F_SETFD
		slot.cloexec = c.arg[2]&1 != 0
		return 0
	case 3: // F_GETFL
		c.reads(f.mode)
		return int64(f.flags &^ openCloexec)
	case 4: // F_SETFL
		const can = openAppend | openNonblock
		f.flags = f.flags&^can | uint32(c.arg[2])&can
		c.setMode(f)
		return 0
	case 5, 6, 7: // locks: there is no other process to lock against
		if c.arg[1] == 5 {
			var b [2]byte
			binary.LittleEndian.PutUint16(b[:], 2) // F_UNLCK
			return c.fault(c.space.Write(c.arg[2], b[:]))
		}
		return 0
	case 1032, 1031: // F_GETPIPE_SZ, F_SETPIPE_SZ
		if _, ok := f.file.(*pipeEnd); ok {
			return pipeBytes
		}
		return -EBADF
	}
	return -EINVAL
}

// ioctl implements the requests that apply to pipes. Nothing is a terminal.
func (c *call) ioctl() int64 {
	f, e := c.files.get(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	switch uint32(c.arg[1]) {
	case 0x541b: // FIONREAD
		var n uint32
		switch file := f.file.(type) {
		case *pipeEnd:
			n = uint32(len(file.buf))
		case vfs.Regular:
			n = uint32(max(file.Size()-f.offset, 0))
		case *inputStream:
		default:
			return -ENOTTY
		}
		return c.fault(c.space.PutUint32(c.arg[2], n))
	case 0x5421: // FIONBIO
		v, fault := c.space.Uint32(c.arg[2])
		if fault != nil {
			return c.fault(fault)
		}
		f.flags &^= openNonblock
		if v != 0 {
			f.flags |= openNonblock
		}
		c.setMode(f)
		return 0
	case 0x5450, 0x5451: // FIONCLEX, FIOCLEX
		c.files.slots[int32(c.arg[0])].cloexec = uint32(c.arg[1]) == 0x5451
		return 0
	}
	return -ENOTTY
}

// Events of poll.
const (
	pollIn   = 1
	pollOut  = 4
	pollErr  = 8
	pollHup  = 16
	pollNval = 32

	pollReadHup = 0x2000
)

// events returns those events, out of want and the ones that are always reported, for which
// a description is ready.
func events(f *openFile, want uint16) uint16 {
	s, ok := f.file.(stream)
	if !ok {
		return want & (pollIn | pollOut | 0x140)
	}
	r, w, hup := s.ready()
	var got uint16
	if r && f.readable() {
		got |= want & (pollIn | 0x40)
	}
	if w && f.writable() {
		got |= want & (pollOut | 0x100)
	}
	if s, ok := s.(*socket); ok {
		got |= s.hangups(want)
	}
	if hup {
		if f.writable() {
			got |= pollErr
		} else {
			got |= pollHup
		}
	}
	return got
}

// ppoll is ppoll(fds, count, timeout, mask, size).
func (c *call) ppoll() int64 {
	addr, n := c.arg[0], c.arg[1]
	if n > maxFiles {
		return -EINVAL
	}
	k, raw := c.Kernel, make([]byte, 8*n)
	if f := k.space.Read(addr, raw); f != nil {
		return k.fault(f)
	}
	try := func() (int64, bool) {
		got, count := k.pollOnce(raw)
		if count == 0 {
			return 0, false
		}
		return k.putEvents(addr, got, count), true
	}
	none := func() int64 { return k.putEvents(addr, make([]uint16, n), 0) }
	w := Wait{Kind: WaitPoll}
	if e := c.until(&w, c.arg[2]); e != 0 {
		return e
	}
	return c.pollUntil(try, w, c.arg[3], c.arg[4], none)
}

// pollOnce checks all descriptors of a poll. It returns the events of each, and how many
// descriptors have any.
func (k *Kernel) pollOnce(raw []byte) (got []uint16, count int64) {
	got = make([]uint16, len(raw)/8)
	for i := range got {
		fd, want := int32(binary.LittleEndian.Uint32(raw[8*i:])), binary.LittleEndian.Uint16(raw[8*i+4:])
		if fd < 0 {
			continue
		}
		f, e := k.files.get(fd)
		got[i] = pollNval
		if e == 0 {
			got[i] = events(f, want)
			f.observeReady(got[i])
		}
		if got[i] != 0 {
			count++
		}
	}
	return got, count
}

// putEvents writes the events of a poll's descriptors, and returns the result of the call.
func (k *Kernel) putEvents(addr uint64, got []uint16, count int64) int64 {
	for i, e := range got {
		var b [2]byte
		binary.LittleEndian.PutUint16(b[:], e)
		if f := k.space.Write(addr+8*uint64(i)+6, b[:]); f != nil {
			return k.fault(f)
		}
	}
	return count
}

// observeReady orders the polling thread after whatever made f ready.
func (f *openFile) observeReady(got uint16) {
	if r, ok := f.file.(readying); ok && got != 0 {
		r.observeReady(got)
	}
}

// until sets the deadline of a wait from the timeout stored at an address, unless that is
// 0.
func (c *call) until(w *Wait, timeout uint64) int64 {
	if timeout == 0 {
		return 0
	}
	d, e := c.timespec(timeout)
	w.Timed, w.Deadline = true, later(c.now, d)
	return e
}

// pollUntil calls try until there is a result, the timeout passes or a signal arrives.
// expire, if not nil, is called when the time has passed.
func (c *call) pollUntil(try func() (int64, bool), w Wait, mask, maskSize uint64, expire func() int64) int64 {
	if mask != 0 {
		if maskSize != sigSetBytes {
			return -EINVAL
		}
		v, f := c.space.Uint64(mask)
		if f != nil {
			return c.fault(f)
		}
		c.swapMask(sigset(v))
	}
	n, done := try()
	if !done && w.Timed && w.Deadline == c.now {
		if expire != nil {
			n = expire()
		}
		done = true
	}
	if done {
		if c.deliverable(c.t) == 0 && c.t.hasRestore {
			c.t.blocked, c.t.hasRestore = c.t.restoreMask, false
			c.attend(c.t)
		}
		return n
	}
	return c.sleepIO(w, nil, blockState{retry: try, expire: expire})
}

// pselect is pselect6(n, read, write, except, timeout, mask).
func (c *call) pselect() int64 {
	n := int(int32(c.arg[0]))
	if n < 0 {
		return -EINVAL
	}
	n = min(n, maxFiles)
	var want [3][maxFiles / 8]byte
	bytes := (n + 63) / 64 * 8
	for i, a := range c.arg[1:4] {
		if a != 0 {
			if f := c.space.Read(a, want[i][:bytes]); f != nil {
				return c.fault(f)
			}
		}
	}
	var mask [2]uint64
	if c.arg[5] != 0 {
		for i := range mask {
			v, f := c.space.Uint64(c.arg[5] + uint64(8*i))
			if f != nil {
				return c.fault(f)
			}
			mask[i] = v
		}
	}
	for fd := range n {
		bit := byte(1) << (fd & 7)
		if (want[0][fd/8]|want[1][fd/8]|want[2][fd/8])&bit != 0 {
			if _, e := c.files.get(int32(fd)); e != 0 {
				return e
			}
		}
	}
	k, sets := c.Kernel, [3]uint64(c.arg[1:4])
	try := func() (int64, bool) {
		count, got := k.selectOnce(n, &want)
		if count == 0 {
			return 0, false
		}
		return k.putSets(sets, &got, bytes, count), true
	}
	none := func() int64 { return k.putSets(sets, new([3][maxFiles / 8]byte), bytes, 0) }
	w := Wait{Kind: WaitPoll}
	if e := c.until(&w, c.arg[4]); e != 0 {
		return e
	}
	return c.pollUntil(try, w, mask[0], mask[1], none)
}

// selectOnce returns the descriptors of a select that are ready, and their number.
func (k *Kernel) selectOnce(n int, want *[3][maxFiles / 8]byte) (count int64, got [3][maxFiles / 8]byte) {
	for fd := range n {
		f, e := k.files.get(int32(fd))
		if e != 0 {
			continue
		}
		bit := byte(1) << (fd & 7)
		ev := events(f, pollIn|pollOut)
		var seen bool
		for i, hit := range [3]bool{ev&(pollIn|pollHup) != 0, ev&(pollOut|pollErr) != 0, false} {
			if hit && want[i][fd/8]&bit != 0 {
				got[i][fd/8] |= bit
				count++
				seen = true
			}
		}
		if seen {
			f.observeReady(ev)
		}
	}
	return count, got
}

// putSets writes the sets of a select and returns the result of the call.
func (k *Kernel) putSets(addr [3]uint64, sets *[3][maxFiles / 8]byte, bytes int, count int64) int64 {
	for i, a := range addr {
		if a != 0 {
			if f := k.space.Write(a, sets[i][:bytes]); f != nil {
				return k.fault(f)
			}
		}
	}
	return count
}
