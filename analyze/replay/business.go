package replay

import (
	"hindsight/analyze/place"
	"hindsight/mpsim/image"
	"hindsight/mpsim/intent"
)

// Business says which accesses are the program's business. With the zero value, all are.
type Business struct {
	program  place.Program        // nil: everything is
	muted    func(pc uint64) bool // nil: nothing is
	borrowed func(pc uint64) bool // nil: nothing is; a library's inline function
	intent   meaning              // nil: nothing is known
}

// meaning is what the source says about instructions (package intent).
type meaning interface {
	// Plain reports whether the plain load or store at pc is not an atomic access.
	Plain(pc uint64) bool
	// Meant reports whether the plain load or store at pc is an atomic access.
	Meant(pc uint64) bool
	// Apart reports whether the fence next to the plain load or store at pc, which makes
	// it look like an atomic access, is a separate statement.
	Apart(pc uint64) bool
	// Combines reports whether the atomic access to addr at pc stores the result of a
	// reduction in a variable.
	Combines(pc, addr uint64) bool
	// Looks reports whether the plain load at pc is the first part of such an access.
	Looks(pc uint64) bool
}

// NewBusiness returns the Business of a program. With nil, everything is the user's.
func NewBusiness(p place.Program) Business {
	b := Business{program: p}
	if r, ok := p.(interface{ Runtime(pc uint64) bool }); ok {
		b.muted = r.Runtime
	}
	if r, ok := p.(interface{ Borrowed(pc uint64) bool }); ok {
		b.borrowed = r.Borrowed
	}
	if m, ok := p.(meaning); ok {
		b.intent = m
	} else if img, ok := p.(*image.Space); ok {
		b.intent = intent.New(img)
	}
	return b
}

// User reports whether an instruction is the user's code.
func (b *Business) User(pc uint64) bool {
	return b.program == nil || b.program.User(pc) && (b.borrowed == nil || !b.borrowed(pc))
}

// Atomicity reports whether executions of op by the instruction at pc are atomic
// accesses, under strict rules or not.
func (b *Business) Atomicity(op Op, pc uint64, strict bool) Atomicity {
	switch {
	case op == Free || op.Call() && strict:
		return NotAtomic
	case op.Call(): // such accesses race with plain ones, and with each other
		return IsAtomic
	case op.Plain():
		switch {
		case b.intent == nil || strict:
		case b.intent.Looks(pc) || b.intent.Meant(pc):
			return IsAtomic
		case b.intent.Plain(pc):
			return NotAtomic
		}
		return MaybeAtomic
	case b.Apart(pc):
		return MaybeAtomic
	}
	return IsAtomic
}

// Apart reports whether an access by the instruction at pc is atomic only because of a
// fence next to it that is a separate statement. Such an access says nothing about the
// variable.
func (b *Business) Apart(pc uint64) bool { return b.intent != nil && b.intent.Apart(pc) }

// Muted reports whether an instruction is in a runtime (libgomp) whose synchronisation is
// recorded as events. Its plain accesses never count.
func (b *Business) Muted(pc uint64) bool { return b.muted != nil && b.muted(pc) }

// Counts reports whether an access to addr by the instruction at pc, which is not muted,
// is the program's business, with memory as it is after the access's unit.
func (b *Business) Counts(memory *place.Map, pc, addr uint64) bool {
	return b.User(pc) || memory.User(b.program, addr)
}

// CountsUntil is Counts for code that is not the user's. It also returns an end: the
// answer is the same from addr up to there.
func (b *Business) CountsUntil(memory *place.Map, addr uint64) (counts bool, end uint64) {
	return memory.UserUntil(b.program, addr)
}
