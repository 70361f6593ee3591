package event

// Event is one entry of S_synch, the total order of ordered events (PPoPP 2003, section
// 2.3), as the thread that executed it sees it.
type Event struct {
	At   uint32 // blocks of the batch that ran before the event
	Kind Kind
	Mode Mode   // ordering of an atomic access; otherwise 0
	Size uint32 // bytes touched by an atomic access; otherwise 0, or see the kind
	PC   uint64 // the instruction: an atomic access, or the call of a hooked function; 0 for ThreadStart
	Obj  uint64 // the object of the event: see the kind
	Arg  uint64 // see the kind
}

// Mode is the ordering of an atomic access, a set of bits.
type Mode uint8

const (
	Acquire Mode = 1 << iota
	Release
	// Returns marks the last event of a hooked function. The call of the function has
	// returned, and no block of the function itself was recorded.
	Returns
	// Given marks an Alloc or Map by a library, of memory that the library passed to the
	// program. Kept marks one by the program's own allocator, of memory that a library
	// keeps for itself.
	Given
	Kept
)

// Kind says what an ordered event does. The numbers are part of the trace format: append
// new kinds, and never renumber.
type Kind uint8

const (
	None          Kind = iota
	ThreadStart        // first event of a thread. Obj: parent thread id; Arg: tp. Orders after the parent's Create
	ThreadEnd          // last event of a thread
	Create             // Obj: child thread id
	Join               // Obj: joined thread id. Orders after its ThreadEnd
	Detach             // Obj: thread id
	StackMap           // the new thread's stack. Obj: lowest address; Arg: bytes. Directly follows ThreadStart
	MutexLock          // Obj: address of the mutex (also spin locks and C11 mtx_t). Emitted once the lock is held
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

	// Order by agreement, and strands, for the OpenMP runtime and similar ones.
	Publish       // Obj: handle, a number that is used once; Arg: 1 if the strand does nothing more before it ends. Other strands can observe what it did
	Observe       // Obj: handle. Orders after every earlier Publish of Obj
	Forget        // Obj: handle. No strand will observe it any more
	StrandCreate  // Obj: strand, numbered from 1 in the run: a task was created. It may run on any thread, or never
	StrandBegin   // Obj: strand; Arg: stack pointer; Size: the largest number of bytes below it that the stack ever used (0: unknown). From now on the thread acts as this strand, and its previous strand is suspended. Orders after the StrandCreate
	StrandEnd     // Obj: strand; Arg: stack pointer; Size: as of StrandBegin. The thread continues the strand that was suspended, which is ordered after this one only if it observes it
	Private       // Obj: address; Arg: bytes. Memory of which each thread has its own part: strands of one thread do not race there
	ThreadPointer // of the main thread, which sets it itself. Obj: the value that ThreadStart has as Arg for other threads
	Renew         // Obj: address; Arg: bytes. The memory begins a new life, as if it were allocated, but belongs to what it did before

	// The call stack, where blocks do not show it (see [CallStack]). These events are
	// sent to observers and are not part of S_synch.
	Unwound // Arg: how many of the outermost frames remain
	Rewound // Obj: the return address of a frame on top. Follows Unwound if a thread has switched to another stack
	// The effect of a system call or a hooked function on the caller's memory: an access
	// by the caller, of any length, that orders nothing.
	RangeRead  // Obj: address; Arg: bytes
	RangeWrite // Obj: address; Arg: bytes
	// A strand that leaves its thread and may continue in another one: a coroutine or a
	// goroutine.
	StrandSuspend // Obj: strand; Arg: stack pointer, or 0 if the strand keeps its stack. The thread continues its previous strand, as at StrandEnd
	StrandResume  // Obj: strand; Arg: as at StrandSuspend. From now on this thread acts as the strand. Orders after what the strand did before, and after nothing else

	// The thread-local variables of a shared object that the program has loaded. A thread
	// gets them when it first uses them. They lie in the block of the thread's previous
	// Alloc. Obj: address; Size: bytes; Arg: where the shared object begins
	ThreadLocal

	NumKinds
)

// Class groups the kinds, for code that need not distinguish them all.
type Class uint8

const (
	ClassNone    Class = iota
	ClassThread        // life of threads
	ClassLock          // mutual exclusion: changes the set of held locks
	ClassBarrier       //
	ClassCond
	ClassSem    //
	ClassOnce   //
	ClassAtomic // also an access to memory
	ClassHeap   // life of memory
	ClassObject // life of sync objects
	ClassOrder  // order by agreement
	ClassStack  // the call stack: not part of S_synch
	ClassRange  // an access to memory by a system call or a hooked function
)

// Info is a row of the table of kinds.
type Info struct {
	Name  string
	Class Class
	// Orders means that the event takes part in happens-before, so it ends a sync
	// segment. Whether it acquires or releases is up to the analysis (docs/semantics.md).
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

// Info returns the table row of a kind, or the row of None if the number is not a kind.
func (k Kind) Info() Info {
	if k < NumKinds {
		return kinds[k]
	}
	return kinds[None]
}

func (k Kind) String() string { return k.Info().Name }
