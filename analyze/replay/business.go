package replay

import (
	"hindsight/analyze/place"
	"hindsight/mpsim/image"
	"hindsight/mpsim/intent"
)

// Business says which accesses are the program's business; of the zero value
// all are.
type Business struct {
	program  place.Program        // nil: everything is
	muted    func(pc uint64) bool // nil: nothing is
	borrowed func(pc uint64) bool // likewise: a library's inline function
	intent   meaning              // nil: nothing is known
}

// meaning is what the source says of instructions (package intent).
type meaning interface {
	// Plain says that the plain load or store at pc is no atomic access.
	Plain(pc uint64) bool
	// Meant says that the plain load or store at pc is an atomic access.
	Meant(pc uint64) bool
	// Apart says that the fence next to the plain load or store at pc, which
	// makes an atomic access of it, is a separate statement.
	Apart(pc uint64) bool
	// Combines says that the atomic access to addr at pc puts the result of a
	// reduction into a variable.
	Combines(pc, addr uint64) bool
	// Looks says that the plain load at pc is the first part of that.
	Looks(pc uint64) bool
}

// NewBusiness is that of a program; nil: everything is the user's.
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

// Apart says that an atomic access by the instruction at pc is one because of a
// fence next to it that is a separate statement: it says nothing about the
// variable.
func (b *Business) Apart(pc uint64) bool { return b.intent != nil && b.intent.Apart(pc) }

// Muted reports whether an instruction is in a runtime (libgomp) whose
// synchronisation is recorded as events: its plain accesses never count.
func (b *Business) Muted(pc uint64) bool { return b.muted != nil && b.muted(pc) }

// Counts reports whether an access by the instruction at pc, which is not muted,
// to addr is the program's business, with memory as it is after the access's
// unit.
func (b *Business) Counts(memory *place.Map, pc, addr uint64) bool {
	return b.User(pc) || memory.User(b.program, addr)
}

// CountsUntil is the same for code that is not the user's, and says where what
// was looked at ends: the answer is the same from addr up to there.
func (b *Business) CountsUntil(memory *place.Map, addr uint64) (counts bool, end uint64) {
	return memory.UserUntil(b.program, addr)
}
