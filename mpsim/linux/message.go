package linux

import "encoding/binary"

// Messages on sockets.

// sendto is sendto(fd, buf, n, flags, address, length).
func (c *call) sendto() int64 {
	to, e := c.addressArg(c.arg[4], c.arg[5])
	if e != 0 {
		return e
	}
	return c.send(int32(c.arg[0]), one(c.arg[1], c.arg[2]), c.arg[3], to)
}

// addressArg reads an optional address.
func (c *call) addressArg(addr, length uint64) (*address, int64) {
	if addr == 0 || length == 0 {
		return nil, 0
	}
	if length > maxSockaddr {
		return nil, -EINVAL
	}
	b := make([]byte, length)
	if f := c.space.Read(addr, b); f != nil {
		return nil, c.fault(f)
	}
	a, e := parseAddress(b)
	return &a, e
}

// putAddress stores an address for the guest, truncated to the available room.
func (c *call) putAddress(addr, length uint64, a *address) int64 {
	if addr == 0 || length == 0 {
		return 0
	}
	room, f := c.space.Uint32(length)
	if f != nil {
		return c.fault(f)
	}
	if int32(room) < 0 {
		return -EINVAL
	}
	b := a.encode()
	if f := c.space.Write(addr, b[:min(len(b), int(room))]); f != nil {
		return c.fault(f)
	}
	return c.fault(c.space.PutUint32(length, uint32(len(b))))
}

// send sends to an address, or to the connected socket if to is nil.
func (c *call) send(fd int32, bufs []buffer, flags uint64, to *address) int64 {
	return c.sendWith(fd, bufs, flags, to, nil)
}

// sendWith is like send, and also sends descriptors.
func (c *call) sendWith(fd int32, bufs []buffer, flags uint64, to *address, files []*openFile) int64 {
	f, s, e := c.socketOf(fd, flags)
	switch {
	case e != 0:
		return e
	case len(files) > 0 && s.family != familyUnix:
		return -EINVAL
	case to != nil && s.kind != socketDgram && s.to != nil:
		return -EISCONN
	case !s.packets:
		s.attach(files)
		return c.attached(s, c.writeStream(fd, f, s, bufs))
	}
	target := s
	if to != nil {
		target, e = c.sendsTo(s, to)
		if e != 0 || target == nil {
			if e != 0 {
				return e
			}
			return sum(bufs) // nobody listens, and the sender does not learn of it
		}
	}
	target.attach(files)
	return c.attached(target, c.sendPacket(fd, f, target, bufs))
}

// sendsTo returns a socket through which s sends a datagram to an address. It returns nil
// if nobody is there.
func (c *call) sendsTo(s *socket, to *address) (*socket, int64) {
	if !s.named && s.family != familyUnix { // so that the receiver can answer
		if e := c.network.take(s, address{family: s.family}.loopback()); e != 0 {
			return nil, e
		}
	}
	other, e := c.target(s, to)
	switch {
	case e == -ECONNREFUSED && s.family != familyUnix:
		return nil, 0
	case e != 0:
		return nil, e
	}
	return &socket{k: s.k, kind: s.kind, family: s.family, packets: true, local: s.local,
		to: &pipeEnd{other.from.pipe, true}, deliver: other}, 0
}

// sendPacket sends the content of the buffers as one message.
func (c *call) sendPacket(fd int32, f *openFile, s *socket, bufs []buffer) int64 {
	if sum(bufs) > pipeBytes {
		return -EMSGSIZE
	}
	var data []byte
	if n := c.gather(bufs, func(p []byte) (int, int64) {
		data = append(data, p...)
		return len(p), 0
	}); n < 0 {
		return n
	}
	k, t, unsignalled := c.Kernel, c.t, c.unsignalled
	try := func() (int64, bool) {
		n, e := s.write(data)
		k.keep()
		if e == -EPIPE && !unsignalled {
			k.sendTask(t, siginfo{sig: SIGPIPE, code: codeUser})
		}
		return int64(n) + e, e != -EAGAIN
	}
	n, ok := try()
	if ok || f.flags&openNonblock != 0 {
		return n
	}
	return c.sleepIO(Wait{Kind: WaitPipe, FD: int(fd)}, f, blockState{restart: true, retry: try})
}

func sum(bufs []buffer) (n int64) {
	for _, b := range bufs {
		n += int64(b.n)
	}
	return n
}

// recvfrom is recvfrom(fd, buf, n, flags, address, length).
func (c *call) recvfrom() int64 {
	return c.receive(int32(c.arg[0]), one(c.arg[1], c.arg[2]), c.arg[3], c.arg[4], c.arg[5], 0)
}

// receive receives bytes, and stores the sender's address where addr and length point.
// message is the address of the struct msghdr that receives descriptors, or 0.
func (c *call) receive(fd int32, bufs []buffer, flags, addr, length, message uint64) int64 {
	f, s, e := c.socketOf(fd, flags)
	if e != 0 {
		return e
	}
	if s.from == nil {
		return -ENOTCONN
	}
	var done int64
	try := func() (n int64, ok bool) {
		told := uint32(0)
		if s.packets {
			n, ok = c.receivePacket(s, bufs, flags, addr, length, &told)
		} else {
			n, ok = c.receiveBytes(s, &bufs, flags, &done)
		}
		if ok && n >= 0 {
			c.receiveRights(s.from.pipe, message, flags, told)
		}
		return n, ok
	}
	n, ok := try()
	switch {
	case ok:
		return n
	case f.flags&openNonblock != 0 && done > 0:
		return done
	case f.flags&openNonblock != 0:
		return -EAGAIN
	}
	b := blockState{restart: true, retry: try}
	b.partial = func() int64 { return done }
	return c.sleepIO(Wait{Kind: WaitPipe, FD: int(fd)}, f, b)
}

// receiveBytes takes the available bytes of a stream. It reports false if it must wait for
// more.
func (k *Kernel) receiveBytes(s *socket, bufs *[]buffer, flags uint64, done *int64) (int64, bool) {
	n := k.scatter(*bufs, func(p []byte) (int, int64) {
		if flags&messagePeek != 0 {
			return s.peek(p)
		}
		return k.readFrom(s, p)
	})
	if n == -EAGAIN && sum(*bufs) > 0 {
		return n, false
	}
	if n < 0 {
		if *done > 0 {
			return *done, true
		}
		return n, true
	}
	*done += n
	if n > 0 && flags&(messageWaitAll|messagePeek) == messageWaitAll {
		*bufs = skip(*bufs, uint64(n))
		if len(*bufs) > 0 {
			return 0, false
		}
	}
	return *done, true
}

// receivePacket takes one message. It reports false if there is none yet. If the message
// does not fit, it sets a flag in told.
func (c *call) receivePacket(s *socket, bufs []buffer, flags, addr, length uint64, told *uint32) (int64, bool) {
	from, whole := s.peer, 0
	if len(s.senders) > 0 {
		from = s.senders[0]
	}
	if len(s.from.messages) > 0 {
		whole = s.from.messages[0].left
	}
	data := make([]byte, max(min(whole, int(sum(bufs))), 1))
	var n int
	var e int64
	if flags&messagePeek != 0 {
		n, e = s.peek(data)
	} else {
		n, e = s.read(data)
	}
	if e != 0 {
		return e, e != -EAGAIN
	}
	rest := data[:n]
	got := c.scatter(bufs, func(p []byte) (int, int64) {
		n := copy(p, rest)
		rest = rest[n:]
		return n, 0
	})
	if got >= 0 && s.kind == socketDgram {
		if e := c.putAddress(addr, length, &from); e != 0 {
			return e, true
		}
	}
	if got >= 0 && int(got) < whole {
		*told |= messageTrunc
	}
	if got >= 0 && flags&messageTrunc != 0 {
		return int64(whole), true
	}
	return got, true
}

// peek reads without removing.
func (s *socket) peek(b []byte) (int, int64) {
	p := s.from
	if p == nil {
		return 0, -ENOTCONN
	}
	if len(p.buf) == 0 {
		if p.writers {
			return 0, -EAGAIN
		}
		s.k.observe(p.writersClose)
		return 0, 0
	}
	n := len(p.buf)
	if s.packets {
		n = p.messages[0].left
	}
	n = copy(b, p.buf[:n])
	for i, seen := 0, 0; seen < n; i++ {
		s.k.observe(p.messages[i].order)
		seen += p.messages[i].left
	}
	return n, 0
}

// header is a decoded struct msghdr.
type header struct {
	name, nameLen uint64
	bufs          []buffer
	control       control
}

// control is the location of the control data of a message.
type control struct{ addr, n uint64 }

const (
	headerBytes     = 56
	headerNameLen   = 8
	headerControlAt = 32
	headerControl   = 40
	headerFlags     = 48
)

func (c *call) header(addr uint64) (h header, e int64) {
	var b [headerBytes]byte
	if f := c.space.Read(addr, b[:]); f != nil {
		return h, c.fault(f)
	}
	le := binary.LittleEndian
	h.name, h.nameLen = le.Uint64(b[0:]), uint64(le.Uint32(b[headerNameLen:]))
	h.control = control{le.Uint64(b[headerControlAt:]), le.Uint64(b[headerControl:])}
	h.bufs, e = c.iovecs(le.Uint64(b[16:]), le.Uint64(b[24:]))
	return h, e
}

// sendmsg is sendmsg(fd, message, flags).
func (c *call) sendmsg() int64 {
	h, e := c.header(c.arg[1])
	if e != 0 {
		return e
	}
	return c.sendMessage(&h, c.arg[2])
}

// sendMessage sends a message through the socket that the call names.
func (c *call) sendMessage(h *header, flags uint64) int64 {
	to, e := c.addressArg(h.name, h.nameLen)
	if e != 0 {
		return e
	}
	files, e := c.rightsToSend(h.control)
	if e != 0 {
		return e
	}
	return c.sendWith(int32(c.arg[0]), h.bufs, flags, to, files)
}

// recvmsg is recvmsg(fd, message, flags).
func (c *call) recvmsg() int64 { return c.receiveMessage(c.arg[1], c.arg[2]) }

// receiveMessage receives the message whose struct msghdr is at an address, from the socket
// that the call names. The only control data are descriptors.
func (c *call) receiveMessage(message, flags uint64) int64 {
	h, e := c.header(message)
	if e != 0 {
		return e
	}
	length := message + headerNameLen
	if h.name == 0 {
		length = 0
	}
	return c.receive(int32(c.arg[0]), h.bufs, flags, h.name, length, message)
}
