package mpsim

import (
	"hindsight/mpsim/linux"
	"hindsight/mpsim/mem"
	"hindsight/tracefmt/event"
)

// Jumps through registers look up their target blocks in a direct-mapped table.
const (
	jumpSize = 1024
	jumpMask = jumpSize - 1
)

// span is a range of addresses.
type span struct{ low, span uint64 }

// unwatched is an address that no jump can reach.
const unwatched = 1

// boxed are the upper bits of a single-precision value in a register (NaN boxing).
const boxed = 0xffffffff_00000000

// boxedHalf are those of a half-precision value.
const boxedHalf = 0xffffffff_ffff0000

const signBit = 1 << 63

// Register numbers in the calling convention.
const (
	regRA = 1
	regSP = 2
	regTP = 4
	regA0 = 10
)

// Hart is a hardware thread: a guest thread with its registers. Hooks use its
// methods and may read its registers.
type Hart struct {
	linux.Context

	m    *Machine
	id   event.ThreadID
	task *linux.Task

	left      int64  // instructions that may still run in this quantum
	granted   int64  // its value at the beginning of the quantum
	ticked    int64  // how much of granted-left the clock has counted
	retired   uint64 // instructions in earlier quanta
	events    uint64 // ordered events and plain accesses in batches that were handed over
	accesses  uint64
	caller    *block // that entered the last stub
	last      *block // that ran last
	watch     uint64 // exec stops when a jump goes here
	unwound   span   // or when a return leaves the stack pointer in this range
	recording bool
	flags     uint8 // floating-point exceptions that are not yet in FCSR
	exactRM   uint8 // bit rm is set if the host's arithmetic is exact for it; see exact

	frames      []frame       // calls in progress, outermost first
	lowest      int           // the smallest number of them during the present hidden call
	stackLow    uint64        // lowest address of the mapping that holds the stack it was started with
	stack       span          // the stack it was started with, if known
	objects     []uint64      // granules on the stack with sync objects, in descending order; see stackobjects.go
	object      uint64        // the last of them
	call        hooked        // the last call that was entered or left
	watched     []hooked      // watched calls in progress, innermost last
	hiding      bool          // exec stops at calls through registers
	interrupted []interrupted // hidden calls in which the program's code runs, innermost last
	quiet       bool          // the running block is in a runtime whose events hooks report
	reserved    reservation
	was, is     uint64 // value before and after the last atomic write
	pending     pendingLoad

	outOfLine outOfLine         // see Atomically
	seen      map[uint64]uint64 // version acquired, by location
	relaxed   map[uint64]uint64 // version that relaxed loads read, by location; see fence.go

	priority int64 // of PCT
	spin     spinning
	parking  parking
	sampled  [samples]uint64 // what the hart polled at the ends of its last slices

	// See fiber.go; all nil or 0 where there are no fibers.
	fiber    *fiber // that runs
	fiberKey uint64
	own      *fiber // the thread's own
	shown    *fiber // the fiber whose stack the trace has
	carried  carried

	first  []event.Event // of a thread that has not run yet
	owed   []event.Event // caused by others while it was not running
	fault  *mem.Fault    // of stopFault and stopAlign
	failed stop          // how to leave after a failed operation, if not with stopFault

	generation uint64 // of the translations
	reads      [tlbSize]translation
	writes     [tlbSize]translation
	jumps      [jumpSize]*block
	scrap      [64]uint64 // receives the addresses that are not recorded

	// See values.go.
	values     *[blockValues]uint64 // where exec reports results
	valueScrap [blockValues]uint64  // receives those that are not recorded
	unseen     unseen
	blocked    bool // in a system call whose result is still to be recorded

	// See steer.go.
	held    bool // must not be chosen to run
	passing bool // has stopped at PC and now continues there

	written *written // what the journal knows; nil: there is no journal, or it has not begun
}

// nowhere is a block that has no address.
var nowhere = &block{pc: unwatched}

func (m *Machine) newHart(task *linux.Task, ctx linux.Context) *Hart {
	h := &Hart{Context: ctx, m: m, id: m.threads, task: task, watch: unwatched, object: noObject, seen: map[uint64]uint64{}, relaxed: map[uint64]uint64{}, priority: m.sched.priority()}
	m.threads++
	h.recording = m.rec != nil
	h.values = &h.valueScrap
	if m.fiberHooks != nil {
		h.own = newFiber()
		h.fiber = h.own
		h.seen, h.relaxed = h.own.seen, h.own.relaxed
	}
	h.flush()
	h.forgetJumps()
	h.setExact()
	m.harts = append(m.harts, h)
	m.hartOf[task] = h
	return h
}

func (h *Hart) forgetJumps() {
	for n := range h.jumps {
		h.jumps[n] = nowhere
	}
}

// ID returns the thread's number.
func (h *Hart) ID() event.ThreadID { return h.id }

// Insts returns the number of instructions that the thread has retired.
func (h *Hart) Insts() uint64 { return h.retired + uint64(h.granted-h.left) }

// Stack returns the PC and the return addresses, innermost first.
func (h *Hart) Stack() []uint64 {
	stack := []uint64{h.PC}
	for n := len(h.frames) - 1; n >= 0; n-- {
		stack = append(stack, h.frames[n].ret)
	}
	return stack
}

// Load reads size bytes (1 to 8) of guest memory, little-endian. It reports false if they
// cannot be read.
func (h *Hart) Load(addr uint64, size int) (uint64, bool) {
	if size < 1 || size > 8 {
		return 0, false
	}
	var b [8]byte
	if h.m.space.Read(addr, b[:size]) != nil {
		return 0, false
	}
	var v uint64
	for n := size - 1; n >= 0; n-- {
		v = v<<8 | uint64(b[n])
	}
	return v, true
}

// cutShort leaves exec at operation i of b, which failed.
func (h *Hart) cutShort(b *block, i int) stop {
	done := b.ord[i]
	h.left += int64(b.insts) - int64(done)
	h.PC = b.address(i)
	if h.fiber != nil {
		h.last = nil // it did not leave by its end
	}
	switch {
	case h.fiber != nil && h.fiber.mute.on && !h.m.values: // it is in no batch
	case h.recording && (h.fiber == nil || !h.fiber.mute.on):
		h.m.rec.cut(b, int(done))
	case h.m.values:
		h.unseen.block = nil
		part := b.part(int(done))
		h.m.rec.storedBy(h, b, &part)
	}
	why := h.failed
	h.failed = 0
	if why == stopNext {
		return stopFault
	}
	return why
}

// refuse makes the operation under way an illegal instruction.
func (h *Hart) refuse() bool {
	h.failed = stopIllegal
	return false
}
