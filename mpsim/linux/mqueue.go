package linux

import (
	"encoding/binary"
	"slices"
	"strings"

	"hindsight/mpsim/linux/vfs"
)

// posixQueue is a POSIX message queue: the oldest of the messages with the highest priority
// is received first. A receiver is ordered after the sender of its message.
type posixQueue struct {
	k        *Kernel
	ino      uint64
	most     int // maximum number of messages
	size     int // maximum size of a message in bytes
	messages []priorityMessage
	links    int      // number of names and open descriptions
	notify   *siginfo // sent with the first message; nil: none
	asked    bool     // a notification was requested, possibly without a signal
	waiting  int      // number of calls waiting to receive
}

type priorityMessage struct {
	priority uint32
	data     []byte
	order    handle
	cell     uint64 // of the kernel's state: what the sender wrote
}

const (
	mqMost       = 10 // of a queue whose creator does not specify it
	mqSize       = 8192
	mqLimit      = 65536
	mqSizeLimit  = 16 << 20
	mqPriorities = 32768
	mqAttrBytes  = 64
	mqNotifySize = 64
	codeQueue    = -3 // SI_MESGQ
	queueSignal  = 0  // SIGEV_SIGNAL
	queueSilent  = 1  // SIGEV_NONE
)

// openQueue is an open description of a queue.
type openQueue struct{ *posixQueue }

func (q openQueue) Stat() vfs.Stat {
	return vfs.Stat{Mode: vfs.ModeRegular | 0o600, Ino: q.ino, Nlink: 1, Size: 80}
}
func (q openQueue) Close()                    { q.release() }
func (q openQueue) read([]byte) (int, int64)  { return 0, -EINVAL }
func (q openQueue) write([]byte) (int, int64) { return 0, -EINVAL }
func (q openQueue) ready() (in, out, hup bool) {
	return len(q.messages) > 0, len(q.messages) < q.most, false
}

func (q openQueue) observeReady(got uint16) {
	if got&pollIn != 0 && len(q.messages) > 0 {
		q.k.observe(q.messages[0].order)
	}
}

func (q *posixQueue) release() {
	if q.links--; q.links == 0 {
		for _, m := range q.messages {
			q.k.space.LetGo(uint64(len(m.data)) + msgOverhead)
		}
		q.messages = nil
	}
}

// mqOpen is mq_open(name, flags, mode, attributes). The name has no slash.
func (c *call) mqOpen() int64 {
	name, e := c.pathArg(c.arg[0])
	flags := uint32(c.arg[1])
	switch {
	case e != 0:
		return e
	case name == "":
		return -EINVAL
	case strings.Contains(name, "/"):
		return -EACCES
	}
	q := c.ipc.posix[name]
	switch {
	case q != nil && flags&(vfs.OpenCreate|vfs.OpenExcl) == vfs.OpenCreate|vfs.OpenExcl:
		return -EEXIST
	case q == nil && flags&vfs.OpenCreate == 0:
		return -ENOENT
	case q == nil:
		if q, e = c.newQueue(c.arg[3]); e != 0 {
			return e
		}
		if c.ipc.posix == nil {
			c.ipc.posix = map[string]*posixQueue{}
		}
		if len(c.ipc.posix) >= maxIPC {
			return -ENOSPC
		}
		c.ipc.posix[name] = q
	}
	fd := c.files.add(&openFile{file: openQueue{q}, path: "/dev/mqueue/" + name, flags: flags & (vfs.OpenAccess | openNonblock)}, 0, true)
	if fd >= 0 {
		q.links++
	}
	return fd
}

// newQueue creates a queue with the attributes at addr, or the default ones if addr is 0.
func (c *call) newQueue(addr uint64) (*posixQueue, int64) {
	q := &posixQueue{k: c.Kernel, ino: c.vfs.Inode(), most: mqMost, size: mqSize, links: 1}
	if addr != 0 {
		var b [mqAttrBytes]byte
		if f := c.space.Read(addr, b[:]); f != nil {
			return nil, c.fault(f)
		}
		most, size := int64(binary.LittleEndian.Uint64(b[8:])), int64(binary.LittleEndian.Uint64(b[16:]))
		if most <= 0 || size <= 0 || most > mqLimit || size > mqSizeLimit {
			return nil, -EINVAL
		}
		q.most, q.size = int(most), int(size)
	}
	return q, 0
}

// mqUnlink is mq_unlink(name).
func (c *call) mqUnlink() int64 {
	name, e := c.pathArg(c.arg[0])
	if e != 0 {
		return e
	}
	q := c.ipc.posix[name]
	if q == nil {
		return -ENOENT
	}
	delete(c.ipc.posix, name)
	q.release()
	return 0
}

// queueOf returns the queue of a descriptor, and its description.
func (c *call) queueOf(fd int32) (*openFile, *posixQueue, int64) {
	f, e := c.files.get(fd)
	if e != 0 {
		return nil, nil, e
	}
	q, ok := f.file.(openQueue)
	if !ok {
		return nil, nil, -EBADF
	}
	return f, q.posixQueue, 0
}

// queueWait returns the wait of a call whose absolute timeout is at addr. If addr is 0,
// there is no limit.
func (c *call) queueWait(addr uint64) (Wait, int64) {
	w := Wait{Kind: WaitIPC}
	if addr == 0 {
		return w, 0
	}
	d, e := c.timespec(addr)
	if e == 0 {
		w.Timed, w.Deadline = true, c.fromClock(0, d)
	}
	return w, e
}

// mqTimedsend is mq_timedsend(fd, message, size, priority, timeout).
func (c *call) mqTimedsend() int64 {
	w, e := c.queueWait(c.arg[4])
	if e != 0 {
		return e
	}
	if c.arg[3] >= mqPriorities {
		return -EINVAL
	}
	f, q, e := c.queueOf(int32(c.arg[0]))
	switch {
	case e != 0:
		return e
	case !f.writable():
		return -EBADF
	case c.arg[2] > uint64(q.size):
		return -EMSGSIZE
	}
	m := priorityMessage{priority: uint32(c.arg[3]), data: make([]byte, c.arg[2])}
	if f := c.space.Read(c.arg[1], m.data); f != nil {
		return c.fault(f)
	}
	k := c.Kernel
	try := func() (int64, bool) {
		switch {
		case len(q.messages) >= q.most:
			return -EAGAIN, false
		case !k.space.Hold(uint64(len(m.data)) + msgOverhead):
			return -ENOMEM, true
		}
		k.publish(&m.order)
		m.cell = k.newCell()
		k.writes(m.cell)
		q.add(m)
		return 0, true
	}
	if e, ok := try(); ok || f.flags&openNonblock != 0 {
		return e
	}
	if w.Timed && w.Deadline <= c.now {
		return -ETIMEDOUT
	}
	return c.sleepIO(w, f, blockState{restart: true, retry: try, timeout: -ETIMEDOUT})
}

// add delivers a message, and notifies the process if it asked for that.
func (q *posixQueue) add(m priorityMessage) {
	at := len(q.messages)
	for at > 0 && q.messages[at-1].priority < m.priority {
		at--
	}
	q.messages = slices.Insert(q.messages, at, m)
	q.k.files.changed = true
	if q.asked && len(q.messages) == 1 && q.waiting == 0 {
		if q.notify != nil {
			q.k.sendProcess(*q.notify)
		}
		q.asked, q.notify = false, nil
	}
}

// mqTimedreceive is mq_timedreceive(fd, buf, size, priority, timeout).
func (c *call) mqTimedreceive() int64 {
	w, e := c.queueWait(c.arg[4])
	if e != 0 {
		return e
	}
	f, q, e := c.queueOf(int32(c.arg[0]))
	switch {
	case e != 0:
		return e
	case !f.readable():
		return -EBADF
	case c.arg[2] < uint64(q.size):
		return -EMSGSIZE
	}
	k, to, priority := c.Kernel, c.arg[1], c.arg[3]
	try := func() (int64, bool) {
		if len(q.messages) == 0 {
			return -EAGAIN, false
		}
		m := q.messages[0]
		q.messages = q.messages[1:]
		k.space.LetGo(uint64(len(m.data)) + msgOverhead)
		k.files.changed = true
		k.observe(m.order)
		k.reads(m.cell)
		k.forget(&m.order)
		if f := k.space.Write(to, m.data); f != nil {
			return k.fault(f), true
		}
		if priority != 0 {
			if f := k.space.PutUint32(priority, m.priority); f != nil {
				return k.fault(f), true
			}
		}
		return int64(len(m.data)), true
	}
	if n, ok := try(); ok || f.flags&openNonblock != 0 {
		return n
	}
	if w.Timed && w.Deadline <= c.now {
		return -ETIMEDOUT
	}
	q.waiting++
	leave := func() { q.waiting-- }
	return c.sleepIO(w, f, blockState{restart: true, retry: func() (int64, bool) {
		n, ok := try()
		if ok {
			leave()
		}
		return n, ok
	}, interrupted: leave, expire: func() int64 { leave(); return -ETIMEDOUT }})
}

// mqNotify is mq_notify(fd, event). Notification by a thread is not supported.
func (c *call) mqNotify() int64 {
	_, q, e := c.queueOf(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	if c.arg[1] == 0 {
		q.asked, q.notify = false, nil
		return 0
	}
	var b [mqNotifySize]byte
	if f := c.space.Read(c.arg[1], b[:]); f != nil {
		return c.fault(f)
	}
	le := binary.LittleEndian
	signal, kind := int(le.Uint32(b[8:])), le.Uint32(b[12:])
	switch {
	case kind != queueSignal && kind != queueSilent:
		c.note("mq_notify by a thread")
		return -EINVAL
	case kind == queueSignal && (signal < 1 || signal > numSigs):
		return -EINVAL
	case q.asked:
		return -EBUSY
	}
	q.asked = true
	if kind == queueSignal {
		q.notify = &siginfo{sig: signal, code: codeQueue, value: le.Uint64(b[0:])}
	}
	return 0
}

// mqGetsetattr is mq_getsetattr(fd, new, old).
func (c *call) mqGetsetattr() int64 {
	f, q, e := c.queueOf(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	le := binary.LittleEndian
	flags := f.flags & openNonblock
	if c.arg[1] != 0 {
		var b [mqAttrBytes]byte
		if f := c.space.Read(c.arg[1], b[:]); f != nil {
			return c.fault(f)
		}
		want := le.Uint64(b[0:])
		if want&^openNonblock != 0 {
			return -EINVAL
		}
		f.flags = f.flags&^openNonblock | uint32(want)
	}
	if c.arg[2] == 0 {
		return 0
	}
	var b [mqAttrBytes]byte
	le.PutUint64(b[0:], uint64(flags))
	le.PutUint64(b[8:], uint64(q.most))
	le.PutUint64(b[16:], uint64(q.size))
	le.PutUint64(b[24:], uint64(len(q.messages)))
	return c.fault(c.space.Write(c.arg[2], b[:]))
}
