package cdr

import (
	"hindsight/tracefmt/event"
)

// SiteID names a plain load or store instruction, dense in a trace from 0.
type SiteID uint32

// Site is a plain load or store instruction.
type Site struct {
	PC     uint64
	Size   uint8 // bytes
	Access event.Access
}

// Event is an entry of S_synch.
type Event struct {
	event.Event // At is 0
	Thread      event.ThreadID
	Seq         uint64 // its place in S_synch, from 0
	Index       uint64 // m: its ordinal among the thread's own events, from 0
}

// Run is a strided run of accesses by one site: Count accesses at Base,
// Base+Stride, …
type Run struct {
	Site   SiteID
	Base   uint64
	Stride int64
	Count  uint64
	First  uint64 // ordinal of the first among the thread's accesses by this site, from 0
}

// Thread is what a trace says of a thread.
type Thread struct {
	ID       event.ThreadID
	Insts    uint64 // instructions; of an incomplete trace without those inside hooked functions
	Blocks   uint64 // block executions
	Accesses uint64 // plain accesses, recorded or not
	Recorded uint64 // plain accesses recorded
	Events   uint64
}
