package wet

import "hindsight/tracefmt/event"

// Input is one dependence of a statement as its node's code tells it: on a
// statement of the same execution, or through a slot whose label each execution
// has for itself. Statements share slots: those of a block the control
// dependence, those that use a register the register.
type Input struct {
	Kind DepKind
	Reg  uint8 // of DepRegister
	Stmt int32 // a statement of the node; below 0: none, see Slot
	Slot int32
}

// Reader is a slot of an execution, through which it depends on something.
type Reader struct {
	Thread event.ThreadID
	Node   NodeID
	Slot   int32
	K      uint64
}
