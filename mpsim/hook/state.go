package hook

import (
	"fmt"

	"hindsight/mpsim"
	"hindsight/tracefmt/event"
)

// Thread is what a hook needs to know about the calling guest thread.
type Thread interface {
	// ID identifies the calling thread. TID is its number as the guest knows it.
	ID() event.ThreadID
	TID() int
	// Arg returns integer argument n (a0 is 0), as it was when the call began.
	Arg(n int) uint64
	// Load reads size bytes (1 to 8) of guest memory, little-endian.
	Load(addr uint64, size int) (uint64, bool)
	// Func returns the address of the function.
	Func() uint64
	// SP returns the stack pointer, as it was when the call began.
	SP() uint64
	// TP returns the present thread pointer.
	TP() uint64
	// Emit records an ordered event at the call. The machine fills in the place.
	Emit(kind event.Kind, obj, arg uint64)
	// EmitStrand records that the thread starts or stops acting as a strand.
	EmitStrand(kind event.Kind, strand uint64)
	// EmitAs is like Emit for an event with a mode.
	EmitAs(mode event.Mode, kind event.Kind, obj, arg uint64)
	// EmitSized is like Emit for an event about size bytes.
	EmitSized(kind event.Kind, size uint32, obj, arg uint64)
	// Return returns the return address of the nth call in progress, counted from 0 for the
	// innermost.
	Return(n int) (pc uint64, ok bool)
	// CallPC returns the address of the instruction that called the hooked function.
	CallPC() uint64
	// EmitAtomic records an atomic access to size bytes at addr in the same way.
	EmitAtomic(kind event.Kind, mode event.Mode, addr uint64, size uint32)
	// Atomically says that the call, which begins, is one atomic access, and
	// AtomicallyDone that it has ended; see [mpsim.Hart.Atomically].
	Atomically(a mpsim.AtomicCall)
	AtomicallyDone(wrote bool)
	// Exiting reports whether the thread is ending the program.
	Exiting() bool
	// Handle returns a number for Publish, Observe and Forget that the run has not
	// used yet.
	Handle() uint64
	// Carries says that the function copies or keeps the n bytes at addr.
	Carries(addr, n uint64)
}

// Call is one call in progress of a hooked function.
type Call struct {
	Thread
	// Note is for use by the hook: Begin stores a value for End.
	Note uint64
	fn   *Func
	task *task // of [Runtime]: see each
	team *team // the parallel region that the call opened
	// muted says that the call is about a library's own object and is not recorded.
	muted bool
	// kept and mode say for whom memory is allocated; see whose.allocation. kept also says
	// that a library initialises its own object.
	kept bool
	mode event.Mode
}

// argument returns integer argument n, even if it is passed on the stack.
func (c *Call) argument(n int) uint64 {
	const registers = 8
	if n < registers {
		return c.Arg(n)
	}
	v, _ := c.Load(c.SP()+8*uint64(n-registers), 8)
	return v
}

// Part says what a hooked function belongs to.
type Part uint8

const (
	Library Part = iota // a library: the function is identified by its name
	Body                // the program: the outlined body of an OpenMP region or task
	Copy                // the program: gcc's function that copies the variables of an OpenMP task
)

// Func is a row of the table of hooked functions.
type Func struct {
	// Names are the symbols that the function may have. At least one must exist, and all
	// that exist are hooked.
	Names []string
	// Part says whose functions these are. Those of the program need no names.
	Part Part
	// Args is the number of integer arguments; 0 means 1.
	Args int
	// Copies says that the function returns to its caller what another thread left for it.
	Copies bool
	// Watch says that what the function does is recorded like other code, because it calls
	// back into the program.
	Watch bool
	// Pass says that only the entry of the function matters.
	Pass bool
	// Object says that the function synchronises on the object to which argument Object-1
	// points. The hook is not called for an object that a library keeps for itself.
	Object int
	// ForCaller says that the function synchronises on an object of its caller.
	ForCaller bool
	// Allocates says that the function returns newly allocated memory.
	Allocates bool
	// Replaceable says that the program may define the function instead of the library.
	// Then the program's function is watched. All other functions are hooked only in
	// libraries; the program's functions are user code, whatever their names.
	Replaceable bool
	// Reduces says that memory allocated inside holds the threads' own copies of something
	// that is being reduced.
	Reduces bool
	// Begin is called when the function is entered; may be nil.
	Begin func(*State, *Call)
	// End is called with the result when the function has returned; may be nil.
	End func(s *State, c *Call, result uint64)
	// Abandon is called instead of End when the function was left by a long jump or the
	// cancellation of its thread; may be nil.
	Abandon func(*State, *Call)
	// Calls is called when the runtime calls body inside call outer of the function, to
	// determine why. It is nil if the function calls only the bodies of deferred tasks.
	Calls func(s *State, outer, body *Call)
	// Waits describes, for the report of a deadlock, what a thread waits for that does not
	// return from the function. It is nil if the function cannot block.
	Waits func(s *State, c *Call) string
}

// State is the state of the hooks between calls.
type State struct {
	barriers map[uint64]*barrier
	owner    map[uint64]event.ThreadID // exclusive holder of a lock
	readers  map[holding]int           // shared holds of rwlocks
	blocks   map[uint64]uint64         // live heap blocks: address to bytes
	handles  map[uint64]event.ThreadID // pthread_t to thread
	// handleOffset is the distance of a pthread_t below the thread pointer. It and
	// mainPointer yield the main thread's pthread_t.
	mainPointer, handleOffset uint64
	whose                     *whose // nil: everything is the program's
	asking                    map[event.ThreadID]asking
	omp                       openMP
	// passed returns the size in bytes of the variables passed to an outlined function. It
	// is nil if no sizes are known.
	passed func(fn uint64) uint64
}

type holding struct {
	lock   uint64
	thread event.ThreadID
}

type barrier struct {
	count   uint64 // number of threads per generation
	entered uint64 // in total
}

// NewState returns the state at the start of a run.
func NewState() *State {
	return &State{
		barriers: map[uint64]*barrier{},
		owner:    map[uint64]event.ThreadID{},
		readers:  map[holding]int{},
		blocks:   map[uint64]uint64{},
		handles:  map[uint64]event.ThreadID{},
		omp:      newOpenMP(),
		asking:   map[event.ThreadID]asking{},
	}
}

// Created says that thread child was created during c, which is a call of a hooked create
// function whose caller receives the pthread_t. glibc stores the pthread_t before it starts
// the thread, whose thread pointer is tp.
func (s *State) Created(c *Call, child event.ThreadID, tp uint64) {
	c.writes(c.Arg(0), pointerBytes)
	if handle, ok := c.Load(c.Arg(0), pointerBytes); ok {
		s.handles[handle] = child
		s.handleOffset = tp - handle
	}
	s.omp.created(c, child)
}

// thread returns the thread that has a pthread_t.
func (s *State) thread(handle uint64) (id event.ThreadID, known bool) {
	id, known = s.handles[handle]
	if known {
		return id, true
	}
	return 0, s.mainPointer != 0 && s.handleOffset != 0 && handle == s.mainPointer-s.handleOffset
}

func (s *State) lock(c *Call, kind event.Kind, addr uint64) {
	s.owner[addr] = c.ID()
	c.Emit(kind, addr, 0)
}

func (s *State) unlock(c *Call, kind event.Kind, addr uint64) {
	delete(s.owner, addr)
	c.Emit(kind, addr, 0)
}

func (s *State) waitsForLock(what string, addr uint64) string {
	if owner, held := s.owner[addr]; held {
		return fmt.Sprintf("%s 0x%x held by thread T%d", what, addr, owner)
	}
	return fmt.Sprintf("%s 0x%x", what, addr)
}

// barrierAt returns the barrier at addr. If its pthread_barrier_init was not recorded, it
// is read from memory, where glibc has the count at offset 8.
func (s *State) barrierAt(c *Call, addr uint64) *barrier {
	b := s.barriers[addr]
	if b == nil {
		count, ok := c.Load(addr+8, 4)
		if !ok || count == 0 {
			count = 1
		}
		b = &barrier{count: count}
		s.barriers[addr] = b
	}
	return b
}

func (s *State) alloc(c *Call, addr, size uint64) {
	if addr == 0 {
		return
	}
	s.blocks[addr] = size
	s.noteBlock(c, addr, size)
	c.EmitAs(c.mode, event.Alloc, addr, size)
	if s.whose != nil && s.whose.linker(c.CallPC()) {
		s.threadLocal(c, addr, size)
	}
	s.omp.allocated(c, addr, size)
}

func (s *State) free(c *Call, addr uint64) {
	if addr == 0 {
		return
	}
	c.Emit(event.Free, addr, s.blocks[addr])
	if s.whose != nil {
		s.whose.freed(addr, s.blocks[addr])
	}
	delete(s.blocks, addr)
	s.omp.freed(addr)
}

// noteBlock records the owner of a new block or mapping.
func (s *State) noteBlock(c *Call, addr, size uint64) {
	if s.whose != nil {
		s.whose.allocated(addr, size, c.kept)
	}
}

// mainThread records the location of the main thread's thread-local variables, which the C
// library sets up when the program starts.
func (s *State) mainThread(c *Call) {
	s.mainPointer = c.TP()
	if s.whose != nil {
		s.whose.thread(c.TP())
	}
	c.Emit(event.ThreadPointer, c.TP(), 0)
}
