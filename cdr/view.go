package cdr

import (
	"hindsight/tracefmt/event"
)

// Thread describes a thread of a trace.
type Thread struct {
	ID       event.ThreadID
	Insts    uint64 // instructions; in an incomplete trace without those inside hooked functions
	Blocks   uint64 // block executions
	Accesses uint64 // plain accesses, recorded or not
	Recorded uint64 // plain accesses recorded
	Events   uint64
}
