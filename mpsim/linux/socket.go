package linux

import (
	"encoding/binary"

	"hindsight/mpsim/linux/vfs"
)

// Sockets inside the guest: pairs, and those of AF_UNIX, AF_INET and AF_INET6, which find
// each other by address. The only host is the guest's own; nothing reaches the network of
// the real one. A connection consists of two pipes. A datagram socket has one pipe, to
// which all senders write.

const (
	socketStream = 1
	socketDgram  = 2
	socketPacket = 5
	socketTypes  = 0xf

	messagePeek     = 0x2
	messageTrunc    = 0x20
	messageDontWait = 0x40
	messageWaitAll  = 0x100
	messageNoSignal = 0x4000
	messageMore     = 0x8000
	messageCloexec  = 0x4000_0000
	messageFlags    = messagePeek | messageTrunc | messageDontWait | messageNoSignal | messageWaitAll | messageMore | messageCloexec
)

// socket is one end of a connection: it reads from one pipe and writes to another.
type socket struct {
	k        *Kernel
	from, to *pipeEnd // nil: not connected
	ino      uint64
	family   uint16
	kind     uint64
	packets  bool // what is written at once is read at once

	local, peer address
	named       bool // it has an address
	onlyV6      bool
	listening   bool
	backlog     int
	waiting     []connection      // to a listening socket, not accepted yet
	senders     []address         // for datagrams: the sender of each message in from
	options     map[uint64][]byte // set by the guest, by level and name
	shown       string            // the name of its file, as given to bind
	deliver     *socket           // where datagrams that are written go
	pair        bool              // two datagram sockets made by socketpair
}

// connection is a connection that waits to be accepted. The thread that accepts it is
// ordered after the thread that made it.
type connection struct {
	socket *socket
	order  handle
}

func (c *call) newSocket(family uint16, kind uint64) *socket {
	s := &socket{k: c.Kernel, ino: c.vfs.Inode(), family: family, kind: kind, packets: kind != socketStream}
	s.local.family, s.peer.family = family, family
	if kind == socketDgram {
		s.from = &pipeEnd{c.newPipe(), false}
	}
	return s
}

func (c *call) newPipe() *pipe {
	return &pipe{k: c.Kernel, ino: c.vfs.Inode(), readers: true, writers: true}
}

func (s *socket) Stat() vfs.Stat { return vfs.Stat{Mode: vfs.ModeSocket | 0o777, Ino: s.ino, Nlink: 1} }

func (s *socket) Close() {
	s.k.network.leave(s)
	for _, c := range s.waiting {
		c.socket.Close()
	}
	s.waiting = nil
	if s.from != nil {
		s.from.Close()
	}
	if s.to != nil && s.kind != socketDgram {
		s.to.Close()
	}
}

func (s *socket) closes() {
	if s.from != nil {
		s.from.closes()
	}
	if s.to != nil && s.kind != socketDgram {
		s.to.closes()
	}
}

func (s *socket) read(b []byte) (int, int64) {
	if s.from == nil {
		return 0, -ENOTCONN
	}
	if !s.packets || len(s.from.messages) == 0 {
		return s.k.readFrom(s.from, b)
	}
	whole := s.from.messages[0].left
	n, e := s.k.readFrom(s.from, b[:min(len(b), whole)])
	if rest := whole - n; e == 0 && rest > 0 { // what does not fit is lost
		s.from.buf = s.from.buf[rest:]
		s.from.took(rest)
	}
	if e == 0 && len(s.senders) > 0 {
		s.senders = s.senders[1:]
	}
	return n, e
}

func (s *socket) write(b []byte) (int, int64) {
	switch {
	case s.to == nil && s.family == familyUnix:
		return 0, -ENOTCONN
	case s.to == nil && s.kind == socketDgram:
		return 0, -EDESTADDRREQ
	case s.to == nil:
		return 0, -EPIPE
	}
	room := pipeBytes - len(s.to.buf)
	switch {
	case s.packets && len(b) > pipeBytes:
		return 0, -EMSGSIZE
	case s.packets && s.to.readers && room < len(b):
		return 0, -EAGAIN
	}
	n, e := s.k.writeTo(s.to, b)
	if e == -EPIPE && (s.kind == socketDgram || s.pair) {
		e = -ECONNREFUSED
	}
	if e == 0 && s.deliver != nil {
		s.deliver.senders = append(s.deliver.senders, s.local)
	}
	return n, e
}

// ready implements [stream]. The end of the data counts as something to read, and so does a
// waiting connection.
func (s *socket) ready() (read, write, hangup bool) {
	if s.listening {
		return len(s.waiting) > 0, false, false
	}
	if s.from != nil {
		var ended bool
		read, _, ended = s.from.ready()
		read = read || ended
	}
	write = s.kind == socketDgram
	if s.to != nil {
		_, write, _ = s.to.ready()
	}
	return read, write || s.from == nil, false
}

// hangups returns the poll events that say that the other side is gone.
func (s *socket) hangups(want uint16) (got uint16) {
	switch {
	case s.listening || s.kind == socketDgram:
		return 0
	case s.from == nil:
		return pollHup
	}
	if !s.from.writers {
		got |= want & pollReadHup
		if !s.to.readers {
			got |= pollHup
		}
	}
	return got
}

func (s *socket) observeReady(got uint16) {
	if s.listening {
		if len(s.waiting) > 0 {
			s.k.observe(s.waiting[0].order)
		}
		return
	}
	if s.from == nil {
		return
	}
	if got&pollIn != 0 && len(s.from.messages) == 0 {
		got |= pollHup
	}
	s.from.observeReady(got)
}

// newSocketFD is socket(family, type, protocol).
func (c *call) newSocketFD() int64 {
	family, kind, flags := uint16(c.arg[0]), c.arg[1]&socketTypes, uint32(c.arg[1])&^socketTypes
	switch {
	case c.arg[0] != familyUnix && c.arg[0] != familyINet && c.arg[0] != familyINet6:
		return -EAFNOSUPPORT
	case flags&^(openCloexec|openNonblock) != 0:
		return -EINVAL
	case kind == socketPacket && family != familyUnix || kind != socketStream && kind != socketDgram && kind != socketPacket:
		return -ESOCKTNOSUPPORT
	}
	return c.addSocket(c.newSocket(family, kind), flags)
}

// addSocket creates a descriptor for a socket.
func (c *call) addSocket(s *socket, flags uint32) int64 {
	return c.files.add(&openFile{file: s, path: "socket:", flags: flags&openNonblock | vfs.OpenReadWrite}, 0, flags&openCloexec != 0)
}

// socketpair is socketpair(family, type, protocol, fds).
func (c *call) socketpair() int64 {
	kind, flags := c.arg[1]&socketTypes, uint32(c.arg[1])&^socketTypes
	switch {
	case c.arg[0] != familyUnix:
		return -EAFNOSUPPORT
	case kind != socketStream && kind != socketDgram && kind != socketPacket || flags&^(openCloexec|openNonblock) != 0:
		return -EINVAL
	}
	a, b := c.newSocket(familyUnix, kind), c.newSocket(familyUnix, kind)
	if kind == socketDgram { // what one socket reads only the other one writes
		a.kind, b.kind = socketPacket, socketPacket
		a.pair, b.pair = true, true
	}
	c.join(a, b)
	var out [8]byte
	for i, s := range []*socket{a, b} {
		fd := c.addSocket(s, flags)
		if fd < 0 {
			if i > 0 {
				c.files.close(int32(binary.LittleEndian.Uint32(out[:])))
			}
			return fd
		}
		binary.LittleEndian.PutUint32(out[4*i:], uint32(fd))
	}
	return c.fault(c.space.Write(c.arg[3], out[:]))
}

// join connects two sockets.
func (c *call) join(a, b *socket) {
	there, back := c.newPipe(), c.newPipe()
	a.from, a.to = &pipeEnd{back, false}, &pipeEnd{there, true}
	b.from, b.to = &pipeEnd{there, false}, &pipeEnd{back, true}
}

// socketOf returns the socket of a descriptor, and its description as it applies to a call
// with flags.
func (c *call) socketOf(fd int32, flags uint64) (*openFile, *socket, int64) {
	f, e := c.files.get(fd)
	if e != 0 {
		return nil, nil, e
	}
	s, ok := f.file.(*socket)
	if !ok {
		return nil, nil, -ENOTSOCK
	}
	if flags&^messageFlags != 0 {
		c.note("flags of a message")
		return nil, nil, -EINVAL
	}
	c.unsignalled = flags&messageNoSignal != 0
	if flags&messageDontWait != 0 {
		once := *f // a copy is enough, because the call does not wait and nobody keeps it
		once.flags |= openNonblock
		f = &once
	}
	return f, s, 0
}

// shutdown is shutdown(fd, how).
func (c *call) shutdown() int64 {
	_, s, e := c.socketOf(int32(c.arg[0]), 0)
	switch {
	case e != 0:
		return e
	case c.arg[1] > 2:
		return -EINVAL
	case s.listening: // tasks that wait in accept stop waiting
		s.listening = false
		c.files.changed = true
		return 0
	case s.from == nil || s.kind == socketDgram && s.to == nil:
		return -ENOTCONN
	}
	if c.arg[1] != 1 {
		s.from.closes()
		s.from.Close()
	}
	if c.arg[1] != 0 && s.to != nil && s.kind != socketDgram {
		s.to.closes()
		s.to.Close()
	}
	return 0
}
