package event

import "errors"

// ThreadID numbers the guest's threads in order of creation; 0 is the main thread. Unlike
// a Linux tid, it is dense and never reused.
type ThreadID uint32

// MaxThreads is the number of threads that a run may have, including those that have
// ended. It limits the resources that a damaged trace can claim.
const MaxThreads = 1 << 18

// ErrThreads is wrapped by errors about a run with more than [MaxThreads] threads.
var ErrThreads = errors.New("the program started more than 262,144 threads, which is all that a trace can hold; stop the run before that, or let the program use threads again")

// StrandID numbers strands, which are what happens-before orders: a thread's own strand,
// or a task (package hb says which tasks share a number). It is a separate type because a
// strand is not a thread: a thread acts as several strands, and a strand may continue in
// another thread.
type StrandID uint32

// Strand returns the thread's own strand, as which it acts outside of tasks.
func (t ThreadID) Strand() StrandID { return StrandID(t) }

// BlockID numbers simulated blocks in the order in which they were first executed, dense
// from 0.
type BlockID uint32

// Access says whether a site reads or writes memory.
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

// Site is one plain load or store instruction in a block. Its PC identifies it: the same
// instruction may be in several blocks.
type Site struct {
	PC     uint64
	Size   uint8 // bytes: 1, 2, 4 or 8
	Access Access
}

// End says how control leaves a block at its last instruction.
type End uint8

const (
	EndFall     End = iota // continues with the next instruction (length limit, or an instruction that ends blocks without jumping)
	EndBranch              // conditional branch; Target is the taken side
	EndJump                // direct jump that does not link; Target
	EndIndirect            // jump through a register that does not link and is not a return
	EndCall                // direct call (links ra or t0); Target
	EndCallInd             // call through a register
	EndReturn              // jump through ra or t0 that does not link
	EndAtomic              // AMO, LR, SC or a recognised atomic load or store: an [Event] may follow
	EndSyscall             // ecall
	EndTrap                // ebreak, an illegal instruction, or a block cut short by a fault
)

var endNames = [...]string{"fall", "branch", "jump", "indirect", "call", "call-indirect", "return", "atomic", "syscall", "trap"}

func (e End) String() string {
	if int(e) < len(endNames) {
		return endNames[e]
	}
	return "end?"
}

// Block describes a simulated basic block: straight-line code that was entered at PC and
// left at its last instruction.
type Block struct {
	ID     BlockID
	PC     uint64
	Bytes  uint32 // length of the code in bytes
	Insts  uint32 // instructions
	End    End
	Target uint64 // of EndBranch, EndJump and EndCall; otherwise 0
	Sites  []Site // plain accesses in execution order
	// Code contains the block's instructions, for a [ValueObserver], if they differ from
	// those in the image because the program generated them.
	Code []byte
}

// Next returns the address of the instruction after the block, which is the fall-through
// side of a branch and the return address of a call.
func (b *Block) Next() uint64 { return b.PC + uint64(b.Bytes) }

// Batch is a part of one thread's execution. See the package comment.
type Batch struct {
	Thread ThreadID
	Blocks []BlockID
	Addrs  []uint64
	Events []Event
	// Insts counts all instructions that the thread retired in this part of its
	// execution, including those inside hooked functions, which are in no block.
	Insts uint64

	// Values and Effects are set for a [ValueObserver] that wants them.
	//
	// Values contains what the instructions of the blocks left in their destination
	// registers, block by block. An instruction has no value if it has no destination
	// register (x0 is none) or if the code alone determines the result (rv.Inst.Static).
	// An atomic access that ends a block of EndAtomic has its address first, then its
	// result. A store-conditional always has an address, which is 0 if it did not store.
	// An environment call has no value. rv.Values counts the values of a block.
	Values []uint64
	// Effects are the other changes of registers and memory, in order.
	Effects []Effect
}

// Reset empties the batch and keeps its storage.
func (b *Batch) Reset() {
	b.Blocks, b.Addrs, b.Events, b.Insts = b.Blocks[:0], b.Addrs[:0], b.Events[:0], 0
	b.Values, b.Effects = b.Values[:0], b.Effects[:0]
}

// Observer receives a run as it happens.
//
// Define announces blocks before the first batch that uses them. Batch passes a part of
// the execution; the batch and its slices belong to the caller again when it returns.
// Finish is called once, after the last batch, however the run ended. An error of an
// observer, such as a full disk, ends the run.
type Observer interface {
	Define(blocks []Block) error
	Batch(b *Batch) error
	Finish(outcome Outcome) error
}

// Outcome says how a run ended.
type Outcome struct {
	Status  int    // exit status as a shell would show it (128+signal if a signal ended the run)
	Signal  int    // the signal that ended the run, or 0
	Insts   uint64 // instructions retired by all threads
	Threads int    // threads that ever ran
	Message string // if the run did not end by exit, one line for people about a fault, a deadlock or a limit; otherwise ""
}

// Tee passes everything to each observer in turn and stops at the first error. Finish
// reaches all of them.
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

// IsStep reports whether schedules count events of the kind. A thread that does the same
// in two runs has the same number of such events. None is not counted, because it depends
// on who ran during a hooked call. Nor is the mapping of memory, because allocators map
// memory at times of their own choice.
func (k Kind) IsStep() bool {
	switch k {
	case None, Map, Unmap, Unwound, Rewound:
		return false
	}
	return true
}
