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
	// LargestFree bounds the bytes that a free or a call is taken for, so that a
	// damaged trace cannot ask for all memory. The rest is not looked at.
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
	CallRead     // a system call or a hooked function read the caller's memory
	CallWrite    // and wrote it
	Use          // of a sync object that the run initialises or destroys: reads what that wrote
)

var opNames = [...]string{"read", "write", "atomic read", "atomic write", "atomic update", "free", "read in a call", "write in a call", "use"}

func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return "op?"
}

// Writes reports whether the operation changes memory.
func (o Op) Writes() bool { return !o.Reads() || o == AtomicUpdate }

// Reads reports whether what the operation does depends on what the memory holds.
func (o Op) Reads() bool {
	switch o {
	case Read, AtomicRead, AtomicUpdate, CallRead, Use:
		return true
	}
	return false
}

// Atomic reports whether the operation is an atomic access.
func (o Op) Atomic() bool { return o == AtomicRead || o == AtomicWrite || o == AtomicUpdate }

// Plain reports whether the operation is an execution of a [Site]; the others are
// events.
func (o Op) Plain() bool { return o == Read || o == Write }

// Call reports whether the operation is an event that is no atomic access: what a
// call does to memory, a free, a use of a sync object.
func (o Op) Call() bool { return !o.Plain() && !o.Atomic() }

// Atomicity reports whether executions of an instruction are atomic accesses of the
// source.
type Atomicity uint8

const (
	MaybeAtomic Atomicity = iota // to the bytes of atomic variables
	NotAtomic
	IsAtomic
)

// OpOf is what an event does to memory as an access, if it is one. Uses of sync
// objects are accesses for those of objects that are made in the run
// ([Survey.Made]).
func OpOf(k event.Kind) (op Op, ok bool) {
	switch k {
	case event.AtomicLoad:
		return AtomicRead, true
	case event.AtomicStore:
		return AtomicWrite, true
	case event.AtomicRMW:
		return AtomicUpdate, true
	case event.Free:
		return Free, true
	case event.RangeRead:
		return CallRead, true
	case event.RangeWrite:
		return CallWrite, true
	case event.MutexLock, event.MutexUnlock, event.ReadLock, event.ReadUnlock, event.WriteLock, event.WriteUnlock,
		event.BarrierEnter, event.CondWait, event.CondSignal, event.CondBroadcast, event.SemWait, event.SemPost:
		return Use, true
	}
	return 0, false
}

// useBytes is how many bytes of a sync object a use of it counts for.
const useBytes = 1

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
	switch op, _ := OpOf(e.Kind); op {
	case Use:
		return useBytes
	case CallRead, CallWrite:
		return e.Arg
	case Free:
	default:
		return uint64(min(e.Size, LargestAtomic))
	}
	if e.Arg == 0 {
		if b, ok := memory.Block(e.Obj); ok && b.Addr == e.Obj && !b.Freed {
			return b.Size
		}
	}
	return e.Arg
}

// AtomicBytes is how many bytes at Obj an event accesses atomically, 0 if it is
// no atomic access.
func AtomicBytes(e *event.Event) uint64 {
	switch e.Kind {
	case event.AtomicLoad, event.AtomicStore, event.AtomicRMW:
		return uint64(min(e.Size, LargestAtomic))
	}
	return 0
}

// LifeOf is the memory that an event begins a new life of, if it does.
func LifeOf(e *event.Event) (addr, size uint64, ok bool) { return hb.LifeOf(e) }
