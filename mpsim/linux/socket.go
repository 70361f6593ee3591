package linux

import "encoding/binary"

// Sockets: only pairs of connected ones, which are two pipes.

const (
	modeSocket = 0o140000

	familyUnix   = 1
	socketStream = 1
	socketDgram  = 2
	socketPacket = 5
	socketTypes  = 0xf

	messageDontWait = 0x40
	messageNoSignal = 0x4000
	messageWaitAll  = 0x100
	messageFlags    = messageDontWait | messageNoSignal | messageWaitAll
)

// socket is one of a pair: it reads from one pipe and writes to the other.
type socket struct {
	from, to *pipeEnd
	ino      uint64
	packets  bool // what is written at once is read at once
}

func (s *socket) stat() stat { return stat{mode: modeSocket | 0o777, ino: s.ino, nlink: 1} }

func (s *socket) close() {
	s.from.close()
	s.to.close()
}

func (s *socket) closes() {
	s.from.closes()
	s.to.closes()
}

func (s *socket) read(b []byte) (int, int64) {
	if !s.packets || len(s.from.messages) == 0 {
		return s.from.k.readFrom(s.from, b)
	}
	whole := s.from.messages[0].left
	n, e := s.from.k.readFrom(s.from, b[:min(len(b), whole)])
	if rest := whole - n; e == 0 && rest > 0 { // what there is no room for is lost
		s.from.buf = s.from.buf[rest:]
		s.from.took(rest)
	}
	return n, e
}

func (s *socket) write(b []byte) (int, int64) {
	switch room := pipeBytes - len(s.to.buf); {
	case s.packets && len(b) > pipeBytes:
		return 0, -EMSGSIZE
	case s.packets && s.to.readers && room < len(b):
		return 0, -EAGAIN
	}
	return s.to.k.writeTo(s.to, b)
}

// ready: the end of what can be read is something to read.
func (s *socket) ready() (read, write, hangup bool) {
	read, _, ended := s.from.ready()
	_, write, _ = s.to.ready()
	return read || ended, write, false
}

func (s *socket) observeReady(got uint16) {
	if got&pollIn != 0 && len(s.from.messages) == 0 {
		got |= pollHup
	}
	s.from.observeReady(got)
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
	pipes := [2]*pipe{}
	for i := range pipes {
		pipes[i] = &pipe{k: c.Kernel, ino: c.vfs.inode(), readers: true, writers: true}
	}
	var b [8]byte
	for i := range pipes {
		s := &socket{&pipeEnd{pipes[i], false}, &pipeEnd{pipes[1-i], true}, c.vfs.inode(), kind != socketStream}
		fd := c.files.add(&openFile{file: s, path: "socket:", flags: flags&openNonblock | openReadWrite}, 0, flags&openCloexec != 0)
		if fd < 0 {
			if i > 0 {
				c.files.close(int32(binary.LittleEndian.Uint32(b[:])))
			}
			return fd
		}
		binary.LittleEndian.PutUint32(b[4*i:], uint32(fd))
	}
	return c.fault(c.space.Write(c.arg[3], b[:]))
}

// socketOf gives the socket behind a descriptor, and its description as it is
// for a call with flags.
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
		once := *f // the call does not wait, so that nobody keeps it
		once.flags |= openNonblock
		f = &once
	}
	return f, s, 0
}

// sendto is sendto(fd, buf, n, flags, …), recvfrom likewise.
func (c *call) sendto() int64 {
	return c.send(int32(c.arg[0]), one(c.arg[1], c.arg[2]), c.arg[3])
}

func (c *call) recvfrom() int64 {
	return c.receive(int32(c.arg[0]), one(c.arg[1], c.arg[2]), c.arg[3])
}

func (c *call) send(fd int32, bufs []buffer, flags uint64) int64 {
	f, s, e := c.socketOf(fd, flags)
	if e != 0 {
		return e
	}
	return c.writeStream(fd, f, s, bufs)
}

func (c *call) receive(fd int32, bufs []buffer, flags uint64) int64 {
	f, s, e := c.socketOf(fd, flags)
	if e != 0 {
		return e
	}
	return c.readStream(fd, f, s, bufs)
}

// sendmsg is sendmsg(fd, message, flags), recvmsg likewise: only their buffers.
func (c *call) sendmsg() int64 { return c.message(c.send) }
func (c *call) recvmsg() int64 { return c.message(c.receive) }

func (c *call) message(do func(int32, []buffer, uint64) int64) int64 {
	var b [56]byte // struct msghdr
	if f := c.space.Read(c.arg[1], b[:]); f != nil {
		return c.fault(f)
	}
	bufs, e := c.iovecs(binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:]))
	if e != 0 {
		return e
	}
	return do(int32(c.arg[0]), bufs, c.arg[2])
}

// shutdown is shutdown(fd, how).
func (c *call) shutdown() int64 {
	_, s, e := c.socketOf(int32(c.arg[0]), 0)
	if e != 0 {
		return e
	}
	if c.arg[1] > 2 {
		return -EINVAL
	}
	if c.arg[1] != 1 {
		s.from.closes()
		s.from.close()
	}
	if c.arg[1] != 0 {
		s.to.closes()
		s.to.close()
	}
	return 0
}
