package cdr

import (
	"hindsight/tracefmt/event"
)

// A term is a letter of a control string.
type term struct {
	kind termKind
	a, b uint64
}

// termKind numbers are part of the format.
type termKind uint8

const (
	termPath   termKind = iota // path a, b times in a row
	termSync                   // ordered event at pc a, of kind b>>1; b&1: it returns from a hooked function
	termPop                    // correction: a frames more are gone
	termPush                   // correction: the frame a is still there
	termAccess                 // DOR: access to address a; b = size<<1 | write
	numTermKinds
)

// What things in memory count for the budget, with their share of maps and
// slices, in bytes. A budget's worth of terms is less than maxTerms.
const (
	termBytes   = 160
	streamBytes = 200
)

func syncTerm(pc uint64, kind event.Kind, returns bool) term {
	x := term{kind: termSync, a: pc, b: uint64(kind) << 1}
	if returns {
		x.b |= 1
	}
	return x
}

func accessTerm(addr uint64, access event.Access, size uint8) term {
	return term{kind: termAccess, a: addr, b: uint64(size)<<1 | uint64(access)}
}
