package place

import "hindsight/tracefmt/event"

// threadArea is the number of bytes below a thread pointer that the C library may use for
// its descriptor of the thread, in the mapping of the stack.
const threadArea = 4096

// Program says which instructions and which global variables are the user's own, and not
// those of a linked library. *image.Space implements it.
type Program interface {
	User(pc uint64) bool
	UserObject(addr uint64) bool
}

// Map describes the address space at a moment of the run.
type Map struct {
	heap    blocks
	threads []Thread
	stacks  stacks
	tps     pointers
	tls     uint64
}

// Thread says where a thread has its private memory.
type Thread struct {
	Known     bool
	Parent    event.ThreadID
	HasParent bool
	CreatedAt uint64 // index of the Create event among the parent's events
	Ended     bool
	Stack     uint64 // lowest address, or 0 if unknown
	StackSize uint64 // bytes
	TP        uint64 // thread pointer, where thread-local variables begin, or 0 if unknown
}

// NewMap returns the address space at the start of a run. tls is the size in bytes of the
// thread-local variables of a thread.
func NewMap(tls uint64) *Map { return &Map{heap: blocks{}, tls: tls} }

// Thread returns what is known of thread t now.
func (m *Map) Thread(t event.ThreadID) Thread {
	if int(t) < len(m.threads) {
		return m.threads[t]
	}
	return Thread{}
}

// Threads returns the number of threads known so far.
func (m *Map) Threads() int { return len(m.threads) }

func (m *Map) at(id uint64) *Thread {
	if id >= event.MaxThreads {
		return &Thread{}
	}
	for uint64(len(m.threads)) <= id {
		m.threads = append(m.threads, Thread{})
	}
	return &m.threads[id]
}

// Apply applies the next event of S_synch: that of thread t with the given index among
// its own events.
func (m *Map) Apply(t event.ThreadID, index uint64, e *event.Event) {
	switch e.Kind {
	case event.Alloc, event.Map:
		m.heap.insert(&Block{Addr: e.Obj, Size: e.Arg, Kind: e.Kind, Thread: t, Event: index, PC: e.PC, Mode: e.Mode & (event.Given | event.Kept)})
	case event.Renew:
		m.heap.extend(e.Obj, e.Obj+e.Arg)
	case event.Free, event.Unmap:
		if b := m.heap.find(e.Obj); b != nil && b.Addr == e.Obj && !b.Freed {
			b.Freed, b.FreedBy, b.FreedAt = true, t, index
		}
	case event.ThreadLocal:
		if b := m.heap.find(e.Obj); b != nil && !b.Freed && b.Thread == t {
			b.variables, b.variablesSize, b.image = e.Obj, uint64(e.Size), e.Arg
		}
	case event.Create:
		child := m.at(e.Obj)
		child.Known, child.Parent, child.HasParent, child.CreatedAt = true, t, true, index
	case event.ThreadStart:
		m.at(uint64(t)).Known = true
		m.point(t, e.Arg)
	case event.ThreadPointer:
		m.point(t, e.Obj)
	case event.ThreadEnd:
		th := m.at(uint64(t))
		m.tps.set(t, th.TP, 0)
		th.Ended = true
	case event.StackMap:
		th := m.at(uint64(t))
		th.Stack, th.StackSize = e.Obj, e.Arg
		if high := e.Obj + e.Arg; t < event.MaxThreads && high >= e.Obj {
			m.stacks.add(t, e.Obj, high)
		}
	}
}

// point sets the thread pointer of a thread to tp.
func (m *Map) point(t event.ThreadID, tp uint64) {
	th := m.at(uint64(t))
	if t < event.MaxThreads && !th.Ended {
		m.tps.set(t, th.TP, tp)
	}
	th.TP = tp
}

// Block returns the heap block around addr, freed or not.
func (m *Map) Block(addr uint64) (Block, bool) {
	if b := m.heap.find(addr); b != nil {
		return *b, true
	}
	return Block{}, false
}

// TLS returns the thread whose thread-local variables contain addr, and the distance of
// addr from their start. That is the thread pointer or, for a shared object that was
// loaded later, the start of its variables.
func (m *Map) TLS(addr uint64) (t event.ThreadID, offset uint64, ok bool) {
	if p, ok := m.tps.find(addr, m.tls); ok {
		return p.thread, addr - p.tp, true
	}
	if b := m.heap.find(addr); b != nil && b.local(addr) {
		return b.Thread, addr - b.variables, true
	}
	return 0, 0, false
}

// Stack returns the thread whose stack contains addr. The stack of a thread that has
// ended remains its own until the memory is mapped again.
func (m *Map) Stack(addr uint64) (event.ThreadID, bool) { return m.stacks.find(addr) }

// User reports whether the memory at addr belongs to the user, so that accesses to it by
// a library are reported. It is a global variable that the program declares, a heap block
// that its own code allocated or that a library allocated for it, or a variable on a
// thread's stack or in its thread-local storage.
func (m *Map) User(p Program, addr uint64) bool {
	if b := m.heap.find(addr); b != nil {
		return b.user(p)
	}
	if _, _, ok := m.TLS(addr); ok {
		return true
	}
	if t, ok := m.Stack(addr); ok {
		return m.threads[t].TP-addr-1 >= threadArea
	}
	return p.UserObject(addr)
}

// UserUntil is User, and returns an end: the answer is the same for all addresses from
// addr up to there.
func (m *Map) UserUntil(p Program, addr uint64) (user bool, end uint64) {
	if b := m.heap.find(addr); b != nil && b.end() > addr {
		return b.user(p), b.end()
	}
	return m.User(p, addr), addr + 1
}

// Kind is the kind of memory of a location.
type Kind uint8

const (
	Unknown Kind = iota // none of the others; a global variable if a symbol covers it
	Heap
	Stack
	TLS
)

// Location says what is at an address at a moment of the run.
type Location struct {
	Kind    Kind
	Address uint64
	Offset  uint64         // Heap: from the start of the block; TLS: see [Map.TLS]
	Image   uint64         // TLS: start of the variables of a shared object; 0: they are at the thread pointer
	Block   Block          // Heap
	Thread  event.ThreadID // Stack, TLS: the owner
}

// Locate returns what is at addr now.
func (m *Map) Locate(addr uint64) Location {
	loc := Location{Address: addr}
	if b := m.heap.find(addr); b != nil {
		loc.Kind, loc.Block, loc.Offset = Heap, *b, addr-b.Addr
		if b.local(addr) {
			loc.Kind, loc.Thread, loc.Offset, loc.Image = TLS, b.Thread, addr-b.variables, b.image
		}
	} else if t, off, ok := m.TLS(addr); ok {
		loc.Kind, loc.Thread, loc.Offset = TLS, t, off
	} else if t, ok := m.Stack(addr); ok {
		loc.Kind, loc.Thread = Stack, t
	}
	return loc
}
