package replay

import (
	"hindsight/analyze/hb"
	"hindsight/analyze/place"
	"hindsight/tracefmt/event"
)

// The constants of docs/semantics.md.
const (
	// LargestAtomic bounds the bytes of an atomic access.
	LargestAtomic = 16
	// LargestFree bounds the bytes that a free is taken for, so that a damaged
	// trace cannot ask for all memory. The rest of a larger block is not looked at.
	LargestFree = 1 << 30
	// TaskStack is how many bytes of stack the frames of a task and of what it
	// calls are expected to take at most.
	TaskStack = hb.TaskStack
)

// Op is what an access does.
type Op uint8

const (
	Read Op = iota
	Write
	AtomicRead
	AtomicWrite
	AtomicUpdate // reads and writes at once
	Free         // returned the memory to the allocator
)

var opNames = [...]string{"read", "write", "atomic read", "atomic write", "atomic update", "free"}

func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return "op?"
}

// Writes says whether the operation changes memory.
func (o Op) Writes() bool { return o != Read && o != AtomicRead }

// Reads says whether the operation looks at memory.
func (o Op) Reads() bool { return o == Read || o == AtomicRead || o == AtomicUpdate }

// Atomic says whether the operation is an atomic access.
func (o Op) Atomic() bool { return o == AtomicRead || o == AtomicWrite || o == AtomicUpdate }

// Plain says whether the operation is an execution of a [Site]; the others are
// events.
func (o Op) Plain() bool { return o == Read || o == Write }

// OpOf is what an event does to memory as an access, if it is one. Atomic
// accesses are accesses under strict rules only.
func OpOf(k event.Kind, strict bool) (op Op, ok bool) {
	switch k {
	case event.AtomicLoad:
		return AtomicRead, strict
	case event.AtomicStore:
		return AtomicWrite, strict
	case event.AtomicRMW:
		return AtomicUpdate, strict
	case event.Free:
		return Free, true
	}
	return 0, false
}

// SiteOp is what the executions of a site do.
func SiteOp(s *Site) Op {
	if s.Access == event.Write {
		return Write
	}
	return Read
}

// Extent is how many bytes at Obj an event that is an access touches, when
// memory is as before it.
func Extent(memory *place.Map, e *event.Event) uint64 {
	if e.Kind != event.Free {
		return uint64(min(e.Size, LargestAtomic))
	}
	if e.Arg == 0 {
		if b, ok := memory.Block(e.Obj); ok && b.Addr == e.Obj && !b.Freed {
			return b.Size
		}
	}
	return e.Arg
}

// AtomicBytes is how many bytes at Obj an event makes an atomic variable, 0 if
// it is no atomic access.
func AtomicBytes(e *event.Event) uint64 {
	switch e.Kind {
	case event.AtomicLoad, event.AtomicStore, event.AtomicRMW:
		return uint64(min(e.Size, LargestAtomic))
	}
	return 0
}

// LifeOf is the memory that an event begins a new life of, if it does.
func LifeOf(e *event.Event) (addr, size uint64, ok bool) { return hb.LifeOf(e) }
