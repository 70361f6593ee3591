package event

// EffectKind is what an [Effect] says.
type EffectKind uint8

const (
	// The openings of a group. What follows up to the next opening belongs to it.
	EffectStart   EffectKind = iota // a thread begins, with registers that are not zero
	EffectCall                      // a hooked function ran hidden. PC: the call; Addr: the function; Arg: the integer arguments it takes
	EffectSyscall                   // PC: the ecall, which ended the block before
	EffectSignal                    // a signal's handler is entered or left, or the registers changed otherwise

	// Addresses are of the program's memory; of what the kernel holds for it,
	// which no program can name; or from SyncBase on of what synchronisation goes
	// by.
	EffectReg   // Reg received the value Arg
	EffectRead  // Arg bytes from Addr on were read: what a write(2) puts out, for one
	EffectWrote // Arg bytes from Addr on were written

	// EffectFresh is a separate effect: Arg bytes from Addr on, of all threads, are
	// no longer what was written there: they were unmapped, or read as zero
	// again. It does not end the group before it.
	EffectFresh

	// What unrecorded code copies. It holds values in slots, of which it has Slots;
	// a slot's value was written by whom wrote what it was taken from.
	EffectRuntime // opens a group: as EffectCall, but the function has not returned yet
	EffectTake    // Slot takes the Arg bytes at Addr; with no bytes the register Addr
	EffectKeep    // Slot's value is stored in the Arg bytes at Addr
	EffectPass    // Reg received the value Arg, that of Slot. It belongs to the group, or, when Apart, to itself
)

// Slots is how many slots a thread has for the values that it copies.
const Slots = 64

// SyncBase is the lowest address of what is no memory: who wrote there last
// released what those acquire that read it.
const SyncBase = 1 << 62

// Opens tells the kinds that begin a group.
func (k EffectKind) Opens() bool { return k <= EffectSignal || k == EffectRuntime }

// Effect is a change of registers or memory by other means than a recorded
// instruction, or an opening of a group of such changes.
type Effect struct {
	At    uint32 // blocks of the batch that ran before it
	Kind  EffectKind
	Reg   uint8 // of EffectReg and EffectPass: 0–31 integer, 32–63 floating-point
	Slot  uint8 // see the kind
	Apart bool
	PC    uint64 // see the kind
	Addr  uint64
	Arg   uint64
}

// ValueObserver is an [Observer] that can ask for Batch.Values and
// Batch.Effects, which cost time to collect. It is asked once, before the run.
type ValueObserver interface {
	Observer
	WantsValues() bool
}

// WantsValues reports whether o is a [ValueObserver] that asks for values.
func WantsValues(o Observer) bool {
	v, ok := o.(ValueObserver)
	return ok && v.WantsValues()
}

// WantsValues holds when one of the observers wants values.
func (t tee) WantsValues() bool {
	for _, o := range t {
		if WantsValues(o) {
			return true
		}
	}
	return false
}
