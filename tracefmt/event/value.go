package event

// EffectKind says what an [Effect] does.
type EffectKind uint8

const (
	// The kinds that open a group. What follows, up to the next opening, belongs to the
	// group.
	EffectStart   EffectKind = iota // a thread begins, with registers that are not zero
	EffectCall                      // a hooked function ran without being recorded. PC: the call; Addr: the function; Arg: the integer arguments it takes
	EffectSyscall                   // PC: the ecall, which ended the previous block
	EffectSignal                    // the handler of a signal is entered or left, or the registers changed in another way

	// Addresses are in the program's memory, or in memory that the kernel holds for the
	// program and no program can address, or from SyncBase on, where they stand for
	// synchronisation.
	EffectReg   // Reg received the value Arg
	EffectRead  // Arg bytes from Addr on were read, for example because write(2) wrote them out
	EffectWrote // Arg bytes from Addr on were written

	// EffectFresh is a separate effect: Arg bytes from Addr on, of all threads, no longer
	// contain what was written there. They were unmapped, or read as zero again. It does
	// not end the preceding group.
	EffectFresh

	// EffectMoved is a separate effect: Arg bytes from PC on, of all threads, are
	// now at Addr, with those who wrote them.
	EffectMoved

	// What unrecorded code copies. It holds values in numbered slots, up to Slots of
	// them. A slot keeps the writer of the value that was put into it.
	EffectRuntime // opens a group: as EffectCall, but the function has not returned yet
	EffectTake    // Slot receives the Arg bytes at Addr or, if Arg is 0, the register Addr
	EffectKeep    // Slot's value is stored in the Arg bytes at Addr
	EffectPass    // Reg received the value Arg, which is that of Slot. It belongs to the group or, if Apart, to itself
)

// Slots is the number of slots that a thread has for the values it copies.
const Slots = 64

// SyncBase is the lowest address that is not memory. Reading there acquires what the last
// writer released.
const SyncBase = 1 << 62

// Opens reports whether the kind begins a group.
func (k EffectKind) Opens() bool { return k <= EffectSignal || k == EffectRuntime }

// Effect is a change of registers or memory that is not made by a recorded instruction,
// or the opening of a group of such changes.
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

// ValueObserver is an [Observer] that can ask for Batch.Values and Batch.Effects, which
// take time to collect. It is asked once, before the run.
type ValueObserver interface {
	Observer
	WantsValues() bool
}

// WantsValues reports whether o is a [ValueObserver] that asks for values.
func WantsValues(o Observer) bool {
	v, ok := o.(ValueObserver)
	return ok && v.WantsValues()
}

// WantsValues reports whether one of the observers wants values.
func (t tee) WantsValues() bool {
	for _, o := range t {
		if WantsValues(o) {
			return true
		}
	}
	return false
}
