package linux

import (
	"encoding/binary"

	"hindsight/mpsim/linux/vfs"
)

// signalFD reads the pending signals of a set.
type signalFD struct {
	k    *Kernel
	ino  uint64
	mask sigset
}

const signalFDBytes = 128 // size of struct signalfd_siginfo

func (s *signalFD) Stat() vfs.Stat            { return vfs.Stat{Mode: 0o600, Ino: s.ino, Nlink: 1} }
func (s *signalFD) Close()                    {}
func (s *signalFD) write([]byte) (int, int64) { return 0, -EINVAL }

func (s *signalFD) ready() (read, write, hangup bool) {
	t := s.k.acting
	return t != nil && (t.pending.set|s.k.signals.pending.set)&s.mask != 0, false, false
}

func (s *signalFD) read(b []byte) (int, int64) {
	if len(b) < signalFDBytes {
		return 0, -EINVAL
	}
	n := 0
	for ; len(b)-n >= signalFDBytes; n += signalFDBytes {
		i, ok := s.k.takeSignal(s.k.acting, s.mask)
		if !ok {
			break
		}
		s.k.reads(i.cell)
		s.k.received(i)
		i.encodeFile(b[n : n+signalFDBytes])
	}
	if n == 0 {
		return 0, -EAGAIN
	}
	return n, 0
}

// encodeFile writes struct signalfd_siginfo.
func (i *siginfo) encodeFile(b []byte) {
	clear(b)
	le := binary.LittleEndian
	le.PutUint32(b[0:], uint32(i.sig))
	le.PutUint32(b[8:], uint32(i.code))
	if !i.timer && !i.fault {
		le.PutUint32(b[12:], MainTID)
		le.PutUint32(b[44:], uint32(i.value))
		le.PutUint64(b[48:], i.value)
	}
}

// signalfd is signalfd4(fd, mask, size, flags).
func (c *call) signalfd() int64 {
	flags := uint32(c.arg[3])
	if flags&^(openCloexec|openNonblock) != 0 || c.arg[2] != sigSetBytes {
		return -EINVAL
	}
	v, fault := c.space.Uint64(c.arg[1])
	if fault != nil {
		return c.fault(fault)
	}
	mask := sigset(v) &^ unblockable
	if fd := int32(c.arg[0]); fd >= 0 {
		f, e := c.files.get(fd)
		if e != 0 {
			return e
		}
		s, ok := f.file.(*signalFD)
		if !ok {
			return -EINVAL
		}
		s.mask = mask
		return int64(fd)
	}
	return c.files.add(&openFile{file: &signalFD{c.Kernel, c.vfs.Inode(), mask}, path: "anon_inode:[signalfd]",
		flags: flags&openNonblock | vfs.OpenReadWrite}, 0, flags&openCloexec != 0)
}

// timerFD counts the expirations of a timer.
type timerFD struct {
	alarm
	k     *Kernel
	ino   uint64
	ticks uint64
}

// alarm is the time at which a timer expires.
type alarm struct {
	clock    uint64
	armed    bool
	deadline uint64
	interval uint64 // 0: it expires once
	order    handle // of the call that set it
}

// setAlarm sets an alarm from the struct itimerspec at set. If old is not 0, it stores the
// previous setting there.
func (c *call) setAlarm(a *alarm, flags, set, old uint64) int64 {
	var v [2]uint64 // interval, first
	for i := range v {
		var e int64
		v[i], e = c.timespec(set + uint64(16*i))
		if e != 0 {
			return e
		}
	}
	if old != 0 {
		if e := c.putAlarm(a, old); e != 0 {
			return e
		}
	}
	a.armed, a.interval, a.order = v[1] != 0, v[0], 0
	a.deadline = later(c.now, v[1])
	if flags&1 != 0 { // TIMER_ABSTIME
		a.deadline = c.fromClock(a.clock, v[1])
	}
	c.publish(&a.order)
	return 0
}

// putAlarm stores the remaining time of an alarm.
func (c *call) putAlarm(a *alarm, addr uint64) int64 {
	var left uint64
	if a.armed {
		left = max(a.deadline, c.now+1) - c.now
	}
	if e := c.putTime(addr, a.interval, 1); e != 0 {
		return e
	}
	return c.putTime(addr+16, left, 1)
}

// again sets an expired alarm to its next time, and returns the number of further
// expirations up to now.
func (a *alarm) again(now uint64) (missed uint64) {
	a.armed = a.interval != 0
	if a.armed {
		missed = (now - a.deadline) / a.interval
		a.deadline = later(a.deadline, (missed+1)*a.interval)
	}
	return missed
}

func (t *timerFD) Stat() vfs.Stat            { return vfs.Stat{Mode: 0o600, Ino: t.ino, Nlink: 1} }
func (t *timerFD) Close()                    { t.armed = false; t.k.dropTimer(t) }
func (t *timerFD) write([]byte) (int, int64) { return 0, -EINVAL }
func (t *timerFD) ready() (read, write, hangup bool) {
	return t.ticks > 0, false, false
}

func (t *timerFD) observeReady(got uint16) {
	if got&pollIn != 0 {
		t.k.observe(t.order)
	}
}

func (t *timerFD) activity() uint64 { return t.deadline }

func (t *timerFD) read(b []byte) (int, int64) {
	if len(b) < 8 {
		return 0, -EINVAL
	}
	if t.ticks == 0 {
		return 0, -EAGAIN
	}
	binary.LittleEndian.PutUint64(b, t.ticks)
	t.ticks = 0
	t.k.observe(t.order)
	return 8, 0
}

// run counts the expirations up to now.
func (t *timerFD) run() {
	if !t.armed || t.deadline > t.k.now {
		return
	}
	t.ticks += 1 + t.again(t.k.now)
	t.k.files.changed = true
}

func (k *Kernel) dropTimer(t *timerFD) {
	for i, o := range k.timerFDs {
		if o == t {
			k.timerFDs = append(k.timerFDs[:i:i], k.timerFDs[i+1:]...)
			return
		}
	}
}

// timerfdCreate is timerfd_create(clock, flags).
func (c *call) timerfdCreate() int64 {
	flags := uint32(c.arg[1])
	if _, ok := c.clock(c.arg[0]); !ok || flags&^(openCloexec|openNonblock) != 0 {
		return -EINVAL
	}
	t := &timerFD{k: c.Kernel, ino: c.vfs.Inode(), alarm: alarm{clock: c.arg[0]}}
	fd := c.files.add(&openFile{file: t, path: "anon_inode:[timerfd]", flags: flags&openNonblock | vfs.OpenReadWrite}, 0, flags&openCloexec != 0)
	if fd >= 0 {
		c.timerFDs = append(c.timerFDs, t)
	}
	return fd
}

func (c *call) timerOf(fd int32) (*timerFD, int64) {
	f, e := c.files.get(fd)
	if e != 0 {
		return nil, e
	}
	t, ok := f.file.(*timerFD)
	if !ok {
		return nil, -EINVAL
	}
	return t, 0
}

// timerfdSettime is timerfd_settime(fd, flags, new, old).
func (c *call) timerfdSettime() int64 {
	t, e := c.timerOf(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	if e := c.setAlarm(&t.alarm, c.arg[1], c.arg[2], c.arg[3]); e != 0 {
		return e
	}
	t.ticks = 0
	return 0
}

// timerfdGettime is timerfd_gettime(fd, buf).
func (c *call) timerfdGettime() int64 {
	t, e := c.timerOf(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	return c.putAlarm(&t.alarm, c.arg[1])
}
