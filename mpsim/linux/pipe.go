package linux

import (
	"encoding/binary"

	"hindsight/mpsim/linux/vfs"
)

const (
	pipeBytes  = 64 << 10
	pipeAtomic = 4096
)

// pipe is the buffer between two ends.
type pipe struct {
	k                *Kernel
	ino              uint64
	buf              []byte    // written but not read yet
	store            []byte    // the storage of buf
	messages         []message // the messages in buf
	readers, writers bool      // an end is open
	written          uint64    // total number of bytes
	held             uint64    // bytes that count as memory of the guest

	// Descriptions that are sent with the next message, and those received with the last
	// one; see rights.go.
	going, came []*openFile

	// What the threads did that closed descriptors of an end. When all are closed, the
	// other end is ordered after it.
	readersClose, writersClose handle
}

// message is what one call wrote. Its reader is ordered after its writer, but not after
// later writers.
type message struct {
	left  int // number of its bytes in the buffer
	order handle
	files []*openFile // sent with it, until its first byte is read
}

// messageBytes is the size of a message besides its bytes.
const messageBytes = 64

// hold counts n bytes as memory of the guest. It reports false if there is no room.
func (p *pipe) hold(n uint64) bool {
	if !p.k.space.Hold(n) {
		return false
	}
	p.held += n
	return true
}

// pipeEnd is one end of a pipe.
type pipeEnd struct {
	*pipe
	writing bool
}

func (p *pipeEnd) Stat() vfs.Stat { return vfs.Stat{Mode: vfs.ModeFIFO | 0o600, Ino: p.ino, Nlink: 1} }

func (p *pipeEnd) Close() {
	if p.writing {
		p.writers = false
	} else {
		p.readers = false
		p.dropRights()
	}
	if !p.writers && !p.readers {
		p.k.space.LetGo(p.held)
		p.held = 0
	}
	p.k.files.changed = true
}

func (p *pipeEnd) closes() {
	if p.writing {
		p.k.publish(&p.writersClose)
	} else {
		p.k.publish(&p.readersClose)
	}
}

func (p *pipeEnd) observeReady(got uint16) {
	switch {
	case p.writing && got&pollErr != 0:
		p.k.observe(p.readersClose)
	case p.writing:
	case got&pollIn != 0 && len(p.messages) > 0:
		p.k.observe(p.messages[0].order)
	case got&pollHup != 0:
		p.k.observe(p.writersClose)
	}
}

func (p *pipeEnd) read(b []byte) (int, int64) {
	if len(p.buf) == 0 {
		if p.writers {
			return 0, -EAGAIN
		}
		p.k.observe(p.writersClose)
		return 0, 0
	}
	n := copy(b, p.buf[:p.together()])
	p.buf = p.buf[n:]
	p.took(n)
	p.k.files.changed = true
	return n, 0
}

// took orders the reader of n bytes after their writers.
func (p *pipe) took(n int) {
	for n > 0 {
		m := &p.messages[0]
		p.k.observe(m.order)
		p.came = append(p.came, m.files...)
		m.files = nil
		if m.left > n {
			m.left -= n
			return
		}
		n -= m.left
		p.held -= messageBytes
		p.k.space.LetGo(messageBytes)
		p.k.forget(&m.order)
		p.messages = p.messages[1:]
	}
}

func (p *pipeEnd) write(b []byte) (int, int64) {
	if !p.readers {
		p.k.observe(p.readersClose)
		return 0, -EPIPE
	}
	room := pipeBytes - len(p.buf)
	if room == 0 || len(b) <= pipeAtomic && room < len(b) {
		return 0, -EAGAIN
	}
	n := min(room, len(b))
	if cap(p.buf)-len(p.buf) < n {
		if p.store == nil {
			if !p.hold(2 * pipeBytes) {
				return 0, -ENOMEM
			}
			p.store = make([]byte, 2*pipeBytes)
		}
		p.buf = p.store[:copy(p.store, p.buf)]
	}
	if !p.hold(messageBytes) {
		return 0, -ENOMEM
	}
	p.buf = append(p.buf, b[:n]...)
	p.written += uint64(n)
	p.messages = append(p.messages, message{left: n, files: p.going})
	p.going = nil
	p.k.promise(&p.messages[len(p.messages)-1].order)
	p.k.files.changed = true
	return n, 0
}

func (p *pipeEnd) ready() (read, write, hangup bool) {
	if p.writing {
		return false, pipeBytes-len(p.buf) >= pipeAtomic || !p.readers, !p.readers
	}
	return len(p.buf) > 0, false, !p.writers
}

// pipe2 is pipe2(fds, flags).
func (c *call) pipe2() int64 {
	flags := uint32(c.arg[1])
	if flags&^(openCloexec|openNonblock|0o40000) != 0 {
		return -EINVAL
	}
	p := &pipe{k: c.Kernel, ino: c.vfs.Inode(), readers: true, writers: true}
	mode := flags & openNonblock
	r := c.files.add(&openFile{file: &pipeEnd{p, false}, path: "pipe:", flags: mode}, 0, flags&openCloexec != 0)
	if r < 0 {
		return r
	}
	w := c.files.add(&openFile{file: &pipeEnd{p, true}, path: "pipe:", flags: mode | vfs.OpenWriteOnly}, 0, flags&openCloexec != 0)
	if w < 0 {
		c.files.close(int32(r))
		return w
	}
	var b [8]byte
	binary.LittleEndian.PutUint32(b[0:], uint32(r))
	binary.LittleEndian.PutUint32(b[4:], uint32(w))
	if f := c.space.Write(c.arg[0], b[:]); f != nil {
		c.files.close(int32(r))
		c.files.close(int32(w))
		return c.fault(f)
	}
	return 0
}

// eventFD is a counter with a descriptor.
type eventFD struct {
	k         *Kernel
	ino       uint64
	count     uint64
	semaphore bool
	order     handle // of the writes that contributed to the count
	writes    uint64
}

func (e *eventFD) Stat() vfs.Stat { return vfs.Stat{Mode: 0o600, Ino: e.ino, Nlink: 1} }
func (e *eventFD) Close()         {}

func (e *eventFD) read(b []byte) (int, int64) {
	if len(b) < 8 {
		return 0, -EINVAL
	}
	if e.count == 0 {
		return 0, -EAGAIN
	}
	v := e.count
	if e.semaphore {
		v = 1
	}
	e.count -= v
	binary.LittleEndian.PutUint64(b, v)
	e.k.observe(e.order)
	if !e.semaphore { // with a semaphore, it is unknown which of the earlier posts is taken
		e.k.forget(&e.order)
	}
	e.k.files.changed = true
	return 8, 0
}

func (e *eventFD) observeReady(got uint16) {
	if got&pollIn != 0 {
		e.k.observe(e.order)
	}
}

func (e *eventFD) write(b []byte) (int, int64) {
	if len(b) < 8 {
		return 0, -EINVAL
	}
	v := binary.LittleEndian.Uint64(b)
	if v == ^uint64(0) {
		return 0, -EINVAL
	}
	if v > ^uint64(0)-1-e.count {
		return 0, -EAGAIN
	}
	e.count += v
	e.writes++
	e.k.promise(&e.order)
	e.k.files.changed = true
	return 8, 0
}

// carried implements [carrier]. What is read depends on everything that was written.
func (e *eventFD) carried(bool) (at, size uint64) { return 0, cellBytes }

func (e *eventFD) ready() (read, write, hangup bool) {
	return e.count > 0, e.count < ^uint64(0)-1, false
}

// eventfd2 is eventfd2(count, flags).
func (c *call) eventfd2() int64 {
	flags := uint32(c.arg[1])
	if flags&^(openCloexec|openNonblock|1) != 0 {
		return -EINVAL
	}
	e := &eventFD{k: c.Kernel, ino: c.vfs.Inode(), count: uint64(uint32(c.arg[0])), semaphore: flags&1 != 0}
	return c.files.add(&openFile{file: e, path: "anon_inode:[eventfd]", flags: flags&openNonblock | vfs.OpenReadWrite},
		0, flags&openCloexec != 0)
}

// peek reads without removing.
func (p *pipeEnd) peek(b []byte) (int, int64) {
	if len(p.buf) == 0 && p.writers {
		return 0, -EAGAIN
	}
	return copy(b, p.buf), 0
}
