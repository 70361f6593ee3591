package event

import "errors"

// ThreadID numbers the guest's threads in order of creation; 0 is the main
// thread. It is dense and is never used again, unlike a Linux tid.
type ThreadID uint32

// MaxThreads is how many threads a run may have, those that have ended included. It
// bounds what a damaged trace can ask for.
const MaxThreads = 1 << 18

// ErrThreads is wrapped by errors about a run with more than [MaxThreads] threads.
var ErrThreads = errors.New("the program started more than 262,144 threads, which is all that a trace can hold; stop the run before that, or let the program use threads again")

// StrandID numbers strands, which are what is ordered: a thread's own strand, or a task
// (package hb says which tasks share a number). It is a type of its own because a strand
// is no thread: a thread acts as several strands, and a strand may continue in another
// thread.
type StrandID uint32

// Strand is the thread's own strand: what it acts as outside of tasks.
func (t ThreadID) Strand() StrandID { return StrandID(t) }

// BlockID numbers simulated blocks in the order in which they were first
// executed; dense from 0.
type BlockID uint32

// Access says what a site does to memory.
type Access uint8

const (
	Read Access = iota
	Write
)

func (a Access) String() string {
	if a == Write {
		return "write"
	}
	return "read"
}

// Site is one plain load or store instruction inside a block. Its identity is
// its PC: the same instruction may be in more than one block.
type Site struct {
	PC     uint64
	Size   uint8 // bytes: 1, 2, 4 or 8
	Access Access
}

// End says how a block's last instruction leaves it.
type End uint8

const (
	EndFall     End = iota // runs on into the next instruction (length limit, or an instruction that ends blocks without jumping)
	EndBranch              // conditional branch; Target is the taken side
	EndJump                // direct jump that links nothing; Target
	EndIndirect            // jump through a register that links nothing and is no return
	EndCall                // direct call (links ra or t0); Target
	EndCallInd             // call through a register
	EndReturn              // jump through ra or t0 that links nothing
	EndAtomic              // AMO, LR, SC or a recognised atomic load or store: an [Event] may follow
	EndSyscall             // ecall
	EndTrap                // ebreak, an illegal instruction, or cut short by a fault
)

var endNames = [...]string{"fall", "branch", "jump", "indirect", "call", "call-indirect", "return", "atomic", "syscall", "trap"}

func (e End) String() string {
	if int(e) < len(endNames) {
		return endNames[e]
	}
	return "end?"
}

// Block describes a simulated basic block: straight-line code that was entered
// at PC and left by its last instruction.
type Block struct {
	ID     BlockID
	PC     uint64
	Bytes  uint32 // length of the code
	Insts  uint32 // instructions
	End    End
	Target uint64 // of EndBranch, EndJump, EndCall; else 0
	Sites  []Site // plain accesses in execution order
	// Code is the block's instructions, for a [ValueObserver], if they are not those
	// that an image has there: the program made them.
	Code []byte
}

// Next is the address of the instruction after the block: the fall-through
// side of a branch, the return address of a call.
func (b *Block) Next() uint64 { return b.PC + uint64(b.Bytes) }

// Batch is a stretch of one thread's execution. See the package comment.
type Batch struct {
	Thread ThreadID
	Blocks []BlockID
	Addrs  []uint64
	Events []Event
	// Insts counts all instructions that the thread retired in this stretch,
	// those inside hooked functions too, which are in no block.
	Insts uint64

	// Values and Effects are filled for a [ValueObserver] that wants them.
	//
	// Values holds what the instructions of the blocks left in their destination
	// registers, block by block: nothing for an instruction without one (x0 is
	// none) or whose result the code alone tells (rv.Inst.Static). An atomic
	// access that ends a block of EndAtomic has its address first, then its
	// result; a store-conditional has one in any case, 0 when it stored. An
	// environment call has nothing here. rv.Values counts a block's.
	Values []uint64
	// Effects says, in order, what else changed registers and memory.
	Effects []Effect
}

// Reset empties the batch and keeps its storage.
func (b *Batch) Reset() {
	b.Blocks, b.Addrs, b.Events, b.Insts = b.Blocks[:0], b.Addrs[:0], b.Events[:0], 0
	b.Values, b.Effects = b.Values[:0], b.Effects[:0]
}

// Observer takes a run as it happens.
//
// Define announces blocks before the first batch that names them. Batch hands
// over a stretch of execution; the batch and its slices belong to the caller
// again when it returns. Finish is called once, after the last batch, however
// the run ended. An error ends the run (it is what a full disk looks like).
type Observer interface {
	Define(blocks []Block) error
	Batch(b *Batch) error
	Finish(outcome Outcome) error
}

// Outcome is how a run ended.
type Outcome struct {
	Status  int    // exit status as a shell would show it (128+signal for a signal)
	Signal  int    // the signal that ended the run, or 0
	Insts   uint64 // instructions retired by all threads
	Threads int    // threads that ever ran
	Message string // one line for people when the run did not end by exit: a fault, a deadlock, a limit; else ""
}

// Tee hands everything to each observer in turn and stops at the first error;
// Finish reaches all of them.
func Tee(observers ...Observer) Observer {
	if len(observers) == 1 {
		return observers[0]
	}
	return tee(observers)
}

type tee []Observer

func (t tee) Define(blocks []Block) error {
	for _, o := range t {
		if err := o.Define(blocks); err != nil {
			return err
		}
	}
	return nil
}

func (t tee) Batch(b *Batch) error {
	for _, o := range t {
		if err := o.Batch(b); err != nil {
			return err
		}
	}
	return nil
}

func (t tee) Finish(outcome Outcome) error {
	var first error
	for _, o := range t {
		if err := o.Finish(outcome); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// IsStep reports whether schedules count events of the kind: a thread that does the same
// in two runs has the same number of them. None is not counted, since it depends on
// who ran during a hooked call, nor is the mapping of memory, which an allocator does
// when it likes.
func (k Kind) IsStep() bool {
	switch k {
	case None, Map, Unmap, Unwound, Rewound:
		return false
	}
	return true
}
