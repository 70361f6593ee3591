package linux

import "encoding/binary"

// Descriptors that are sent with a message (SCM_RIGHTS). They belong to the message's first
// byte. A read stops at the end of such a message.

const (
	solSocket     = 1
	scmRights     = 1
	rightsHeader  = 16  // bytes of struct cmsghdr
	maxRights     = 253 // maximum number of descriptors in a message
	maxControl    = 64 << 10
	controlTrunc  = 0x8 // MSG_CTRUNC
	rightsCloexec = messageCloexec
)

// rightsToSend reads the descriptors in the control data of a message.
func (c *call) rightsToSend(at control) (files []*openFile, e int64) {
	if at.addr == 0 || at.n == 0 {
		return nil, 0
	}
	if at.n > maxControl {
		return nil, -ENOMEM
	}
	b := make([]byte, at.n)
	if f := c.space.Read(at.addr, b); f != nil {
		return nil, c.fault(f)
	}
	le := binary.LittleEndian
	for len(b) >= rightsHeader {
		n := le.Uint64(b)
		if n < rightsHeader || n > uint64(len(b)) {
			return nil, -EINVAL
		}
		if le.Uint32(b[8:]) != solSocket || le.Uint32(b[12:]) != scmRights {
			c.note("control data of a message")
			return nil, -EINVAL
		}
		for data := b[rightsHeader:n]; len(data) >= 4; data = data[4:] {
			f, e := c.files.get(int32(le.Uint32(data)))
			if e != 0 {
				return nil, e
			}
			files = append(files, f)
		}
		b = b[min((n+7)&^7, uint64(len(b))):]
	}
	if len(files) > maxRights {
		return nil, -EINVAL
	}
	return files, 0
}

// attach sends files with the next message.
func (s *socket) attach(files []*openFile) {
	if s.to == nil || len(files) == 0 {
		return
	}
	for _, f := range files {
		f.refs++
	}
	s.to.going = files
}

// attached takes back the files of a message that could not be sent. It returns n, the
// result of sending.
func (c *call) attached(s *socket, n int64) int64 {
	if s.to != nil && c.t.State != Blocked {
		c.release(&s.to.going)
	}
	return n
}

func (k *Kernel) release(files *[]*openFile) {
	for _, f := range *files {
		k.files.release(f)
	}
	*files = nil
}

// dropRights releases descriptors that can no longer be received.
func (p *pipe) dropRights() {
	for i := range p.messages {
		p.k.release(&p.messages[i].files)
	}
	p.k.release(&p.going)
	p.k.release(&p.came)
}

// together returns the number of bytes that one read may return.
func (p *pipe) together() int {
	n := 0
	for i := range p.messages {
		n += p.messages[i].left
		if len(p.messages[i].files) > 0 {
			return n
		}
	}
	return len(p.buf)
}

// receiveRights creates descriptors for the received files, and stores them in the struct
// msghdr at message. A reader without a msghdr loses them.
func (c *call) receiveRights(p *pipe, message, flags uint64, told uint32) {
	defer c.release(&p.came)
	if message == 0 {
		return
	}
	h, e := c.header(message)
	if e != 0 {
		return
	}
	room := uint64(0)
	if h.control.addr != 0 && h.control.n >= rightsHeader {
		room = (h.control.n - rightsHeader) / 4
	}
	data := make([]byte, rightsHeader)
	le := binary.LittleEndian
	for i, f := range p.came {
		if uint64(i) >= room {
			told |= controlTrunc
			break
		}
		fd := c.files.add(f, 0, flags&rightsCloexec != 0)
		if fd < 0 {
			told |= controlTrunc
			break
		}
		data = le.AppendUint32(data, uint32(fd))
	}
	used := uint64(0)
	if len(data) > rightsHeader {
		le.PutUint64(data, uint64(len(data)))
		le.PutUint32(data[8:], solSocket)
		le.PutUint32(data[12:], scmRights)
		used = min(uint64(len(data)+7)&^7, h.control.n)
		_ = c.space.Write(h.control.addr, data)
	}
	var out [headerBytes - headerControl]byte
	le.PutUint64(out[:], used)
	le.PutUint32(out[headerFlags-headerControl:], told)
	_ = c.space.Write(message+headerControl, out[:])
}
