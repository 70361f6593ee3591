package format

import (
	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
)

// Extra is a block that neither the recorder writes itself nor package cdr reads; see
// recorder.Options.
type Extra struct {
	Kind    tracefmt.Kind
	Thread  uint32
	Payload []byte
}

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
	Seq         uint64 // position in S_synch, from 0
	Index       uint64 // the paper's m: its ordinal among the thread's own events, from 0
}

// BlockID and PathID name rows of the trace's tables, dense from 0.
type (
	BlockID = event.BlockID
	PathID  uint32
)
