package replay

import (
	"hindsight/analyze/hb"
	"hindsight/analyze/place"
	"hindsight/tracefmt/event"
)

// The constants of docs/semantics.md.
const (
	// LargestAtomic is the largest number of bytes of an atomic access.
	LargestAtomic = 16
	// LargestFree is the largest number of bytes of a free or a call that are considered,
	// so that a damaged trace cannot claim all memory.
	LargestFree = 1 << 30
	// TaskStack is the largest number of bytes of stack that the frames of a task and of
	// its callees are expected to take.
	TaskStack = hb.TaskStack
)

// Op is the operation of an access.
type Op uint8

const (
	Read Op = iota
	Write
	AtomicRead
	AtomicWrite
	AtomicUpdate // reads and writes at once
	Free         // returned the memory to the allocator
	CallRead     // a system call or a hooked function read the caller's memory
	CallWrite    // a system call or a hooked function wrote it
	Use          // of a sync object that the run initialises or destroys: reads what the initialisation wrote
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

// Reads reports whether the effect of the operation depends on the content of memory.
func (o Op) Reads() bool {
	switch o {
	case Read, AtomicRead, AtomicUpdate, CallRead, Use:
		return true
	}
	return false
}

// Atomic reports whether the operation is an atomic access.
func (o Op) Atomic() bool { return o == AtomicRead || o == AtomicWrite || o == AtomicUpdate }

// Plain reports whether the operation is an execution of a [Site]. The other operations
// are events.
func (o Op) Plain() bool { return o == Read || o == Write }

// Call reports whether the operation is an event but not an atomic access: the effect of
// a call on memory, a free, or a use of a sync object.
func (o Op) Call() bool { return !o.Plain() && !o.Atomic() }

// Atomicity says whether executions of an instruction are atomic accesses of the source.
type Atomicity uint8

const (
	MaybeAtomic Atomicity = iota // if they are to bytes of atomic variables
	NotAtomic
	IsAtomic
)

// OpOf returns the operation of an event that is an access. Uses of sync objects are
// accesses if the object is initialised in the run ([Survey.Made]).
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

// useBytes is the number of bytes of a sync object that a use of it accesses.
const useBytes = 1

// SiteOp returns the operation of the executions of a site.
func SiteOp(s *Site) Op {
	if s.Access == event.Write {
		return Write
	}
	return Read
}

// Extent returns how many bytes at Obj an event that is an access touches, with memory as
// it is before the event.
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

// AtomicBytes returns how many bytes at Obj an event accesses atomically, or 0 if it is
// not an atomic access.
func AtomicBytes(e *event.Event) uint64 {
	switch e.Kind {
	case event.AtomicLoad, event.AtomicStore, event.AtomicRMW:
		return uint64(min(e.Size, LargestAtomic))
	}
	return 0
}

// LifeOf returns the memory of which an event begins a new life, if it does.
func LifeOf(e *event.Event) (addr, size uint64, ok bool) { return hb.LifeOf(e) }
