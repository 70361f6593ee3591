package cdr

import (
	"hindsight/tracefmt/event"
)

// Thread is what a trace says of a thread.
type Thread struct {
	ID       event.ThreadID
	Insts    uint64 // instructions; of an incomplete trace without those inside hooked functions
	Blocks   uint64 // block executions
	Accesses uint64 // plain accesses, recorded or not
	Recorded uint64 // plain accesses recorded
	Events   uint64
}
