package linux

import "encoding/binary"

// How sockets find each other.

// bind is bind(fd, address, length).
func (c *call) bind() int64 {
	_, s, e := c.socketOf(int32(c.arg[0]), 0)
	if e != 0 {
		return e
	}
	a, e := c.addressArg(c.arg[1], c.arg[2])
	switch {
	case e != 0:
		return e
	case a == nil || a.family != s.family:
		return -EINVAL
	case !a.here():
		return -EADDRNOTAVAIL
	case a.family == familyUnix:
		return c.bindPath(s, *a)
	case s.named:
		return -EINVAL
	}
	return c.network.take(s, *a)
}

// bindPath binds a socket to an abstract name or to the name of a file, which it creates.
func (c *call) bindPath(s *socket, a address) int64 {
	if a.path == "" { // the kernel chooses a name
		c.network.names++
		a.path = "\x00" + string(binary.BigEndian.AppendUint32(nil, uint32(c.network.names)))
	}
	if a.path[0] == 0 {
		if s.named {
			return -EINVAL
		}
		s.shown = a.path
		return c.network.take(s, a)
	}
	name, e := c.absolute(atFDCWD, a.path)
	if e != 0 {
		return e
	}
	if _, e := c.vfs.Stat(name, false); e == 0 {
		return -EADDRINUSE
	}
	if s.named {
		return -EINVAL
	}
	if e := c.vfs.MakeSocket(name); e != 0 {
		return e
	}
	file := a
	file.path = name
	if e := c.network.take(s, file); e != 0 {
		return e
	}
	s.shown = a.path
	return 0
}

// target returns the socket at an address, which may be the name of a file.
func (c *call) target(s *socket, a *address) (*socket, int64) {
	if a.family == familyUnix && a.path != "" && a.path[0] != 0 {
		name, e := c.absolute(atFDCWD, a.path)
		if e != 0 {
			return nil, e
		}
		if _, e := c.vfs.Stat(name, true); e != 0 {
			return nil, e
		}
		a.path = name
	}
	if !a.here() {
		return nil, -ENETUNREACH
	}
	to := c.network.find(s, a)
	if to == nil || s.kind != to.kind {
		return nil, -ECONNREFUSED
	}
	return to, 0
}

// listen is listen(fd, backlog).
func (c *call) listen() int64 {
	_, s, e := c.socketOf(int32(c.arg[0]), 0)
	switch {
	case e != 0:
		return e
	case s.kind == socketDgram:
		return -EOPNOTSUPP
	case s.from != nil:
		return -EINVAL
	}
	if !s.named {
		if s.family == familyUnix {
			return -EINVAL
		}
		if e := c.network.take(s, address{family: s.family}); e != 0 {
			return e
		}
	}
	s.listening, s.backlog = true, int(min(max(int32(c.arg[1]), 0), 4096))
	return 0
}

// connect is connect(fd, address, length).
func (c *call) connect() int64 {
	fd := int32(c.arg[0])
	f, s, e := c.socketOf(fd, 0)
	if e != 0 {
		return e
	}
	a, e := c.addressArg(c.arg[1], c.arg[2])
	switch {
	case e != 0:
		return e
	case a == nil:
		return -EINVAL
	case a.family == 0 && s.kind == socketDgram:
		s.to = nil
		return 0
	case a.family != s.family:
		return -EAFNOSUPPORT
	case s.listening:
		return -EINVAL
	case s.kind != socketDgram && s.from != nil:
		return -EISCONN
	}
	to, e := c.target(s, a)
	if s.kind == socketDgram {
		return c.connectDgram(s, a, to, e)
	}
	if e == 0 && !to.listening {
		e = -ECONNREFUSED
	}
	if e != 0 {
		return e
	}
	try := func() (int64, bool) {
		if !to.listening {
			return -ECONNREFUSED, true
		}
		if len(to.waiting) > to.backlog {
			return 0, false
		}
		c.connectTo(s, to, a)
		return 0, true
	}
	if n, ok := try(); ok {
		return n
	}
	if f.flags&openNonblock != 0 {
		return -EAGAIN
	}
	return c.sleepIO(Wait{Kind: WaitPipe, FD: int(fd)}, f, blockState{restart: true, retry: try})
}

// connectTo makes a connection, which then waits to be accepted.
func (c *call) connectTo(s, to *socket, a *address) {
	if !s.named && s.family != familyUnix {
		_ = c.network.take(s, address{family: s.family}.loopback()) // without a free port it remains unnamed
	}
	other := c.newSocket(to.family, to.kind)
	c.join(s, other)
	s.peer = a.loopback()
	s.peer.path = to.shown
	other.local, other.peer = to.local.loopback(), s.local
	other.shown = to.shown
	w := connection{socket: other}
	c.publish(&w.order)
	to.waiting = append(to.waiting, w)
	c.files.changed = true
}

func (c *call) connectDgram(s *socket, a *address, to *socket, e int64) int64 {
	switch {
	case e == -ECONNREFUSED && s.family != familyUnix: // nobody is there yet
		s.peer, s.to = *a, nil
		return 0
	case e != 0:
		return e
	}
	if !s.named && s.family != familyUnix {
		if e := c.network.take(s, address{family: s.family}.loopback()); e != 0 {
			return e
		}
	}
	s.peer, s.to, s.deliver = *a, &pipeEnd{to.from.pipe, true}, to
	return 0
}

// accept is accept(fd, address, length). accept4 also has flags.
func (c *call) accept() int64  { return c.acceptWith(0) }
func (c *call) accept4() int64 { return c.acceptWith(uint32(c.arg[3])) }

func (c *call) acceptWith(flags uint32) int64 {
	fd := int32(c.arg[0])
	f, s, e := c.socketOf(fd, 0)
	switch {
	case e != 0:
		return e
	case flags&^(openCloexec|openNonblock) != 0 || !s.listening && s.kind != socketDgram:
		return -EINVAL
	case s.kind == socketDgram:
		return -EOPNOTSUPP
	}
	k, addr, length := c.Kernel, c.arg[1], c.arg[2]
	try := func() (int64, bool) {
		if !s.listening {
			return -EINVAL, true
		}
		if len(s.waiting) == 0 {
			return 0, false
		}
		w := s.waiting[0]
		got := c.addSocket(w.socket, flags)
		if got < 0 {
			return got, true
		}
		s.waiting = s.waiting[1:]
		k.observe(w.order)
		k.forget(&w.order)
		k.files.changed = true
		if e := c.putAddress(addr, length, &w.socket.peer); e != 0 {
			k.files.close(int32(got))
			return e, true
		}
		return got, true
	}
	if n, ok := try(); ok {
		return n
	}
	if f.flags&openNonblock != 0 {
		return -EAGAIN
	}
	return c.sleepIO(Wait{Kind: WaitPipe, FD: int(fd)}, f, blockState{restart: true, retry: try})
}

// getsockname is getsockname(fd, address, length). getpeername has the same arguments.
func (c *call) getsockname() int64 {
	_, s, e := c.socketOf(int32(c.arg[0]), 0)
	if e != 0 {
		return e
	}
	a := s.local
	if a.family == familyUnix && s.shown != "" {
		a.path = s.shown
	}
	return c.putAddress(c.arg[1], c.arg[2], &a)
}

func (c *call) getpeername() int64 {
	_, s, e := c.socketOf(int32(c.arg[0]), 0)
	switch {
	case e != 0:
		return e
	case s.to == nil:
		return -ENOTCONN
	}
	return c.putAddress(c.arg[1], c.arg[2], &s.peer)
}

// Levels and names of socket options.
const (
	levelSocket = 1
	levelIPv6   = 41

	optionType       = 3
	optionError      = 4
	optionSendBuffer = 7
	optionReadBuffer = 8
	optionAccepts    = 30
	optionProtocol   = 38
	optionDomain     = 39
	optionPeerCred   = 17
	optionOnlyV6     = 26 // of levelIPv6
)

// setsockopt is setsockopt(fd, level, name, value, length). Options are stored, but change
// nothing.
func (c *call) setsockopt() int64 {
	_, s, e := c.socketOf(int32(c.arg[0]), 0)
	if e != 0 {
		return e
	}
	const most = 256
	if c.arg[4] > most {
		return -EINVAL
	}
	value := make([]byte, c.arg[4])
	if f := c.space.Read(c.arg[3], value); f != nil {
		return c.fault(f)
	}
	if s.options == nil {
		s.options = map[uint64][]byte{}
	}
	if len(s.options) < most {
		s.options[c.arg[1]<<32|c.arg[2]&0xffff_ffff] = value
	}
	if c.arg[1] == levelIPv6 && c.arg[2] == optionOnlyV6 {
		s.onlyV6 = len(value) > 0 && value[0] != 0
	}
	return 0
}

// getsockopt is getsockopt(fd, level, name, value, length).
func (c *call) getsockopt() int64 {
	_, s, e := c.socketOf(int32(c.arg[0]), 0)
	if e != 0 {
		return e
	}
	room, f := c.space.Uint32(c.arg[4])
	if f != nil {
		return c.fault(f)
	}
	value := s.option(c.arg[1], c.arg[2])
	value = value[:min(len(value), int(room))]
	if f := c.space.Write(c.arg[3], value); f != nil {
		return c.fault(f)
	}
	return c.fault(c.space.PutUint32(c.arg[4], uint32(len(value))))
}

func (s *socket) option(level, name uint64) []byte {
	word := func(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
	if level == levelSocket {
		switch name {
		case optionType:
			return word(uint32(s.kind))
		case optionError:
			return word(0)
		case optionDomain:
			return word(uint32(s.family))
		case optionProtocol:
			return word(s.protocol())
		case optionAccepts:
			if s.listening {
				return word(1)
			}
			return word(0)
		case optionPeerCred: // struct ucred: pid, uid, gid
			return append(word(MainTID), make([]byte, 8)...)
		}
	}
	if v, ok := s.options[level<<32|name&0xffff_ffff]; ok {
		return v
	}
	if level == levelSocket && (name == optionSendBuffer || name == optionReadBuffer) {
		return word(pipeBytes)
	}
	return word(0)
}

// protocol returns the protocol of the socket: TCP, UDP, or 0 for none.
func (s *socket) protocol() uint32 {
	const tcp, udp = 6, 17
	switch {
	case s.family == familyUnix:
		return 0
	case s.kind == socketStream:
		return tcp
	}
	return udp
}
