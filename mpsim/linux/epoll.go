package linux

import (
	"encoding/binary"
	"slices"

	"hindsight/mpsim/linux/vfs"
)

const (
	epollAdd    = 1
	epollDel    = 2
	epollMod    = 3
	epollBytes  = 16 // of struct epoll_event
	epollAlways = pollErr | pollHup
	epollOnce   = 1 << 30
	epollEdge   = 1 << 31
)

// epollFD is a set of descriptors to wait for.
type epollFD struct {
	k     *Kernel
	ino   uint64
	items []*epollItem // in order of insertion
}

type epollItem struct {
	fd   int32
	f    *openFile
	want uint32
	data uint64
	off  bool   // EPOLLONESHOT: it has been reported
	told uint16 // EPOLLET: the last events reported, and
	at   uint64 // the file's activity count at that time
	cell uint64 // of the kernel's state: what epoll_ctl set
}

// active is a file that counts the operations on it.
type active interface{ activity() uint64 }

func (p *pipeEnd) activity() uint64 { return p.written }
func (s *socket) activity() uint64 {
	if s.from == nil {
		return uint64(len(s.waiting))
	}
	return s.from.written
}
func (e *eventFD) activity() uint64 { return e.writes }

func (e *epollFD) Stat() vfs.Stat            { return vfs.Stat{Mode: 0o600, Ino: e.ino, Nlink: 1} }
func (e *epollFD) Close()                    {}
func (e *epollFD) read([]byte) (int, int64)  { return 0, -EINVAL }
func (e *epollFD) write([]byte) (int, int64) { return 0, -EINVAL }
func (e *epollFD) ready() (read, _, _ bool)  { return len(e.look(1, false)) > 0, false, false }

// epollDepth is the maximum nesting of sets.
const epollDepth = 4

// holds reports whether a set is in e, directly or through other sets, or whether sets
// are nested too deeply.
func (e *epollFD) holds(set *epollFD, depth int) bool {
	return depth == 0 || slices.ContainsFunc(e.items, func(x *epollItem) bool {
		inner, ok := x.f.file.(*epollFD)
		return ok && (inner == set || inner.holds(set, depth-1))
	})
}

func (e *epollFD) item(fd int32) (int, bool) {
	i := slices.IndexFunc(e.items, func(x *epollItem) bool { return x.fd == fd })
	return i, i >= 0
}
func (i *epollItem) wants() uint16 { return uint16(i.want) | epollAlways }

// look returns up to most events. With tell, they count as reported.
func (e *epollFD) look(most int, tell bool) (found []byte) {
	e.items = slices.DeleteFunc(e.items, func(x *epollItem) bool { f, err := e.k.files.get(x.fd); return err != 0 || f != x.f })
	for n, x := range e.items {
		got := events(x.f, x.wants())
		var at uint64
		if a, ok := x.f.file.(active); ok {
			at = a.activity()
		}
		switch {
		case x.off || got == 0:
			x.told = 0
			continue
		case x.want&epollEdge != 0 && x.told == got && x.at == at:
			continue
		case len(found) == most*epollBytes:
			e.items = append(slices.Clone(e.items[n:]), e.items[:n]...) // report the others first next time
			return found
		}
		var b [epollBytes]byte
		binary.LittleEndian.PutUint32(b[:], uint32(got))
		binary.LittleEndian.PutUint64(b[8:], x.data)
		found = append(found, b[:]...)
		if tell {
			x.told, x.at = got, at
			x.off = x.want&epollOnce != 0
			x.f.observeReady(got)
			e.k.reads(x.cell)
		}
	}
	return found
}

// epollCreate is epoll_create1(flags).
func (c *call) epollCreate() int64 {
	flags := uint32(c.arg[0])
	if flags&^openCloexec != 0 {
		return -EINVAL
	}
	e := &epollFD{k: c.Kernel, ino: c.vfs.Inode()}
	return c.files.add(&openFile{file: e, path: "anon_inode:[eventpoll]", flags: vfs.OpenReadWrite}, 0, flags != 0)
}

func (c *call) epollOf(fd int32) (*epollFD, int64) {
	f, e := c.files.get(fd)
	if e != 0 {
		return nil, e
	}
	p, ok := f.file.(*epollFD)
	if !ok {
		return nil, -EINVAL
	}
	return p, 0
}

// epollCtl is epoll_ctl(epfd, op, fd, event).
func (c *call) epollCtl() int64 {
	p, e := c.epollOf(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	fd := int32(c.arg[2])
	f, e := c.files.get(fd)
	switch {
	case e != 0:
		return e
	case f.file == vfs.File(p):
		return -EINVAL
	}
	if _, ok := f.file.(stream); !ok {
		return -EPERM
	}
	at, known := p.item(fd)
	if known && p.items[at].f != f {
		p.items, known = slices.Delete(p.items, at, at+1), false
	}
	c.files.changed = true
	var b [epollBytes]byte
	if c.arg[1] != epollDel {
		if f := c.space.Read(c.arg[3], b[:]); f != nil {
			return c.fault(f)
		}
	}
	if inner, ok := f.file.(*epollFD); ok && c.arg[1] == epollAdd && inner.holds(p, epollDepth) {
		return -ELOOP
	}
	x := &epollItem{fd: fd, f: f, want: binary.LittleEndian.Uint32(b[:]), data: binary.LittleEndian.Uint64(b[8:])}
	x.cell = c.newCell()
	switch c.arg[1] {
	case epollAdd:
		if known {
			return -EEXIST
		}
		p.items = append(p.items, x)
	case epollMod:
		if !known {
			return -ENOENT
		}
		p.items[at] = x
	case epollDel:
		if !known {
			return -ENOENT
		}
		p.items = slices.Delete(p.items, at, at+1)
	default:
		return -EINVAL
	}
	c.writes(x.cell)
	return 0
}

// epollWait is epoll_pwait(epfd, events, most, milliseconds, mask, size).
func (c *call) epollWait() int64 {
	w := Wait{Kind: WaitPoll}
	if ms := int32(c.arg[3]); ms >= 0 {
		w.Timed, w.Deadline = true, later(c.now, uint64(ms)*1e6)
	}
	return c.epollUntil(w)
}

// epollWait2 is epoll_pwait2, whose timeout is a timespec.
func (c *call) epollWait2() int64 {
	w := Wait{Kind: WaitPoll}
	if e := c.until(&w, c.arg[3]); e != 0 {
		return e
	}
	return c.epollUntil(w)
}

func (c *call) epollUntil(w Wait) int64 {
	p, e := c.epollOf(int32(c.arg[0]))
	if e != 0 {
		return e
	}
	most := int(int32(c.arg[2]))
	if most <= 0 {
		return -EINVAL
	}
	k, addr := c.Kernel, c.arg[1]
	try := func() (int64, bool) {
		found := p.look(min(most, maxFiles), true)
		if len(found) == 0 {
			return 0, false
		}
		if f := k.space.Write(addr, found); f != nil {
			return k.fault(f), true
		}
		return int64(len(found) / epollBytes), true
	}
	return c.pollUntil(try, w, c.arg[4], c.arg[5], nil)
}
