package linux

import (
	"encoding/binary"
	"slices"
)

// messageQueue is a queue of typed messages.
type messageQueue struct {
	ipcPerm
	messages []typedMessage
	bytes    int
	removed  bool
}

type typedMessage struct {
	kind  int64
	data  []byte
	order handle
	cell  uint64 // of the kernel's state: what the sender wrote
}

const (
	maxMessage  = 8192
	maxQueue    = 16384
	msgNoError  = 0o10000
	msgExcept   = 0o20000
	msgOverhead = 64
)

// msgget is msgget(key, flags).
func (c *call) msgget() int64 {
	return c.ipc.queues.get(int32(c.arg[0]), uint32(c.arg[1]), func(*messageQueue) int64 { return 0 },
		func(p ipcPerm) (*messageQueue, int64) { return &messageQueue{ipcPerm: p}, 0 })
}

// msgctl is msgctl(id, command, buf).
func (c *call) msgctl() int64 {
	q, e := c.ipc.queues.find(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	switch c.arg[1] &^ 0x100 {
	case ipcRemove:
		q.removed = true
		for len(q.messages) > 0 {
			c.takeMessage(q, 0)
		}
		c.ipc.queues.remove(q.id)
		c.files.changed = true
		return 0
	case ipcSet:
		return 0
	case ipcStat:
		var b [120]byte
		q.encode(b[:])
		le := binary.LittleEndian
		le.PutUint64(b[72:], uint64(q.bytes))
		le.PutUint64(b[80:], uint64(len(q.messages)))
		le.PutUint64(b[88:], maxQueue)
		return c.fault(c.space.Write(c.arg[2], b[:]))
	}
	return -EINVAL
}

// takeMessage removes a message from its queue.
func (k *Kernel) takeMessage(q *messageQueue, i int) typedMessage {
	m := q.messages[i]
	q.messages = slices.Delete(q.messages, i, i+1)
	q.bytes -= len(m.data)
	k.space.LetGo(uint64(len(m.data)) + msgOverhead)
	k.files.changed = true
	return m
}

// msgsnd is msgsnd(id, message, size, flags).
func (c *call) msgsnd() int64 {
	q, e := c.ipc.queues.find(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	if c.arg[2] > maxMessage {
		return -EINVAL
	}
	b := make([]byte, 8+c.arg[2])
	if f := c.space.Read(c.arg[1], b); f != nil {
		return c.fault(f)
	}
	m := typedMessage{kind: int64(binary.LittleEndian.Uint64(b)), data: b[8:]}
	if m.kind <= 0 {
		return -EINVAL
	}
	k := c.Kernel
	try := func() (int64, bool) {
		switch {
		case q.removed:
			return -EIDRM, true
		case q.bytes+len(m.data) > maxQueue || len(q.messages) >= maxQueue:
			return -EAGAIN, false
		case !k.space.Hold(uint64(len(m.data)) + msgOverhead):
			return -ENOMEM, true
		}
		k.publish(&m.order)
		m.cell = k.newCell()
		k.writes(m.cell)
		q.messages = append(q.messages, m)
		q.bytes += len(m.data)
		k.files.changed = true
		return 0, true
	}
	if e, ok := try(); ok || c.arg[3]&ipcNoWait != 0 {
		return e
	}
	return c.sleepIO(Wait{Kind: WaitIPC}, nil, blockState{retry: try})
}

// msgrcv is msgrcv(id, message, size, type, flags).
func (c *call) msgrcv() int64 {
	q, e := c.ipc.queues.find(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	to, size, kind, flags := c.arg[1], c.arg[2], int64(c.arg[3]), c.arg[4]
	if int64(size) < 0 {
		return -EINVAL
	}
	k := c.Kernel
	try := func() (int64, bool) {
		if q.removed {
			return -EIDRM, true
		}
		i := q.choose(kind, flags&msgExcept != 0)
		if i < 0 {
			return -ENOMSG, false
		}
		if uint64(len(q.messages[i].data)) > size && flags&msgNoError == 0 {
			return -E2BIG, true
		}
		m := k.takeMessage(q, i)
		k.observe(m.order)
		k.reads(m.cell)
		k.forget(&m.order)
		data := m.data[:min(uint64(len(m.data)), size)]
		if f := k.space.Write(to, append(binary.LittleEndian.AppendUint64(nil, uint64(m.kind)), data...)); f != nil {
			return k.fault(f), true
		}
		return int64(len(data)), true
	}
	if n, ok := try(); ok || flags&ipcNoWait != 0 {
		return n
	}
	return c.sleepIO(Wait{Kind: WaitIPC}, nil, blockState{retry: try})
}

// choose returns the index of the message that msgrcv takes for a type, or -1 if there is
// none.
func (q *messageQueue) choose(kind int64, except bool) int {
	best := -1
	for i, m := range q.messages {
		switch {
		case kind == 0, kind > 0 && (m.kind == kind) != except:
			return i
		case kind < 0 && m.kind <= -kind && (best < 0 || m.kind < q.messages[best].kind):
			best = i
		}
	}
	return best
}
