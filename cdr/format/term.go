package format

import (
	"hindsight/tracefmt/event"
)

// Term is a letter of a control string.
type Term struct {
	Kind termKind
	A, B uint64
}

// termKind numbers are part of the format.
type termKind uint8

const (
	TermPath   termKind = iota // path a, b times in a row
	TermSync                   // ordered event at pc a, of kind b>>1; b&1: it returns from a hooked function
	TermPop                    // correction: the stack loses a more frames
	TermPush                   // correction: the frame a is back on the stack
	TermAccess                 // DOR: access to address a; b = size<<1 | write
	numTermKinds
)

// The sizes in memory that count for the budget, in bytes, with their share of maps and
// slices. They are chosen so that the terms of a full budget number fewer than MaxTerms.
const (
	TermBytes   = 160
	StreamBytes = 200
)

func SyncTerm(pc uint64, kind event.Kind, returns bool) Term {
	x := Term{Kind: TermSync, A: pc, B: uint64(kind) << 1}
	if returns {
		x.B |= 1
	}
	return x
}

func AccessTerm(addr uint64, access event.Access, size uint8) Term {
	return Term{Kind: TermAccess, A: addr, B: uint64(size)<<1 | uint64(access)}
}
