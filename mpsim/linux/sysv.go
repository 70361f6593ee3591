package linux

import (
	"encoding/binary"
	"slices"

	"hindsight/mpsim/linux/vfs"
	"hindsight/mpsim/mem"
)

// Semaphores, shared memory and message queues of System V. A thread that lowers a
// semaphore is ordered after the threads that raised it, and the receiver of a message
// after its sender. Shared memory orders nothing.

const (
	ipcCreate  = 0o1000
	ipcExcl    = 0o2000
	ipcNoWait  = 0o4000
	ipcPrivate = 0

	ipcRemove = 0
	ipcSet    = 1
	ipcStat   = 2

	ipcPermBytes = 48
	maxIPC       = 4096 // maximum number of objects of each kind
)

// ipcPerm is common to the objects of all three kinds.
type ipcPerm struct {
	id   int32
	key  int32
	mode uint32
}

func (p *ipcPerm) perm() *ipcPerm { return p }

// encode writes it as a struct ipc64_perm.
func (p *ipcPerm) encode(b []byte) {
	le := binary.LittleEndian
	le.PutUint32(b[0:], uint32(p.key))
	le.PutUint32(b[20:], p.mode)
}

// ipcTable holds the objects of one kind.
type ipcTable[T interface{ perm() *ipcPerm }] struct {
	objects []T
	next    int32
}

// get finds an object by key, or creates one.
func (t *ipcTable[T]) get(key int32, flags uint32, fits func(T) int64, create func(ipcPerm) (T, int64)) int64 {
	if key != ipcPrivate {
		for _, o := range t.objects {
			if o.perm().key != key {
				continue
			}
			if flags&(ipcCreate|ipcExcl) == ipcCreate|ipcExcl {
				return -EEXIST
			}
			if e := fits(o); e != 0 {
				return e
			}
			return int64(o.perm().id)
		}
		if flags&ipcCreate == 0 {
			return -ENOENT
		}
	}
	if len(t.objects) >= maxIPC {
		return -ENOSPC
	}
	o, e := create(ipcPerm{id: t.next, key: key, mode: flags & 0o777})
	if e != 0 {
		return e
	}
	t.next++
	t.objects = append(t.objects, o)
	return int64(o.perm().id)
}

func (t *ipcTable[T]) find(id int32) (o T, e int64) {
	for _, o := range t.objects {
		if o.perm().id == id {
			return o, 0
		}
	}
	return o, -EINVAL
}

func (t *ipcTable[T]) remove(id int32) {
	t.objects = slices.DeleteFunc(t.objects, func(o T) bool { return o.perm().id == id })
}

// ipcState holds the objects of all kinds.
type ipcState struct {
	semaphores ipcTable[*semaphores]
	segments   ipcTable[*segment]
	queues     ipcTable[*messageQueue]
	attached   map[uint64]*segment // by address
	posix      map[string]*posixQueue
}

// semaphores is a set of semaphores.
type semaphores struct {
	ipcPerm
	values  []semaphore
	removed bool
}

type semaphore struct {
	value            uint16
	pid              uint32
	raised, lowered  handle
	waitUp, waitZero int // numbers of waiting calls
}

const (
	maxSemaphores  = 32000
	maxOperations  = 500
	semaphoreMost  = 32767
	semaphoreBytes = 64

	semGetPID  = 11
	semGetVal  = 12
	semGetAll  = 13
	semGetNCnt = 14
	semGetZCnt = 15
	semSetVal  = 16
	semSetAll  = 17
)

// semget is semget(key, count, flags).
func (c *call) semget() int64 {
	n := int32(c.arg[1])
	if n < 0 || n > maxSemaphores {
		return -EINVAL
	}
	return c.ipc.semaphores.get(int32(c.arg[0]), uint32(c.arg[2]), func(s *semaphores) int64 {
		if int(n) > len(s.values) {
			return -EINVAL
		}
		return 0
	}, func(p ipcPerm) (*semaphores, int64) {
		switch {
		case n == 0:
			return nil, -EINVAL
		case !c.space.Hold(uint64(n) * semaphoreBytes):
			return nil, -ENOMEM
		}
		return &semaphores{ipcPerm: p, values: make([]semaphore, n)}, 0
	})
}

// semctl is semctl(id, number, command, argument).
func (c *call) semctl() int64 {
	s, e := c.ipc.semaphores.find(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	command := c.arg[2] &^ 0x100 // IPC_64
	switch command {
	case semGetPID, semGetVal, semGetNCnt, semGetZCnt, semSetVal:
		if c.arg[1] >= uint64(len(s.values)) {
			return -EINVAL
		}
		return c.semctlOne(&s.values[c.arg[1]], command)
	case ipcRemove:
		s.removed = true
		c.ipc.semaphores.remove(s.id)
		c.space.LetGo(uint64(len(s.values)) * semaphoreBytes)
		c.files.changed = true
		return 0
	case semGetAll:
		b := make([]byte, 2*len(s.values))
		for i := range s.values {
			binary.LittleEndian.PutUint16(b[2*i:], s.values[i].value)
		}
		return c.fault(c.space.Write(c.arg[3], b))
	case semSetAll:
		b := make([]byte, 2*len(s.values))
		if f := c.space.Read(c.arg[3], b); f != nil {
			return c.fault(f)
		}
		for i := range s.values {
			if binary.LittleEndian.Uint16(b[2*i:]) > semaphoreMost {
				return -ERANGE
			}
		}
		for i := range s.values {
			c.setSemaphore(&s.values[i], binary.LittleEndian.Uint16(b[2*i:]))
		}
		return 0
	case ipcSet:
		return 0
	case ipcStat:
		var b [88]byte
		s.encode(b[:])
		binary.LittleEndian.PutUint64(b[64:], uint64(len(s.values)))
		return c.fault(c.space.Write(c.arg[3], b[:]))
	}
	return -EINVAL
}

func (c *call) semctlOne(s *semaphore, command uint64) int64 {
	switch command {
	case semGetPID:
		return int64(s.pid)
	case semGetVal:
		return int64(s.value)
	case semGetNCnt:
		return int64(s.waitUp)
	case semGetZCnt:
		return int64(s.waitZero)
	}
	v := int32(c.arg[3])
	if v < 0 || v > semaphoreMost {
		return -ERANGE
	}
	c.setSemaphore(s, uint16(v))
	return 0
}

func (c *call) setSemaphore(s *semaphore, v uint16) {
	s.value, s.pid = v, MainTID
	c.publish(&s.raised)
	c.publish(&s.lowered)
	c.files.changed = true
}

// operation is a struct sembuf.
type operation struct {
	number uint16
	by     int16
	flags  uint16
}

func (c *call) semop() int64 { return c.semaphoreWait(0) }

// semtimedop is semtimedop(id, operations, count, timeout).
func (c *call) semtimedop() int64 { return c.semaphoreWait(c.arg[3]) }

func (c *call) semaphoreWait(timeout uint64) int64 {
	n := c.arg[2]
	switch {
	case n == 0:
		return -EINVAL
	case n > maxOperations:
		return -E2BIG
	}
	raw := make([]byte, 6*n)
	if f := c.space.Read(c.arg[1], raw); f != nil {
		return c.fault(f)
	}
	s, e := c.ipc.semaphores.find(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	ops := make([]operation, n)
	for i := range ops {
		b := raw[6*i:]
		le := binary.LittleEndian
		ops[i] = operation{le.Uint16(b), int16(le.Uint16(b[2:])), le.Uint16(b[4:])}
		if int(ops[i].number) >= len(s.values) {
			return -EFBIG
		}
	}
	w := Wait{Kind: WaitIPC}
	if timeout != 0 {
		d, e := c.timespec(timeout)
		if e != 0 {
			return e
		}
		w.Timed, w.Deadline = true, later(c.now, d)
	}
	var counted *int // the counter of waiting calls that includes this one
	k := c.Kernel
	try := func() (int64, bool) {
		if counted != nil {
			*counted--
			counted = nil
		}
		if s.removed {
			return -EIDRM, true
		}
		at, e := k.operate(s, ops)
		switch {
		case e != -EAGAIN:
			return e, true
		case ops[at].flags&ipcNoWait != 0:
			return -EAGAIN, true
		case ops[at].by == 0:
			counted = &s.values[ops[at].number].waitZero
		default:
			counted = &s.values[ops[at].number].waitUp
		}
		*counted++
		return 0, false
	}
	if e, ok := try(); ok {
		return e
	}
	leave := func() { *counted-- }
	return c.sleepIO(w, nil, blockState{retry: try, interrupted: leave, expire: func() int64 { leave(); return -EAGAIN }})
}

// operate performs all operations on a set, or none of them. waits is the one that must
// wait.
func (k *Kernel) operate(s *semaphores, ops []operation) (waits int, e int64) {
	values := map[uint16]int{}
	for i, op := range ops {
		v, ok := values[op.number]
		if !ok {
			v = int(s.values[op.number].value)
		}
		switch {
		case op.by == 0 && v != 0, v+int(op.by) < 0:
			return i, -EAGAIN
		case v+int(op.by) > semaphoreMost:
			return i, -ERANGE
		}
		values[op.number] = v + int(op.by)
	}
	for _, op := range ops {
		sem := &s.values[op.number]
		switch {
		case op.by > 0:
			k.publish(&sem.raised)
		case op.by < 0:
			k.observe(sem.raised)
			k.publish(&sem.lowered)
		default:
			k.observe(sem.lowered)
		}
		sem.value, sem.pid = uint16(values[op.number]), MainTID
	}
	k.files.changed = true
	return 0, 0
}

// segment is a piece of shared memory.
type segment struct {
	ipcPerm
	bytes    uint64
	data     *vfs.Data
	attached int
	removed  bool
}

const (
	shmReadOnly = 0o10000
	shmRound    = 0o20000
	shmRemap    = 0o40000
	shmExec     = 0o100000
)

// shmget is shmget(key, size, flags).
func (c *call) shmget() int64 {
	size := c.arg[1]
	return c.ipc.segments.get(int32(c.arg[0]), uint32(c.arg[2]), func(s *segment) int64 {
		if size > s.bytes {
			return -EINVAL
		}
		return 0
	}, func(p ipcPerm) (*segment, int64) {
		if size == 0 {
			return nil, -EINVAL
		}
		d := c.vfs.NewData()
		if size > vfs.MaxFileBytes || d.Resize(int64(mem.Pages(size))) != 0 {
			return nil, -ENOSPC
		}
		return &segment{ipcPerm: p, bytes: size, data: d}, 0
	})
}

// shmat is shmat(id, address, flags).
func (c *call) shmat() int64 {
	s, e := c.ipc.segments.find(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	addr, length, flags := c.arg[1], mem.Pages(s.bytes), c.arg[2]
	if flags&shmRound != 0 {
		addr &^= pageMask
	}
	if addr&pageMask != 0 || addr > userTop || length > userTop-addr || addr == 0 && flags&shmRemap != 0 {
		return -EINVAL
	}
	attr := mem.Attr{Prot: mem.Read | mem.Write, Shared: true, Kind: mem.File, Name: "/SYSV (deleted)"}
	if flags&shmReadOnly != 0 {
		attr.Prot = mem.Read
	}
	if flags&shmExec != 0 {
		attr.Prot |= mem.Exec
	}
	fixed := addr != 0
	if !fixed {
		var ok bool
		if addr, ok = c.mmapPlace(0, length, 0, pager{}); !ok {
			return -ENOMEM
		}
	}
	if err := c.space.Map(addr, length, attr, flags&shmRemap != 0); err != nil {
		if fixed {
			return -EINVAL
		}
		return mapError(err)
	}
	pages := s.data.Pages(0, int64(length))
	if pages == nil || c.space.Share(addr, pages) != nil {
		_ = c.space.Unmap(addr, length)
		return -ENOMEM
	}
	if c.ipc.attached == nil {
		c.ipc.attached = map[uint64]*segment{}
	}
	c.ipc.attached[addr] = s
	s.attached++
	return int64(addr)
}

// shmdt is shmdt(address).
func (c *call) shmdt() int64 {
	s := c.ipc.attached[c.arg[0]]
	if s == nil {
		return -EINVAL
	}
	delete(c.ipc.attached, c.arg[0])
	if err := c.space.Unmap(c.arg[0], mem.Pages(s.bytes)); err != nil {
		return mapError(err)
	}
	s.attached--
	c.dropSegment(s)
	return 0
}

// dropSegment deletes a removed segment that is no longer used.
func (c *call) dropSegment(s *segment) {
	if s.removed && s.attached == 0 {
		c.ipc.segments.remove(s.id)
		s.data.Release()
	}
}

// shmctl is shmctl(id, command, buf).
func (c *call) shmctl() int64 {
	s, e := c.ipc.segments.find(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	switch c.arg[1] &^ 0x100 {
	case ipcRemove:
		s.removed, s.key = true, ipcPrivate
		s.mode |= 0o1000 // SHM_DEST
		c.dropSegment(s)
		return 0
	case ipcSet, 11, 12: // SHM_LOCK, SHM_UNLOCK
		return 0
	case ipcStat:
		var b [112]byte
		s.encode(b[:])
		le := binary.LittleEndian
		le.PutUint64(b[48:], s.bytes)
		le.PutUint32(b[80:], MainTID)
		le.PutUint32(b[84:], MainTID)
		le.PutUint64(b[88:], uint64(s.attached))
		return c.fault(c.space.Write(c.arg[2], b[:]))
	}
	return -EINVAL
}
