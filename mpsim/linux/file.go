package linux

import "hindsight/mpsim/linux/vfs"

// stream is a file without offsets. A call that would have to wait returns
// -EAGAIN.
type stream interface {
	vfs.File
	read(p []byte) (int, int64)
	write(p []byte) (int, int64)
	// ready reports whether read and write would succeed without waiting.
	ready() (read, write, hangup bool)
}

// closing is a file whose other end notices that its descriptors are closed.
type closing interface{ closes() }

// readying is a file whose readiness shows that another thread did something. A poll that
// sees it is ordered after that.
type readying interface{ observeReady(got uint16) }

// Flags of open that concern descriptors. Package vfs has the others.
const (
	openAppend   = 0o2000
	openNonblock = 0o4000
	openCloexec  = 0o2000000
	openPath     = 0o10000000
	openTmpfile  = 0o20000000
)

const (
	maxFiles = 1024 // maximum number of descriptors
	ioChunk  = 64 << 10
	maxRW    = 0x7ffff000 // maximum number of bytes that one call moves, as in Linux
	maxPath  = 4096
	maxIovs  = 1024
)

// openFile is an open file description, which duplicated descriptors share.
type openFile struct {
	file   vfs.File
	path   string // the absolute form of the path that the guest used
	flags  uint32
	offset int64 // of a regular file; for a directory, the next entry
	refs   int
	list   []vfs.DirEntry // of a directory, after the first getdents
	listed uint64         // bytes of guest memory that list counts as
	cell   uint64         // see Kernel.offset; 0: not assigned yet
	mode   uint64         // cell of the flags that fcntl set; 0: it set none
}

func (f *openFile) readable() bool {
	return f.flags&vfs.OpenAccess != vfs.OpenWriteOnly && f.flags&openPath == 0
}
func (f *openFile) writable() bool { return f.flags&vfs.OpenAccess != 0 && f.flags&openPath == 0 }

// fileTable holds the descriptors.
type fileTable struct {
	slots   []slot
	waiters []*Task // tasks whose calls are retried when changed is set
	changed bool
	k       *Kernel
}

type slot struct {
	f       *openFile
	cloexec bool
	number  descriptorNumber
}

// get returns the description of a descriptor.
func (t *fileTable) get(fd int32) (*openFile, int64) {
	if fd < 0 || int(fd) >= len(t.slots) || t.slots[fd].f == nil {
		return nil, -EBADF
	}
	return t.slots[fd].f, 0
}

// add assigns to f the lowest free descriptor that is at least from.
func (t *fileTable) add(f *openFile, from int, cloexec bool) int64 {
	if from < 0 || from >= maxFiles {
		return -EINVAL
	}
	for fd := from; fd < maxFiles; fd++ {
		if fd >= len(t.slots) || t.slots[fd].f == nil {
			t.set(fd, f, cloexec)
			return int64(fd)
		}
	}
	return -EMFILE
}

// set puts f at a free descriptor.
func (t *fileTable) set(fd int, f *openFile, cloexec bool) {
	for fd >= len(t.slots) {
		t.slots = append(t.slots, slot{})
	}
	f.refs++
	s := &t.slots[fd]
	s.f, s.cloexec = f, cloexec
	t.k.opened(s)
}

// close frees a descriptor.
func (t *fileTable) close(fd int32) int64 {
	f, e := t.get(fd)
	if e != 0 {
		return e
	}
	s := &t.slots[fd]
	t.k.closed(s)
	s.f, s.cloexec = nil, false
	if c, ok := f.file.(closing); ok {
		c.closes()
	}
	t.release(f)
	return 0
}

// release drops one reference to f.
func (t *fileTable) release(f *openFile) {
	f.refs--
	if f.refs <= 0 {
		t.unlist(f)
		f.file.Close()
		t.changed = true
	}
}

// listBytes is the number of bytes that each name in a listing counts as.
const listBytes = 64

// list stores the names in a directory for getdents.
func (t *fileTable) list(f *openFile, names []vfs.DirEntry) int64 {
	n := listBytes * uint64(len(names))
	if !t.k.space.Hold(n) {
		return -ENOMEM
	}
	f.list, f.listed = names, n
	return 0
}

// unlist discards them.
func (t *fileTable) unlist(f *openFile) {
	t.k.space.LetGo(f.listed)
	f.list, f.listed = nil, 0
}

// dequeue removes a task from whatever it is waiting in.
func (k *Kernel) dequeue(t *Task) {
	k.leaveFutex(t)
	if t.block.retry == nil {
		return
	}
	for i, w := range k.files.waiters {
		if w == t {
			k.files.waiters = append(k.files.waiters[:i:i], k.files.waiters[i+1:]...)
			return
		}
	}
}

// retryIO retries the waiting calls until none makes progress.
func (k *Kernel) retryIO() {
	for k.files.changed {
		k.files.changed = false
		for _, t := range append([]*Task(nil), k.files.waiters...) {
			if t.State != Blocked || t.block.retry == nil {
				continue
			}
			k.onBehalf(t, func() {
				if ret, done := t.block.retry(); done {
					k.wake(t, ret)
				}
			})
		}
	}
}

// sleepIO makes the task wait until retry returns a result. The description f, if not nil,
// stays open during that time.
func (c *call) sleepIO(w Wait, f *openFile, b blockState) int64 {
	if f != nil {
		f.refs++
		b.holds = f
	}
	c.files.waiters = append(c.files.waiters, c.t)
	return c.sleep(w, b)
}
