package event

// Event is one entry of S_synch, the total order of ordered events (PPoPP
// 2003, section 2.3), seen from the thread that did it.
type Event struct {
	At   uint32 // blocks of the batch that ran before the event
	Kind Kind
	Mode Mode   // ordering of an atomic access; else 0
	Size uint32 // bytes touched by an atomic access; else 0, or see the kind
	PC   uint64 // the instruction: an atomic access, or the call of a hooked function; 0 for ThreadStart
	Obj  uint64 // what it is done to: see the kind
	Arg  uint64 // see the kind
}

// Mode is the ordering of an atomic access, a set of bits.
type Mode uint8

const (
	Acquire Mode = 1 << iota
	Release
	// Returns marks the last event of a hooked function: the call that led
	// into it has returned, and no block of the function itself was recorded.
	Returns
	// Given marks an Alloc or Map that a library asked for, of memory that it
	// handed to the program; Kept one that the program's own allocator asked for,
	// of memory that a library keeps for itself.
	Given
	Kept
)

// Kind is what an ordered event does. The numbers are part of the trace
// format: append, never renumber.
type Kind uint8

const (
	None          Kind = iota
	ThreadStart        // first event of a thread. Obj: parent thread id; Arg: tp. Orders after the parent's Create
	ThreadEnd          // last event of a thread
	Create             // Obj: child thread id
	Join               // Obj: joined thread id. Orders after its ThreadEnd
	Detach             // Obj: thread id
	StackMap           // the new thread's stack. Obj: lowest address; Arg: bytes. Directly follows ThreadStart
	MutexLock          // Obj: address of the mutex (also spin locks and C11 mtx_t). Emitted when the lock is held
	MutexUnlock        // Emitted before the lock is released
	ReadLock           // Obj: address of the rwlock
	ReadUnlock         //
	WriteLock          //
	WriteUnlock        //
	BarrierEnter       // Obj: address; Arg: generation (0, 1, …) of that barrier
	BarrierLeave       // Orders after every BarrierEnter of the same Obj and Arg
	CondWait           // Obj: address of the condition variable; Arg: mutex. It is between a MutexUnlock and a MutexLock
	CondSignal         // Obj: address. Orders nothing by itself, as in POSIX
	CondBroadcast      //
	SemWait            // Obj: address. Orders after earlier SemPost of Obj
	SemPost            //
	OnceDone           // Obj: address of the once control: the initialisation has run
	OnceSeen           // the call found it done. Orders after OnceDone
	AtomicLoad         // Obj: address; Size; Mode
	AtomicStore        //
	AtomicRMW          // AMO, or a successful SC together with its LR
	Fence              // a fence that is not part of an atomic access; Mode
	Alloc              // Obj: address; Arg: bytes
	Free               // Obj: address; Arg: bytes of the block (0: unknown)
	Map                // mmap as the program itself called it. Obj: address; Arg: bytes
	Unmap              //
	Init               // a sync object was initialised. Obj: address; Arg: Kind that locks or waits on it
	Destroy            // Obj: address

	// Order by agreement, and strands: the OpenMP runtime and others like it.
	Publish       // Obj: handle, a number that is used once; Arg: 1 when the strand does nothing more before it ends. What it did can be observed
	Observe       // Obj: handle. Orders after every earlier Publish of Obj
	Forget        // Obj: handle. Nobody will observe it any more
	StrandCreate  // Obj: strand, numbered from 1 in the run: a task was made. It may run on any thread, or never
	StrandBegin   // Obj: strand; Arg: stack pointer; Size: bytes below it that the stack ever had in use (0: unknown). From here on the thread acts as it; what it did before is suspended. Orders after the StrandCreate
	StrandEnd     // Obj: strand; Arg: stack pointer; Size: as of StrandBegin. The thread continues the strand that was suspended, which is ordered after it only if it observes so
	Private       // Obj: address; Arg: bytes. Memory that each thread has a part of: strands of one thread do not race there
	ThreadPointer // of the main thread, which sets it itself. Obj: what ThreadStart has as Arg for the others
	Renew         // Obj: address; Arg: bytes. The memory begins a new life, as if it were allocated, but belongs to what it did

	// What the call stack is, where blocks do not tell it (see [CallStack]). They are
	// sent to observers, and are not part of S_synch.
	Unwound // Arg: how many frames, the outermost, are left
	Rewound // Obj: a return address, that of a frame on top. Follows Unwound when a thread has gone on to another stack
	// What a system call or a hooked function does to the caller's memory: an access
	// of the caller's, of any length, that orders nothing.
	RangeRead  // Obj: address; Arg: bytes
	RangeWrite // Obj: address; Arg: bytes
	// A strand that leaves its thread and may continue in another: a coroutine, a
	// goroutine.
	StrandSuspend // Obj: strand; Arg: stack pointer, or 0 when the strand keeps its stack. The thread continues its previous strand, as at StrandEnd
	StrandResume  // Obj: strand; Arg: as at StrandSuspend. From here on this thread acts as it. Orders after what the strand did before, and after nothing else

	// Thread-local variables of a shared object that the program has loaded, which a
	// thread is given when it first asks for them. They lie in the block that the
	// thread's previous Alloc is of. Obj: address; Size: bytes; Arg: where the shared
	// object begins
	ThreadLocal

	NumKinds
)

// Class groups the kinds for those who need not know each.
type Class uint8

const (
	ClassNone    Class = iota
	ClassThread        // life of threads
	ClassLock          // mutual exclusion: changes the set of held locks
	ClassBarrier       //
	ClassCond          //
	ClassSem           //
	ClassOnce          //
	ClassAtomic        // also an access to memory
	ClassHeap          // life of memory
	ClassObject        // life of sync objects
	ClassOrder         // order by agreement
	ClassStack         // the call stack: not in a trace's S_synch
	ClassRange         // an access to memory by a system call or a hooked function
)

// Info is a row of the table of kinds.
type Info struct {
	Name  string
	Class Class
	// Orders says that the event takes part in happens-before, so that it ends
	// a sync segment. Whether it acquires or releases is the analyser's matter
	// (docs/semantics.md).
	Orders bool
}

var kinds = [NumKinds]Info{
	None:          {"none", ClassNone, false},
	ThreadStart:   {"thread-start", ClassThread, true},
	ThreadEnd:     {"thread-end", ClassThread, true},
	Create:        {"create", ClassThread, true},
	Join:          {"join", ClassThread, true},
	Detach:        {"detach", ClassThread, false},
	StackMap:      {"stack-map", ClassThread, false},
	MutexLock:     {"lock", ClassLock, true},
	MutexUnlock:   {"unlock", ClassLock, true},
	ReadLock:      {"read-lock", ClassLock, true},
	ReadUnlock:    {"read-unlock", ClassLock, true},
	WriteLock:     {"write-lock", ClassLock, true},
	WriteUnlock:   {"write-unlock", ClassLock, true},
	BarrierEnter:  {"barrier-enter", ClassBarrier, true},
	BarrierLeave:  {"barrier-leave", ClassBarrier, true},
	CondWait:      {"cond-wait", ClassCond, false},
	CondSignal:    {"cond-signal", ClassCond, false},
	CondBroadcast: {"cond-broadcast", ClassCond, false},
	SemWait:       {"sem-wait", ClassSem, true},
	SemPost:       {"sem-post", ClassSem, true},
	OnceDone:      {"once-done", ClassOnce, true},
	OnceSeen:      {"once-seen", ClassOnce, true},
	AtomicLoad:    {"atomic-load", ClassAtomic, true},
	AtomicStore:   {"atomic-store", ClassAtomic, true},
	AtomicRMW:     {"atomic-rmw", ClassAtomic, true},
	Fence:         {"fence", ClassAtomic, true},
	Alloc:         {"alloc", ClassHeap, false},
	Free:          {"free", ClassHeap, false},
	Map:           {"map", ClassHeap, false},
	Unmap:         {"unmap", ClassHeap, false},
	Init:          {"init", ClassObject, false},
	Destroy:       {"destroy", ClassObject, false},
	Publish:       {"publish", ClassOrder, true},
	Observe:       {"observe", ClassOrder, true},
	Forget:        {"forget", ClassOrder, false},
	StrandCreate:  {"strand-create", ClassThread, true},
	StrandBegin:   {"strand-begin", ClassThread, true},
	StrandEnd:     {"strand-end", ClassThread, true},
	Private:       {"private", ClassHeap, false},
	ThreadPointer: {"thread-pointer", ClassThread, false},
	Renew:         {"renew", ClassHeap, false},
	Unwound:       {"unwound", ClassStack, false},
	Rewound:       {"rewound", ClassStack, false},
	RangeRead:     {"range-read", ClassRange, false},
	RangeWrite:    {"range-write", ClassRange, false},
	StrandSuspend: {"strand-suspend", ClassThread, true},
	StrandResume:  {"strand-resume", ClassThread, true},
	ThreadLocal:   {"thread-local", ClassHeap, false},
}

// Info returns the table row of a kind; the row of None for a number that is no
// kind.
func (k Kind) Info() Info {
	if k < NumKinds {
		return kinds[k]
	}
	return kinds[None]
}

func (k Kind) String() string { return k.Info().Name }
